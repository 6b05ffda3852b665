/** Longest part of a message that takes part in a fingerprint, in characters. */
const MAX_CHARS = 2048

/** Opening quotation mark to its closing one, where both differ. */
const PAIRS: Readonly<Record<string, string>> = {'„': '“', '“': '”', '‘': '’', '‚': '‘', '«': '»', '「': '」', '‹': '›'}
const SYMMETRIC = new Set(['"', "'", '`'])

const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?/g, '<time>'],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d [A-Z]{2,5} \d{4}\b/g, '<time>'],
  [/\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b/g, '<time>'],
  [/\/?\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '<address>'],
  [/\[[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,8}\](?::\d{1,5})?/gi, '<address>'],
  [/\$\$Lambda[$/][^\s,;:)\]]*/g, '$$$$Lambda'],
  [/@[0-9a-f]{5,8}\b/g, '@<hash>'],
  [/\b0x[0-9a-f]+\b/gi, '<n>'],
  [/\b(?=[0-9a-f]{0,31}[0-9])[0-9a-f]{8,64}\b/gi, '<n>'],
  [/[-+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?/gi, '<n>'],
]

/**
 * An exception message without what differs from record to record: quoted values, numbers, hexadecimal, UUIDs, times,
 * network addresses, object hashes, JSON positions, and texts of the record's own payload that stand in brackets or at
 * the end. Only the first 2048 characters count.
 * @param payloadTexts strings and numbers of the record's value and key
 */
export function normaliseMessage(message: string, payloadTexts: ReadonlySet<string> = new Set()): string {
  let text = message.length > MAX_CHARS ? message.slice(0, MAX_CHARS) : message
  text = maskJsonPositions(text)
  text = maskPayloadTexts(text, payloadTexts)
  text = maskQuoted(text)
  for (const [pattern, mask] of MASKS) text = text.replace(pattern, mask)
  // A value at the end is cut off with its separator, so that it does not matter how it was recognised.
  return text
    .replace(/\s+/g, ' ')
    .replace(/[:=] ?<[a-z]+>$/, '')
    .replace(/[\s:=]{1,8}$/, '')
    .trim()
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

/** Each quoted part becomes `<q>`. Every search starts where the one before ended, so the work is linear. */
function maskQuoted(text: string): string {
  const unclosed = new Set<string>()
  let result = ''
  let at = 0
  while (at < text.length) {
    const char = text[at] ?? ''
    const closing = SYMMETRIC.has(char) ? symmetricQuote(text, at) : PAIRS[char]
    if (closing === undefined) {
      result += char
      at++
      continue
    }
    const end = unclosed.has(closing) ? -1 : findClosing(text, closing, at + (SYMMETRIC.has(char) ? closing.length : 1))
    if (end === -1) unclosed.add(closing)
    const isRun = closing.length > 1
    if (end === -1 && !isRun) {
      result += char
      at++
    } else {
      result += '<q>'
      at = end === -1 ? at + closing.length : end + closing.length
    }
  }
  return result
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
