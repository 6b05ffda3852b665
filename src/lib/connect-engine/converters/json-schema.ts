import type {SchemaType} from '../data.ts'
import {DataException} from '../errors.ts'
import type {JsonNode} from './json-reader.ts'
import {type DataSchema, dataSchema, type SchemaField} from './schema.ts'

/** Names of the types in the envelope's schema. */
export const TYPE_NAMES: readonly (readonly [name: string, type: SchemaType])[] = [
  ['boolean', 'BOOLEAN'],
  ['int8', 'INT8'],
  ['int16', 'INT16'],
  ['int32', 'INT32'],
  ['int64', 'INT64'],
  ['float', 'FLOAT32'],
  ['double', 'FLOAT64'],
  ['bytes', 'BYTES'],
  ['string', 'STRING'],
  ['array', 'ARRAY'],
  ['map', 'MAP'],
  ['struct', 'STRUCT'],
]

/** True for an object. */
export function isObject(node: JsonNode): node is ReadonlyMap<string, JsonNode> {
  return node instanceof Map
}

/** True for an array. */
export function isArray(node: JsonNode): node is readonly JsonNode[] {
  return Array.isArray(node)
}

/**
 * The schema of an envelope; null = null.
 * @param toDefault default value of a schema, converted
 * @throws DataException with Connect's message
 * @see Connect's JsonConverter.asConnectSchema
 */
export function readSchema(
  node: JsonNode,
  toDefault: (schema: DataSchema, value: JsonNode) => unknown,
): DataSchema | null {
  if (node === null || node === undefined) return null
  const get = (name: string): JsonNode => (isObject(node) ? node.get(name) : undefined)
  const typeName = get('type')
  if (typeof typeName !== 'string') throw new DataException("Schema must contain 'type' field")
  const type = TYPE_NAMES.find(([name]) => name === typeName)?.[1]
  if (type === undefined) throw new DataException(`Unknown schema type: ${typeName}`)
  const inner = (child: JsonNode): DataSchema | null => readSchema(child, toDefault)
  const parts = type === 'STRUCT' ? {fields: readFields(get('fields'), inner)} : readElements(type, get, inner)
  const [name, version, doc] = [get('name'), get('version'), get('doc')]
  const schema = dataSchema(type, {
    ...parts,
    optional: get('optional') === true,
    name: typeof name === 'string' ? name : null,
    version: typeof version === 'bigint' ? Number(BigInt.asIntN(32, version)) : null,
    doc: typeof doc === 'string' ? doc : null,
    parameters: readParameters(get('parameters')),
  })
  const byDefault = get('default')
  return byDefault === undefined ? schema : {...schema, defaultValue: toDefault(schema, byDefault) ?? undefined}
}

function readElements(
  type: SchemaType,
  get: (name: string) => JsonNode,
  inner: (child: JsonNode) => DataSchema | null,
): Partial<DataSchema> {
  if (type === 'ARRAY') {
    const items = get('items')
    if (items === undefined || items === null) throw new DataException('Array schema did not specify the element type')
    return {valueSchema: inner(items)}
  }
  if (type !== 'MAP') return {}
  const [keys, values] = [get('keys'), get('values')]
  if (keys === undefined) throw new DataException('Map schema did not specify the key type')
  if (values === undefined) throw new DataException('Map schema did not specify the value type')
  return {keySchema: inner(keys), valueSchema: inner(values)}
}

function readFields(fields: JsonNode, inner: (child: JsonNode) => DataSchema | null): readonly SchemaField[] {
  if (!isArray(fields)) throw new DataException('Struct schema\'s "fields" argument is not an array.')
  return fields.map(field => {
    const name = isObject(field) ? field.get('field') : undefined
    if (typeof name !== 'string') throw new DataException("Struct schema's field name not specified properly")
    return {name, schema: inner(field)}
  })
}

function readParameters(parameters: JsonNode): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const [name, value] of isObject(parameters) ? parameters : []) {
    if (typeof value !== 'string') throw new DataException('Schema parameters must have string values.')
    texts.set(name, value)
  }
  return texts
}
