import {isUtf8} from 'node:buffer'
import {isLegalTopicName} from '../kafka/record.ts'
import type {Warning} from './model.ts'

/** Takes what a reader noticed; repeats are fine. */
export type Warn = (warning: Warning) => void

/** Range of a decimal or binary number. */
export type IntRange = 'int32' | 'int64'

const LARGE_HEADER_BYTES = 65_536
const RANGES = {
  int32: {min: -(2n ** 31n), max: 2n ** 31n - 1n},
  int64: {min: -(2n ** 63n), max: 2n ** 63n - 1n},
} as const

const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39

/** Longest decimal text worth converting; a longer one has leading zeros or is out of range. */
const MAX_DIGITS = 64

/**
 * Text of a header: UTF-8, lenient, one U+FFFD per maximal invalid part, a byte order mark kept.
 * @returns undefined, with `null_header`, when the value is null
 */
export function readText(value: Buffer | null, warn: Warn): string | undefined {
  if (value === null) {
    warn('null_header')
    return undefined
  }
  return decodeText(value, warn)
}

/** As `readText` for a header whose null value is normal (an exception without a message). */
export function readNullableText(value: Buffer | null, warn: Warn): string | undefined {
  return value === null ? undefined : decodeText(value, warn)
}

/** Bytes to text without losing a byte order mark; never throws. */
export function lenientUtf8(value: Buffer): string {
  // Buffer.toString is faster but has differed from the Encoding Standard in how it counts invalid parts.
  return isUtf8(value) ? value.toString('utf8') : new TextDecoder('utf-8', {ignoreBOM: true}).decode(value)
}

function decodeText(value: Buffer, warn: Warn): string {
  if (value.length > LARGE_HEADER_BYTES) warn('large_header')
  const valid = isUtf8(value)
  if (!valid) warn('invalid_utf8')
  if (hasControlByte(value)) warn('control_chars')
  return valid ? value.toString('utf8') : lenientUtf8(value)
}

/** C0 other than tab and newline; in UTF-8 such a byte is always the character itself. */
function hasControlByte(value: Buffer): boolean {
  for (let index = 0; index < value.length; index++) {
    const byte = value[index] ?? 0
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a) return true
  }
  return false
}

/** Topic name of a header; `illegal_topic` when Kafka could not have such a topic. */
export function readTopic(value: Buffer | null, warn: Warn): string | undefined {
  const topic = readText(value, warn)
  if (topic !== undefined && !isLegalTopicName(topic)) warn('illegal_topic')
  return topic
}

/**
 * Number written as decimal text: `-?[0-9]+`, nothing around it, leading zeros allowed. A value of 4 or 8 bytes with a
 * non-printable one among them is read as a big-endian number, with `number_is_binary`.
 * @returns undefined, with `null_header` or `bad_number`, when there is no such number in the range
 */
export function readDecimal(value: Buffer | null, range: IntRange, warn: Warn): bigint | undefined {
  if (value === null) {
    warn('null_header')
    return undefined
  }
  let number: bigint | undefined
  if (isDecimalText(value)) number = parseDecimal(value)
  else if ((value.length === 4 || value.length === 8) && value.some(byte => byte < 0x20 || byte > 0x7e)) {
    number = bigEndian(value)
    if (inRange(number, range)) warn('number_is_binary')
  }
  return number !== undefined && inRange(number, range) ? number : bad(warn)
}

/**
 * Number written big-endian in exactly 4 (`int32`) or 8 (`int64`) bytes. Bytes that are all decimal digits are text, with
 * `number_is_text`: as binary they would be an impossible partition or offset.
 * @returns undefined, with `null_header` or `bad_number`, when there is no such number
 */
export function readBinary(value: Buffer | null, range: IntRange, warn: Warn): bigint | undefined {
  if (value === null) {
    warn('null_header')
    return undefined
  }
  if (isDecimalText(value)) {
    const number = parseDecimal(value)
    if (number === undefined || !inRange(number, range)) return bad(warn)
    warn('number_is_text')
    return number
  }
  return value.length === (range === 'int32' ? 4 : 8) ? bigEndian(value) : bad(warn)
}

/**
 * Number in the shortest big-endian form of 1 to 8 bytes, as Java's `BigInteger.toByteArray` writes it.
 * @returns undefined, with `null_header` or `bad_number`, when there is no such number
 */
export function readMinimalBigInt(value: Buffer | null, warn: Warn): bigint | undefined {
  if (value === null) {
    warn('null_header')
    return undefined
  }
  return value.length >= 1 && value.length <= 8 ? bigEndian(value) : bad(warn)
}

/** Adds `negative_partition` and `negative_offset`; the numbers stay in the model, unusable. */
export function warnNegative(coordinates: {partition?: number; offset?: string}, warn: Warn): void {
  if (coordinates.partition !== undefined && coordinates.partition < 0) warn('negative_partition')
  if (coordinates.offset?.startsWith('-') === true) warn('negative_offset')
}

/** Header name from its text, for comparing bytes. */
export function headerName(name: string): Buffer {
  return Buffer.from(name, 'utf8')
}

/** True when the name begins with the prefix, byte for byte. */
export function hasPrefix(name: Buffer, prefix: Buffer): boolean {
  return name.length >= prefix.length && name.compare(prefix, 0, prefix.length, 0, prefix.length) === 0
}

/** True for `-?[0-9]+`, the whole value. */
export function isDecimalText(value: Buffer): boolean {
  const start = value[0] === MINUS ? 1 : 0
  if (value.length === start) return false
  for (let index = start; index < value.length; index++) {
    const byte = value[index] ?? 0
    if (byte < ZERO || byte > NINE) return false
  }
  return true
}

/** Undefined when it is beyond every range; conversion of endless digits would not be linear. */
function parseDecimal(value: Buffer): bigint | undefined {
  const negative = value[0] === MINUS
  let start = negative ? 1 : 0
  while (start < value.length - 1 && value[start] === ZERO) start++
  if (value.length - start > MAX_DIGITS) return undefined
  const number = BigInt(value.toString('latin1', start))
  return negative ? -number : number
}

function bigEndian(value: Buffer): bigint {
  let number = 0n
  for (const byte of value) number = (number << 8n) | BigInt(byte)
  return BigInt.asIntN(value.length * 8, number)
}

function inRange(number: bigint, range: IntRange): boolean {
  return number >= RANGES[range].min && number <= RANGES[range].max
}

function bad(warn: Warn): undefined {
  warn('bad_number')
  return undefined
}
