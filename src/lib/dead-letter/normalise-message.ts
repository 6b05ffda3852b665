/** Longest part of a message that takes part in a fingerprint, in characters. */
const MAX_CHARS = 2048

/** Opening quotation mark to its closing one, where both differ. */
const PAIRS: Readonly<Record<string, string>> = {'„': '“', '“': '”', '‘': '’', '‚': '‘', '«': '»', '「': '」', '‹': '›'}
const SYMMETRIC = new Set(['"', "'", '`'])

const DIGIT = 'a digit'

/**
 * In this order: a text that several of them fit is masked by the first. All of them are linear on any text. In front stands
 * what a text must hold for the mask to be tried: most messages hold little of it.
 */
const MASKS: readonly (readonly [string, RegExp, string])[] = [
  ['-', /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [DIGIT, /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?/g, '<time>'],
  [DIGIT, /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d [A-Z]{2,5} \d{4}\b/g, '<time>'],
  [DIGIT, /\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b/g, '<time>'],
  ['://', /\bhttps?:\/\/[^\s,;<>()[\]{}]+/gi, '<url>'],
  ['@', /\b[\w.%+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\b/g, '<email>'],
  [DIGIT, /(?<![\w.-])(?:[\w.-]{1,253}\/)?\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '<address>'],
  [':', /\[[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,8}\](?::\d{1,5})?/gi, '<address>'],
  [DIGIT, /(?<![\w.-])(?:localhost|[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}):\d{2,5}\b(?!:)/g, '<address>'],
  [
    '/',
    /(?<![\w.#/])\/(?:app|data|dev|etc|home|mnt|opt|private|proc|root|run|srv|tmp|usr|Users|var)(?:\/[\w.@%+~-]+)+/g,
    '<path>',
  ],
  ['/', /(?<![\w.#/])\/[\w.@%+~-]+(?:\/[\w.@%+~-]+)*\.[A-Za-z]\w{0,7}\b/g, '<path>'],
  [':\\', /(?<![\w])[A-Za-z]:\\[\w.@%+~\\-]+/g, '<path>'],
  ['$$Lambda', /\$\$Lambda[$/][^\s,;:)\]]*/g, '$$$$Lambda'],
  ['@', /@[0-9a-f]{5,8}\b/g, '@<hash>'],
  [DIGIT, /\b0x[0-9a-f]+\b/gi, '<n>'],
  [DIGIT, /\b(?=[0-9a-f]{0,31}[0-9])[0-9a-f]{8,64}\b/gi, '<n>'],
  [DIGIT, /\bP(?:\d+D)?T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?\b/g, '<duration>'],
  [DIGIT, /\b(?:\d{1,9}(?:ms|h|m|s)){2,5}\b/g, '<duration>'],
  [
    DIGIT,
    /(?<![\w.])[-+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)? ?(?:ns|us|µs|ms|s|m|h|secs?|seconds?|mins?|minutes?|hours?|days?|milliseconds?|nanoseconds?)(?![\w-])/g,
    '<duration>',
  ],
]

/** Behind all others. */
const NUMBERS: readonly (readonly [RegExp, string])[] = [
  [/[-+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?/gi, '<n>'],
  [/<n>(?:(?:, ?| )<n>)+/g, '<n>'],
]

/** A word in which letters and digits alternate (`x2v9k`, a ULID): nobody chose it. */
function isGenerated(word: string): boolean {
  let changes = 0
  let wasDigit = isDigit(word.charCodeAt(0))
  for (let index = 1; index < word.length; index++) {
    const digit = isDigit(word.charCodeAt(index))
    if (digit !== wasDigit) changes++
    wasDigit = digit
  }
  return changes >= 3
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/**
 * An exception message without what differs from record to record: quoted values, numbers, hexadecimal, generated ids, UUIDs,
 * times, durations, network addresses, URLs, file paths, object hashes, JSON positions and documents, and texts of the
 * record's own payload that stand in brackets or at the end. Only the first 2048 characters count.
 * @param payloadTexts strings and numbers of the record's value and key
 */
export function normaliseMessage(message: string, payloadTexts: ReadonlySet<string> = new Set()): string {
  let text = message.length > MAX_CHARS ? message.slice(0, MAX_CHARS) : message
  text = maskJsonPositions(text)
  text = maskPayloadTexts(text, payloadTexts)
  // Older V8 names the character without quotation marks.
  text = text.replace(/\bUnexpected token \S{1,2} in JSON/, 'Unexpected token <q> in JSON')
  text = maskQuoted(text)
  text = maskDocuments(text)
  const hasDigit = /[0-9]/.test(text)
  for (const [need, pattern, mask] of MASKS) {
    if (need === DIGIT ? hasDigit : text.includes(need)) text = text.replace(pattern, mask)
  }
  if (hasDigit) {
    text = text.replace(/[A-Za-z0-9]{5,64}/g, word => (isGenerated(word) ? '<id>' : word))
    for (const [pattern, mask] of NUMBERS) text = text.replace(pattern, mask)
  }
  // A value at the end is cut off with its separator, so that it does not matter how it was recognised.
  return text
    .replace(/\s+/g, ' ')
    .replace(/[:=] ?<[a-z]+>$/, '')
    .replace(/[\s:=]{1,8}$/, '')
    .trim()
}

/** `{...}` that holds members, as documents and value objects are printed; one that is cut off takes the rest with it. */
function maskDocuments(text: string): string {
  let result = ''
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '{') {
      if (depth === 0) {
        result += text.slice(start, at)
        start = at
      }
      depth++
    } else if (char === '}' && depth > 0) {
      depth--
      if (depth > 0) continue
      result += documentMask(text.slice(start, at + 1))
      start = at + 1
    }
  }
  return result + (depth > 0 ? documentMask(text.slice(start)) : text.slice(start))
}

function documentMask(text: string): string {
  return /[:=]/.test(text) ? '{<value>}' : text
}

/** `[Source: ...; line: 1, column: 5]` as Jackson prints it, with or without the document itself. */
function maskJsonPositions(text: string): string {
  let result = ''
  let at = 0
  for (;;) {
    const start = text.indexOf('[Source: ', at)
    if (start === -1) return result + text.slice(at)
    const line = text.indexOf('; line: ', start)
    const end = line === -1 ? -1 : text.indexOf(']', line)
    result += `${text.slice(at, start)}[position]`
    // A position that is cut off takes the rest of the text with it.
    if (end === -1) return result
    at = end + 1
  }
}

function maskPayloadTexts(text: string, payloadTexts: ReadonlySet<string>): string {
  if (payloadTexts.size === 0) return text
  const masked = text.replace(/\(([^()]*)\)/g, (whole, inner: string) =>
    payloadTexts.has(inner) ? '(<value>)' : whole,
  )
  for (let at = masked.indexOf(': '), tries = 0; at !== -1 && tries < 8; at = masked.indexOf(': ', at + 2), tries++) {
    if (payloadTexts.has(masked.slice(at + 2))) return masked.slice(0, at)
  }
  return masked
}

const OPENING = new RegExp(`[${[...SYMMETRIC, ...Object.keys(PAIRS)].join('')}]`)

/** Each quoted part becomes `<q>`. Every search starts where the one before ended, so the work is linear. */
function maskQuoted(text: string): string {
  const unclosed = new Set<string>()
  let result = ''
  /** Everything before it is in the result. */
  let done = 0
  let at = 0
  while ((at = nextOpening(text, at)) !== -1) {
    const char = text[at] ?? ''
    const closing = SYMMETRIC.has(char) ? symmetricQuote(text, at) : PAIRS[char]
    if (closing === undefined) {
      at++
      continue
    }
    const end = unclosed.has(closing) ? -1 : findClosing(text, closing, at + (SYMMETRIC.has(char) ? closing.length : 1))
    if (end === -1) unclosed.add(closing)
    const isRun = closing.length > 1
    if (end === -1 && !isRun) {
      at++
    } else {
      result += `${text.slice(done, at)}<q>`
      at = end === -1 ? at + closing.length : end + closing.length
      done = at
    }
  }
  return done === 0 ? text : result + text.slice(done)
}

function nextOpening(text: string, from: number): number {
  const found = text.slice(from).search(OPENING)
  return found === -1 ? -1 : from + found
}

/** The run of equal marks that opens a quotation here; undefined for an apostrophe inside a word. */
function symmetricQuote(text: string, at: number): string | undefined {
  const char = text[at] ?? ''
  if (char === "'" && at > 0 && isWord(text[at - 1])) return undefined
  let end = at + 1
  while (text[end] === char) end++
  return text.slice(at, end)
}

function findClosing(text: string, closing: string, from: number): number {
  let end = text.indexOf(closing, from)
  // An apostrophe closes only where a word ends.
  if (closing !== "'") return end
  while (end !== -1 && isWord(text[end + 1])) end = text.indexOf(closing, end + 1)
  return end
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}]/u.test(char)
}
