import type {RecordHeader} from '../kafka/record.ts'
import {headerName} from './primitives.ts'

/** A header with text as Java's `getBytes(UTF_8)` writes it: an unpaired surrogate becomes `?`; null stays null. */
export function textHeader(name: string, text: string | null): RecordHeader {
  return {name: headerName(name), value: text === null ? null : javaUtf8(text)}
}

/** A header with a big-endian int32. */
export function int32Header(name: string, number: number): RecordHeader {
  const value = Buffer.alloc(4)
  value.writeInt32BE(number)
  return {name: headerName(name), value}
}

/** A header with a big-endian int64. */
export function int64Header(name: string, number: bigint): RecordHeader {
  const value = Buffer.alloc(8)
  value.writeBigInt64BE(number)
  return {name: headerName(name), value}
}

/** A header with a number in the shortest big-endian form, as Java's `BigInteger.toByteArray` writes it. */
export function minimalBigIntHeader(name: string, number: bigint): RecordHeader {
  let bytes = 1
  while (bytes < 8 && BigInt.asIntN(bytes * 8, number) !== number) bytes++
  const value = Buffer.alloc(8)
  value.writeBigInt64BE(number)
  return {name: headerName(name), value: value.subarray(8 - bytes)}
}

function javaUtf8(text: string): Buffer {
  return Buffer.from(text.isWellFormed() ? text : text.replace(/\p{Surrogate}/gu, '?'), 'utf8')
}
