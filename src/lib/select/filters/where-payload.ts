import type {CelInput} from '@bufbuild/cel'
import type {DecodedPart, DecodedValue} from '../../serde/index.ts'

/** The largest int of CEL. */
const MAX_INT = 2n ** 63n - 1n
const MIN_INT = -(2n ** 63n)

/**
 * A decoded key or value as an expression sees it: numbers are double, 64-bit integers that a double cannot hold are int,
 * objects are maps. What could not be decoded is text or bytes; null only for a Kafka null, so that the four bytes `null`
 * stay text.
 */
export function payloadForCel(part: DecodedPart, bytes: Buffer | null): CelInput {
  if (bytes === null) return null
  if (part.value !== null) return toCel(part.value)
  return part.error === undefined ? bytes.toString('utf8') : bytes
}

function toCel(value: DecodedValue): CelInput {
  if (typeof value === 'bigint') {
    const isExact = value >= -BigInt(Number.MAX_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
    return isExact || value > MAX_INT || value < MIN_INT ? Number(value) : value
  }
  if (value === null || typeof value !== 'object' || Buffer.isBuffer(value)) return value
  if (isList(value)) return value.map(toCel)
  // The evaluator takes plain objects with certain member names for messages of its own.
  return new Map(Object.entries(value).map(([name, member]) => [name, toCel(member)] as const))
}

function isList(value: object): value is readonly DecodedValue[] {
  return Array.isArray(value)
}
