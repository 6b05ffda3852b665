import type {DecodedValue} from './types.ts'
import {DecodeFault} from './fault.ts'
import {MAX_DEPTH} from './budget.ts'
import {createObject} from './objects.ts'

/** Reads one packed value that takes all the bytes. @throws Error */
export type Unpack = (bytes: Buffer) => DecodedValue

/** MessagePack; loads its library. Maps with other keys than text get the text of the key. */
export async function createMsgpack(): Promise<Unpack> {
  // The default export: a bundle has no named ones of a CommonJS package.
  const {default: msgpack} = await import('@msgpack/msgpack')
  return bytes => {
    const options = {
      useBigInt64: true,
      maxStrLength: bytes.length,
      maxBinLength: bytes.length,
      maxArrayLength: bytes.length,
      maxMapLength: bytes.length,
      maxExtLength: bytes.length,
      mapKeyConverter: nameOf,
    }
    return plain(msgpack.decode(bytes, options), 0)
  }
}

/** CBOR (RFC 8949); loads its library. Tags are left off. */
export async function createCbor(): Promise<Unpack> {
  const {decode} = await import('cborg')
  return bytes =>
    plain(decode(bytes, {useMaps: true, allowBigInt: true, allowIndefinite: true, allowUndefined: true}), 0)
}

function nameOf(key: unknown): string {
  if (typeof key === 'string') return key
  return typeof key === 'number' || typeof key === 'bigint' || typeof key === 'boolean' ? String(key) : 'key'
}

function plain(value: unknown, depth: number): DecodedValue {
  if (depth > MAX_DEPTH) throw new DecodeFault('decode', `nested deeper than ${MAX_DEPTH}`)
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value)) return value
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (Array.isArray(value)) return value.map(item => plain(item, depth + 1))
  if (value instanceof Map) {
    const object = createObject()
    for (const [key, member] of value) object[nameOf(key)] = plain(member, depth + 1)
    return object
  }
  if (typeof value === 'object') {
    const object = createObject()
    for (const [name, member] of Object.entries(value)) {
      object[name] = plain(member, depth + 1)
    }
    return object
  }
  return typeof value === 'bigint' ||
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    typeof value === 'string'
    ? value
    : null
}
