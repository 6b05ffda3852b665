import type {RecordCursor} from '../../kafka/records/types.ts'
import type {Peek} from './filter.ts'

const OPENING_BRACE = 0x7b
const BACKSLASH = 0x5c
/** First byte of a value that carries its headers inside (Spring Cloud Stream's embedded form). */
const EMBEDDED = 0xff

/** True when `length` bytes at `start` are exactly these. */
export function equalsAt(bytes: Buffer, start: number, length: number, wanted: Buffer): boolean {
  return length === wanted.length && bytes.compare(wanted, 0, length, start, start + length) === 0
}

/**
 * A peek for filters on text that a dialect takes from header values (or from an envelope in the record's value): `no`
 * when the text is nowhere in them. Never `yes`, because the text may stand in another header. Not for what a dialect
 * concludes from the topic's name.
 * @returns null for text that does not survive decoding as it is (replacement characters), or is empty
 */
export function peekMention(text: string): ((cursor: RecordCursor) => Peek) | null {
  if (text === '' || text.includes('\uFFFD') || !text.isWellFormed()) return null
  const wanted = Buffer.from(text)
  return cursor => (mayMention(cursor, wanted) ? 'maybe' : 'no')
}

function mayMention(cursor: RecordCursor, wanted: Buffer): boolean {
  // Without headers everything known comes from the key, the value or the topic's name.
  if (cursor.headerCount === 0) return true
  if (cursor.bytes.subarray(cursor.headersStart, cursor.headersEnd).includes(wanted)) return true
  if (cursor.valueLength <= 0) return false
  const first = cursor.bytes[cursor.valueStart]
  if (first === EMBEDDED) return true
  if (first !== OPENING_BRACE) return false
  // An envelope is JSON; an escape may hide the text.
  const value = cursor.bytes.subarray(cursor.valueStart, cursor.valueStart + cursor.valueLength)
  return value.includes(wanted) || value.includes(BACKSLASH)
}
