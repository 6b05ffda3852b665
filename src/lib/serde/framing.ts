import type {RecordHeader} from '../kafka/record.ts'
import {DecodeFault} from './fault.ts'
import type {FramedBytes} from './compiled.ts'
import type {Part} from './types.ts'

/** How a schema is named by a payload, a header or a person. */
export type SchemaRef =
  | {readonly kind: 'id'; readonly id: number}
  | {readonly kind: 'guid'; readonly guid: string}
  /** Version `latest` or digits. */
  | {readonly kind: 'subject'; readonly subject: string; readonly version: string}

/** A payload that names its schema. */
export interface Frame {
  readonly ref: SchemaRef
  readonly payload: FramedBytes
}

/** Headers in which Confluent's serializers put the schema id instead of a prefix. */
const ID_HEADERS: Readonly<Record<Part, Buffer>> = {
  key: Buffer.from('__key_schema_id'),
  value: Buffer.from('__value_schema_id'),
}

/** Stable text of a reference, for caches and messages. */
export function formatRef(ref: SchemaRef): string {
  if (ref.kind === 'id') return `schema ${ref.id}`
  return ref.kind === 'guid' ? `schema ${ref.guid}` : `subject ${ref.subject} version ${ref.version}`
}

/**
 * The schema id in a header, which leaves the payload without a prefix.
 * @returns null without such a header
 * @throws DecodeFault when its value is no schema id
 */
export function readHeaderFrame(part: Part, bytes: Buffer, headers: readonly RecordHeader[]): Frame | null {
  const name = ID_HEADERS[part]
  const value = headers.findLast(header => header.name.equals(name))?.value
  if (value === undefined || value === null) return null
  const id = readSchemaId(value)
  if (id === null) {
    throw new DecodeFault(
      'framing',
      `header ${name.toString()} holds no schema id: ${value.length} bytes, ${hexOf(value)}`,
    )
  }
  return {ref: id.ref, payload: {bytes, start: 0, indexes: value.subarray(id.end)}}
}

/** The schema id before a payload; null when there is none. Bytes that begin like one need not be one. */
export function readPrefixFrame(bytes: Buffer): Frame | null {
  const id = readSchemaId(bytes)
  return id === null ? null : {ref: id.ref, payload: {bytes, start: id.end, indexes: null}}
}

/** Magic byte 0 and an int32, or magic byte 1 and 16 bytes. */
function readSchemaId(bytes: Buffer): {readonly ref: SchemaRef; readonly end: number} | null {
  if (bytes[0] === 0 && bytes.length >= 5) {
    const id = bytes.readInt32BE(1)
    return id > 0 ? {ref: {kind: 'id', id}, end: 5} : null
  }
  if (bytes[0] === 1 && bytes.length >= 17)
    return {ref: {kind: 'guid', guid: formatUuid(bytes.subarray(1, 17))}, end: 17}
  return null
}

/** The schema version in a frame of the AWS Glue registry: byte 3, byte 0 (plain) or 5 (zlib), a random UUID. */
export function readGlueVersion(bytes: Buffer): string | null {
  if (bytes[0] !== 3 || (bytes[1] !== 0 && bytes[1] !== 5) || bytes.length < 18) return null
  const isRandomUuid = ((bytes[8] ?? 0) & 0xf0) === 0x40 && ((bytes[10] ?? 0) & 0xc0) === 0x80
  return isRandomUuid ? formatUuid(bytes.subarray(2, 18)) : null
}

/** 16 bytes as `8-4-4-4-12` hex digits. */
export function formatUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

const hexOf = (bytes: Buffer): string => `0x${bytes.subarray(0, 8).toString('hex')}${bytes.length > 8 ? '…' : ''}`
