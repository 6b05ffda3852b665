import type {SchemaType} from '../data.ts'
import {DataException} from '../errors.ts'
import {javaDecimal} from './java-decimal.ts'
import {TYPE_NAMES} from './json-schema.ts'
import {type DataSchema, Struct} from './schema.ts'

const DAY_MS = 86_400_000

/**
 * Connect's data as JSON text; null = no value where any is allowed.
 * @throws DataException for data that do not fit their schema
 * @see Connect's JsonConverter.convertToJson
 */
export function toJson(schema: DataSchema | null, value: unknown, replaceNullWithDefault: boolean): string | null {
  const inner = (child: DataSchema | null, data: unknown): string =>
    toJson(child, data, replaceNullWithDefault) ?? 'null'
  if (value === null || value === undefined) {
    if (schema === null) return null
    if (schema.defaultValue !== undefined && replaceNullWithDefault) return inner(schema, schema.defaultValue)
    if (schema.optional) return 'null'
    throw new DataException('Conversion error: null value for field that is required and has no default value')
  }
  if (value instanceof Date) return String(logicalNumber(schema, value))
  if (typeof value === 'string') return fits(schema, ['STRING'], value, jsonText(value))
  if (typeof value === 'boolean') return fits(schema, ['BOOLEAN'], value, String(value))
  if (typeof value === 'bigint') return fits(schema, ['INT8', 'INT16', 'INT32', 'INT64'], value, String(value))
  if (typeof value === 'number') {
    return fits(schema, ['INT8', 'INT16', 'INT32', 'FLOAT32', 'FLOAT64'], value, numberText(schema, value))
  }
  if (value instanceof Uint8Array) {
    return fits(schema, ['BYTES'], value, JSON.stringify(Buffer.from(value).toString('base64')))
  }
  if (value instanceof Struct) {
    const fields = value.schema.fields.map(field => {
      return `${jsonText(field.name)}:${inner(field.schema, value.getWithoutDefault(field.name))}`
    })
    return fits(schema, ['STRUCT'], value, `{${fields.join(',')}}`)
  }
  if (Array.isArray(value)) {
    const elements = value.map(element => inner(schema?.valueSchema ?? null, element))
    return fits(schema, ['ARRAY'], value, `[${elements.join(',')}]`)
  }
  return fits(schema, ['MAP'], value, mapText(schema, entriesOf(value), inner))
}

/** Integers of the small types have no point; others look as Java's doubles and floats do. */
function numberText(schema: DataSchema | null, value: number): string {
  if (schema !== null && schema.type.startsWith('INT')) return String(value)
  const text = javaDecimal(value, schema?.type === 'FLOAT32')
  return Number.isFinite(value) ? text : JSON.stringify(text)
}

function mapText(
  schema: DataSchema | null,
  entries: readonly (readonly [unknown, unknown])[],
  inner: (child: DataSchema | null, data: unknown) => string,
): string {
  const isObject =
    schema === null ? entries.every(([key]) => typeof key === 'string') : schema.keySchema?.type === 'STRING'
  const [keys, values] = [schema?.keySchema ?? null, schema?.valueSchema ?? null]
  const texts = entries.map(([key, value]) => [inner(keys, key), inner(values, value)] as const)
  return isObject
    ? `{${texts.map(([key, value]) => `${key}:${value}`).join(',')}}`
    : `[${texts.map(([key, value]) => `[${key},${value}]`).join(',')}]`
}

function entriesOf(value: unknown): readonly (readonly [unknown, unknown])[] {
  if (value instanceof Map) return [...value]
  if (typeof value === 'object' && value !== null) return Object.entries(value)
  throw new DataException(`Java class ${typeof value} does not have corresponding schema type.`)
}

function fits(schema: DataSchema | null, types: readonly SchemaType[], value: unknown, text: string): string {
  if (schema === null || types.includes(schema.type)) return text
  throw new DataException(`Invalid type for ${schema.type}: ${typeof value}`)
}

function logicalNumber(schema: DataSchema | null, value: Date): number {
  return schema?.name === 'org.apache.kafka.connect.data.Date' ? Math.floor(value.getTime() / DAY_MS) : value.getTime()
}

/** A schema as the envelope shows it, fields in Connect's order. */
export function schemaText(schema: DataSchema, field: string | null = null): string {
  const name = TYPE_NAMES.find(([, type]) => type === schema.type)?.[0] ?? ''
  const inner = (child: DataSchema | null): string => (child === null ? 'null' : schemaText(child))
  const parts: [string, string][] = [['type', JSON.stringify(name)]]
  if (schema.type === 'ARRAY') parts.push(['items', inner(schema.valueSchema)])
  if (schema.type === 'MAP') parts.push(['keys', inner(schema.keySchema)], ['values', inner(schema.valueSchema)])
  if (schema.type === 'STRUCT') {
    const fields = schema.fields.map(each => (each.schema === null ? 'null' : schemaText(each.schema, each.name)))
    parts.push(['fields', `[${fields.join(',')}]`])
  }
  parts.push(['optional', String(schema.optional)])
  if (schema.name !== null) parts.push(['name', JSON.stringify(schema.name)])
  if (schema.version !== null) parts.push(['version', String(schema.version)])
  if (schema.doc !== null) parts.push(['doc', JSON.stringify(schema.doc)])
  if (schema.parameters.size > 0) {
    parts.push(['parameters', JSON.stringify(Object.fromEntries(schema.parameters))])
  }
  if (schema.defaultValue !== undefined) parts.push(['default', toJson(schema, schema.defaultValue, false) ?? 'null'])
  if (field !== null) parts.push(['field', JSON.stringify(field)])
  return `{${parts.map(([key, text]) => `"${key}":${text}`).join(',')}}`
}

/** As Jackson writes it: characters beyond the first plane are two escapes. */
function jsonText(text: string): string {
  return JSON.stringify(text).replaceAll(/[\ud800-\udfff]/g, unit => {
    return `\\u${unit.charCodeAt(0).toString(16).toUpperCase()}`
  })
}
