import {isUtf8} from 'node:buffer'
import {DecodeFault} from './fault.ts'
import {formatUuid} from './framing.ts'
import type {DecodedValue} from './types.ts'
import {firstInvalidUtf8} from './utf8.ts'

/** @throws DecodeFault with the first byte that is not UTF-8 */
export function decodeText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  const at = firstInvalidUtf8(bytes)
  const byte = (bytes[at] ?? 0).toString(16).padStart(2, '0')
  throw new DecodeFault('decode', `byte 0x${byte} is not valid UTF-8`, {at})
}

/** Formats of a fixed size, as Kafka's own Java serializers write them: big-endian. */
export const FIXED_FORMATS = {
  int32: {size: 4, read: bytes => bytes.readInt32BE()},
  int64: {size: 8, read: bytes => bytes.readBigInt64BE()},
  float32: {size: 4, read: bytes => bytes.readFloatBE()},
  float64: {size: 8, read: bytes => bytes.readDoubleBE()},
  uuid: {size: 16, read: bytes => formatUuid(bytes)},
} as const satisfies Record<string, {size: number; read: (bytes: Buffer) => DecodedValue}>

/** Formats of a fixed size. */
export type FixedFormat = keyof typeof FIXED_FORMATS

/** @throws DecodeFault when there are more or fewer bytes; a UUID may also be its text of 36 characters */
export function decodeFixed(format: FixedFormat, bytes: Buffer): DecodedValue {
  const {size, read} = FIXED_FORMATS[format]
  if (bytes.length === size) return read(bytes)
  const text = bytes.toString('latin1')
  if (format === 'uuid' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase()
  throw new DecodeFault(
    'decode',
    `${format} takes ${size} bytes, here ${bytes.length === 1 ? 'is 1' : `are ${bytes.length}`}`,
    {
      at: Math.min(size, bytes.length),
    },
  )
}
