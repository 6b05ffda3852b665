/** An object or array that is open at a place of the text. */
interface Frame {
  readonly isObject: boolean
  /** The object around it, past all arrays. */
  readonly outer: Frame | null
  /** Name of the member that is being read; null in arrays, and before the first name. */
  name: string | null
  /** Where the last string stands: with a colon behind it, it is a name. */
  string: readonly [start: number, end: number] | null
}

/** Bytes in front of the text, by the first one: the magic byte of a schema registry, and a schema id or GUID. */
const FRAMES: Readonly<Record<number, number>> = {0: 5, 1: 17}
/** JSON inside of strings of JSON, and so on: so many times. */
const MAX_NESTED = 8
/** Names in front of a value that are looked at; longer paths match by their end. */
const MAX_PATH = 16

/**
 * Puts a text in place of members of a JSON text, and leaves every other byte as it is: numbers keep their digits, text
 * that is cut off or broken keeps its fault, a schema id or byte order mark in front stays. JSON inside of a string is
 * looked into. The same buffer when nothing was hidden, or it is no object or array.
 * Linear in the length; never throws.
 * @param hides whether the member at the end of a path of names is hidden; arrays do not count
 */
export function maskJson(
  bytes: Buffer,
  hides: (path: readonly string[]) => boolean,
  marker: string,
  nested = 0,
): Buffer {
  let start = FRAMES[bytes[0] ?? -1] ?? 0
  if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3
  while (isBlank(bytes[start])) start++
  if (bytes[start] !== 0x7b && bytes[start] !== 0x5b) return bytes
  // One character a byte, so that bytes that are no UTF-8 survive.
  const text = bytes.toString('latin1')
  const stack: Frame[] = []
  const pieces: string[] = []
  let copied = 0
  let at = start
  while (at < text.length) {
    const frame = stack.at(-1)
    const character = text[at]
    if (character === '"') {
      const end = endOfString(text, at)
      if (frame !== undefined) frame.string = [at, end]
      const inner = innerJson(text, at, end)
      if (inner !== null && frame !== undefined && nested < MAX_NESTED) {
        const around = pathOf(frame)
        const shown = maskJson(inner, path => hides([...around, ...path]), marker, nested + 1)
        if (shown !== inner) {
          pieces.push(text.slice(copied, at), Buffer.from(JSON.stringify(shown.toString('utf8'))).toString('latin1'))
          copied = end
        }
      }
      at = end
    } else if (character === '{' || character === '[') {
      const outer = frame === undefined || frame.isObject ? (frame ?? null) : frame.outer
      stack.push({isObject: character === '{', outer, name: null, string: null})
      at++
    } else if (character === '}' || character === ']') {
      stack.pop()
      at++
    } else if (character === ':' && frame?.isObject === true && frame.string !== null) {
      frame.name = nameOf(text.slice(...frame.string))
      if (!hides(pathOf(frame))) {
        at++
        continue
      }
      let value = at + 1
      while (value < text.length && isBlank(text.charCodeAt(value))) value++
      at = endOfValue(text, value)
      pieces.push(text.slice(copied, value), `"${marker}"`)
      copied = at
    } else at++
  }
  if (pieces.length === 0) return bytes
  pieces.push(text.slice(copied))
  return Buffer.from(pieces.join(''), 'latin1')
}

function pathOf(frame: Frame): string[] {
  const path: string[] = []
  let at: Frame | null = frame
  for (let steps = 0; at !== null && steps < MAX_PATH; steps++) {
    if (at.name !== null) path.unshift(at.name)
    at = at.outer
  }
  return path
}

/** Position behind the closing quote; the end of a text that is cut off. */
function endOfString(text: string, quote: number): number {
  for (let at = quote + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at + 1
  }
  return text.length
}

/** The text of a string that looks like an object or array itself; null for every other one. */
function innerJson(text: string, quote: number, end: number): Buffer | null {
  let first = quote + 1
  while (first < end && isBlank(text.charCodeAt(first))) first++
  if (text[first] !== '{' && text[first] !== '[') return null
  const token = Buffer.from(text.slice(quote, end), 'latin1').toString('utf8')
  for (const whole of [token, `${token}"`, `${token.slice(0, -1)}"`]) {
    try {
      return Buffer.from(String(JSON.parse(whole)))
    } catch {
      // Cut off, or broken.
    }
  }
  return null
}

function endOfValue(text: string, start: number): number {
  let depth = 0
  let at = start
  while (at < text.length) {
    const character = text[at]
    if (character === '"') {
      at = endOfString(text, at)
      if (depth === 0) return at
    } else if (character === '{' || character === '[') {
      depth++
      at++
    } else if (character === '}' || character === ']') {
      // Without an opening one, it closes what the member stands in.
      if (depth === 0) return at
      depth--
      at++
      if (depth === 0) return at
    } else if (depth === 0 && (character === ',' || isBlank(text.charCodeAt(at)))) return at
    else at++
  }
  return at
}

/** The name in a JSON string of one character a byte; as it stands when its escapes are broken. */
function nameOf(token: string): string {
  const text = Buffer.from(token, 'latin1').toString('utf8')
  try {
    return String(JSON.parse(text))
  } catch {
    return text.replaceAll('"', '')
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d
}
