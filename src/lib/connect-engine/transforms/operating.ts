import type {ConnectRecordFields, ConnectSchema, RecordChanges} from '../data.ts'
import {classNameOf, DataException} from '../errors.ts'
import {Struct} from '../converters/schema.ts'

/** Which half of a record a transform works on: `Outer$Key` or `Outer$Value` in Connect. */
export type Half = 'Key' | 'Value'

/** Schema and data of one half. */
export function halfOf(
  record: ConnectRecordFields,
  half: Half,
): {readonly schema: ConnectSchema | null; readonly value: unknown} {
  return half === 'Key'
    ? {schema: record.keySchema, value: record.key}
    : {schema: record.valueSchema, value: record.value}
}

/** Changes that replace one half. */
export function replaceHalf(half: Half, schema: ConnectSchema | null, value: unknown): RecordChanges {
  return half === 'Key' ? {keySchema: schema, key: value} : {valueSchema: schema, value}
}

/** @throws DataException unless it is a map. @see Connect's Requirements.requireMap */
export function requireMap(value: unknown, purpose: string): ReadonlyMap<unknown, unknown> {
  if (value instanceof Map) return value
  const found = javaClassOf(value)
  throw new DataException(`Only Map objects supported in absence of schema for [${purpose}], found: ${found}`)
}

/** @throws DataException unless it is a struct. @see Connect's Requirements.requireStruct */
export function requireStruct(value: unknown, purpose: string): Struct {
  if (value instanceof Struct) return value
  throw new DataException(`Only Struct objects supported for [${purpose}], found: ${javaClassOf(value)}`)
}

/** Name of the Java class that Connect would hold such a value in. */
export function javaClassOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return 'java.lang.String'
  if (typeof value === 'bigint') return 'java.lang.Long'
  if (typeof value === 'number') return 'java.lang.Double'
  if (typeof value === 'boolean') return 'java.lang.Boolean'
  if (Array.isArray(value)) return 'java.util.ArrayList'
  if (value instanceof Map) return 'java.util.HashMap'
  if (value instanceof Struct) return 'org.apache.kafka.connect.data.Struct'
  if (value instanceof Date) return 'java.util.Date'
  return value instanceof Uint8Array ? '[B' : classNameOf(value)
}
