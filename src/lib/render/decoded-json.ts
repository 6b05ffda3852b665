import type {RecordHeader} from '../kafka/record.ts'
import {
  type DecodedPart,
  type DecodedRecord,
  type DecodedValue,
  type DecodeProblem,
  type Part,
  type PayloadFormat,
  type SchemaFacts,
  springTypes,
} from '../serde/index.ts'
import {bytesToJson} from './bytes.ts'

/** Why a payload could not be decoded, and which one. */
export interface DecodeErrorJson extends DecodeProblem {
  readonly part: Part
}

/** Java types that Spring's headers name; members only where there is such a header. */
export interface SpringTypesJson {
  readonly key?: string
  readonly value?: string
  readonly content?: string
  readonly headers?: readonly (readonly [name: string, type: string])[]
}

/** A pair of payloads, decoded. 64-bit integers are decimal strings, bytes as everywhere. */
export interface DecodedPairJson {
  /** Null also when it could not be decoded: then there is an error. */
  readonly key: unknown
  readonly value: unknown
  readonly format: Readonly<Record<Part, PayloadFormat>>
  /** Of the value; absent when it names none. */
  readonly schema?: SchemaFacts
  readonly keySchema?: SchemaFacts
  /** Of the value, else of the key; absent when both could be decoded. */
  readonly error?: DecodeErrorJson
  /** Of the key, when the value has an error too. */
  readonly keyError?: DecodeErrorJson
}

/** Key and value decoded, beside the raw ones. */
export interface DecodedJson extends DecodedPairJson {
  readonly types?: SpringTypesJson
  /** The payloads that failed first, where the record holds them elsewhere (`failure.rawKey`, `failure.rawValue`). */
  readonly original?: DecodedPairJson
}

/** @param headers of the record, for the types that Spring names in them */
export function decodedToJson({key, value}: DecodedRecord, headers: readonly RecordHeader[]): DecodedJson {
  const types = typesOf(headers)
  return {...pairToJson({key, value}), ...(types === null ? {} : {types})}
}

/** As `decodedToJson`, for payloads that have no headers of their own. */
export function pairToJson({key, value}: DecodedRecord): DecodedPairJson {
  const [first, second] = [errorOf('value', value), errorOf('key', key)].filter(error => error !== null)
  return {
    key: valueToJson(key.value),
    value: valueToJson(value.value),
    format: {key: key.format, value: value.format},
    ...(value.schema === undefined ? {} : {schema: value.schema}),
    ...(key.schema === undefined ? {} : {keySchema: key.schema}),
    ...(first === undefined ? {} : {error: first}),
    ...(second === undefined ? {} : {keyError: second}),
  }
}

/** A decoded value as JSON can hold it. */
function valueToJson(value: DecodedValue): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (value === null || typeof value !== 'object') return value
  if (Buffer.isBuffer(value)) return bytesToJson(value)
  if (isList(value)) return value.map(valueToJson)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, valueToJson(member)] as const))
}

function isList(value: object): value is readonly DecodedValue[] {
  return Array.isArray(value)
}

function errorOf(part: Part, {error}: DecodedPart): DecodeErrorJson | null {
  return error === undefined ? null : {part, ...error}
}

function typesOf(headers: readonly RecordHeader[]): SpringTypesJson | null {
  const {key, value, content, headers: ofHeaders} = springTypes(headers)
  if (key === null && value === null && content === null && ofHeaders.length === 0) return null
  return {
    ...(key === null ? {} : {key}),
    ...(value === null ? {} : {value}),
    ...(content === null ? {} : {content}),
    ...(ofHeaders.length === 0 ? {} : {headers: ofHeaders}),
  }
}
