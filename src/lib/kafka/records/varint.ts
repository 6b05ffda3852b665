/** Kafka's zigzag variable-length integers (the encoding of Protocol Buffers), numbers where they fit. */
import {RecordFormatError} from './errors.ts'

/** A position in bytes that never moves past `end`; reads throw RecordFormatError instead. */
export class VarintReader {
  bytes: Uint8Array
  position: number
  /** Exclusive. */
  end: number

  constructor(bytes: Uint8Array, position = 0, end = bytes.length) {
    this.bytes = bytes
    this.position = position
    this.end = end
  }

  /**
   * The next int32.
   * @throws RecordFormatError if it is cut off or longer than 32 bits
   */
  readVarint(): number {
    const {bytes, end} = this
    let position = this.position
    if (position < end) {
      const only = bytes[position]!
      if (only < 0x80) {
        this.position = position + 1
        return (only >>> 1) ^ -(only & 1)
      }
    }
    let raw = 0
    for (let shift = 0; ; shift += 7) {
      if (position >= end) throw cutOff()
      const byte = bytes[position++]!
      if (shift === 28 && byte > 0x0f) throw tooLong(32)
      raw |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    this.position = position
    return (raw >>> 1) ^ -(raw & 1)
  }

  /**
   * The next int64: a number up to 48 bits, a bigint above.
   * @throws RecordFormatError if it is cut off or longer than 64 bits
   */
  readVarlong(): number | bigint {
    const {bytes, end} = this
    let position = this.position
    let raw = 0
    let scale = 1
    for (let count = 0; count < 7; count++) {
      if (position >= end) throw cutOff()
      const byte = bytes[position++]!
      raw += (byte & 0x7f) * scale
      if (byte < 0x80) {
        this.position = position
        return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2
      }
      scale *= 128
    }
    let wide = BigInt(raw)
    for (let shift = 49n; ; shift += 7n) {
      if (position >= end) throw cutOff()
      const byte = bytes[position++]!
      if (shift === 63n && byte > 1) throw tooLong(64)
      wide |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    this.position = position
    return (wide & 1n) === 0n ? wide >> 1n : -(wide >> 1n) - 1n
  }
}

/** Bytes that `writeVarint` takes for an int32: 1 to 5. */
export function varintSize(value: number): number {
  const raw = ((value << 1) ^ (value >> 31)) >>> 0
  if (raw < 0x80) return 1
  if (raw < 0x4000) return 2
  if (raw < 0x20_0000) return 3
  return raw < 0x1000_0000 ? 4 : 5
}

/** Write an int32. @returns the position behind it */
export function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  let raw = ((value << 1) ^ (value >> 31)) >>> 0
  while (raw >= 0x80) {
    bytes[position++] = (raw & 0x7f) | 0x80
    raw >>>= 7
  }
  bytes[position++] = raw
  return position
}

/** Bytes that `writeVarlong` takes for an int64: 1 to 10. */
export function varlongSize(value: number | bigint): number {
  if (typeof value === 'number') {
    let raw = value < 0 ? -value * 2 - 1 : value * 2
    let size = 1
    while (raw >= 0x80) {
      raw = Math.floor(raw / 128)
      size++
    }
    return size
  }
  let raw = zigzag64(value)
  let size = 1
  while (raw >= 0x80n) {
    raw >>= 7n
    size++
  }
  return size
}

/** Write an int64; a number has to be within 2^52. @returns the position behind it */
export function writeVarlong(bytes: Uint8Array, position: number, value: number | bigint): number {
  if (typeof value === 'number') {
    let raw = value < 0 ? -value * 2 - 1 : value * 2
    while (raw >= 0x80) {
      bytes[position++] = (raw % 128) | 0x80
      raw = Math.floor(raw / 128)
    }
    bytes[position++] = raw
    return position
  }
  let raw = zigzag64(value)
  while (raw >= 0x80n) {
    bytes[position++] = Number(raw & 0x7fn) | 0x80
    raw >>= 7n
  }
  bytes[position++] = Number(raw)
  return position
}

function zigzag64(value: bigint): bigint {
  return BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
}

function cutOff(): RecordFormatError {
  return new RecordFormatError('a record ends inside a number')
}

function tooLong(bits: number): RecordFormatError {
  return new RecordFormatError(`a number in a record is longer than ${bits} bits`)
}
