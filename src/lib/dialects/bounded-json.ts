/** A number as it stands in the text: int64 values would not survive as a JavaScript number. */
export class JsonNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Members of a JSON object; inherited names are not among them. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Larger than any broker accepts by default, and than the largest batch that a function is given. */
const MAX_BYTES = 16 * 1024 * 1024
const MAX_DEPTH = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = new Set([0x5b, 0x7b])
const CLOSE = new Set([0x5d, 0x7d])

/**
 * The object in a value that begins with `{`, numbers as `JsonNumber`; null for anything else, for broken JSON, and
 * beyond 16 MiB or 64 levels. Never throws, linear in the length.
 */
export function parseJsonObject(value: Buffer): JsonObject | null {
  if (value[0] !== 0x7b || value.length > MAX_BYTES || !isShallow(value)) return null
  try {
    const parsed: unknown = JSON.parse(value.toString('utf8'), keepNumbers)
    return isJsonObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

/** An object, not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
}

/** An own member; undefined when the object does not have it, or is none. */
export function memberOf(object: unknown, name: string): unknown {
  return isJsonObject(object) && Object.hasOwn(object, name) ? object[name] : undefined
}

/** An own member that is an object. */
export function objectMember(object: unknown, name: string): JsonObject | undefined {
  const member = memberOf(object, name)
  return isJsonObject(member) ? member : undefined
}

/** An own member that is a text. */
export function textMember(object: unknown, name: string): string | undefined {
  const member = memberOf(object, name)
  return typeof member === 'string' ? member : undefined
}

/** Text of an own member that is a number, or a text; the caller checks that it is the number it wants. */
export function numberText(object: unknown, name: string): string | undefined {
  const member = memberOf(object, name)
  return member instanceof JsonNumber ? member.text : typeof member === 'string' ? member : undefined
}

function keepNumbers(_name: string, value: unknown, context?: {readonly source?: string}): unknown {
  return typeof value === 'number' ? new JsonNumber(context?.source ?? String(value)) : value
}

/** Counts brackets outside texts, so that no parser ever sees a value that is too deep. */
function isShallow(value: Buffer): boolean {
  let depth = 0
  for (let index = 0; index < value.length; index++) {
    const byte = value[index] ?? 0
    if (byte === QUOTE) {
      for (index++; index < value.length && value[index] !== QUOTE; index++) if (value[index] === BACKSLASH) index++
    } else if (OPEN.has(byte)) {
      depth++
      if (depth > MAX_DEPTH) return false
    } else if (CLOSE.has(byte)) depth--
  }
  return true
}
