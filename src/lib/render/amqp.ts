import {isUtf8} from 'node:buffer'

const STR8 = 0xa1
const STR32 = 0xb1

/**
 * Text of an AMQP 1.0 string (constructor `A1` or `B1`, length, UTF-8), as Event Hubs encodes header values of records
 * that came in by AMQP; null unless it fits exactly. For display only: the bytes are what a replay sends.
 */
export function amqpText(bytes: Buffer): string | null {
  const start = bytes[0] === STR8 ? 2 : bytes[0] === STR32 ? 5 : 0
  if (start === 0 || bytes.length < start) return null
  const length = start === 2 ? bytes.readUInt8(1) : bytes.readUInt32BE(1)
  const text = bytes.subarray(start)
  return text.length === length && isUtf8(text) ? text.toString('utf8') : null
}
