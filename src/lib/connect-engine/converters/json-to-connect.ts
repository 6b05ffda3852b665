import type {SchemaType} from '../data.ts'
import {DataException} from '../errors.ts'
import type {JsonNode} from './json-reader.ts'
import {isArray, isObject} from './json-schema.ts'
import {type DataSchema, Struct} from './schema.ts'

const DAY_MS = 86_400_000

/** Jackson's names of node types. */
function nodeType(node: JsonNode): string {
  if (node === undefined) return 'MISSING'
  if (node === null) return 'NULL'
  if (isObject(node)) return 'OBJECT'
  if (isArray(node)) return 'ARRAY'
  if (typeof node === 'bigint' || typeof node === 'number') return 'NUMBER'
  return typeof node === 'string' ? 'STRING' : 'BOOLEAN'
}

/**
 * A JSON value as Connect's data. What does not fit its schema is mostly not an error: text for an int32 is 0.
 * @throws DataException with Connect's message
 * @see Connect's JsonConverter.convertToConnect
 */
export function toConnect(schema: DataSchema | null, node: JsonNode, replaceNullWithDefault: boolean): unknown {
  if (schema === null) return schemaless(node, replaceNullWithDefault)
  if (node === null || node === undefined) {
    if (schema.defaultValue !== undefined && replaceNullWithDefault) return schema.defaultValue
    if (schema.optional) return null
    throw new DataException(`Invalid null value for required ${schema.type} field`)
  }
  const logical = logicalValue(schema, node)
  if (logical !== undefined) return logical
  if (schema.type === 'ARRAY') {
    return children(node).map(child => toConnect(schema.valueSchema, child, replaceNullWithDefault))
  }
  if (schema.type === 'MAP') return toMap(schema, node, replaceNullWithDefault)
  if (schema.type === 'STRUCT') return toStruct(schema, node, replaceNullWithDefault)
  return primitive(schema.type, node)
}

function schemaless(node: JsonNode, replaceNullWithDefault: boolean): unknown {
  if (node === null || node === undefined) return null
  if (typeof node === 'bigint') return BigInt.asIntN(64, node)
  if (isArray(node)) return node.map(child => schemaless(child, replaceNullWithDefault))
  if (!isObject(node)) return node
  return new Map([...node].map(([name, value]) => [name, schemaless(value, replaceNullWithDefault)]))
}

function children(node: JsonNode): readonly JsonNode[] {
  if (isArray(node)) return node
  return isObject(node) ? [...node.values()] : []
}

function primitive(type: SchemaType, node: JsonNode): unknown {
  if (type === 'BOOLEAN') return node === true
  if (type === 'STRING') return typeof node === 'string' ? node : null
  if (type === 'BYTES') return typeof node === 'string' ? fromBase64(node, 'Invalid bytes field') : null
  if (type === 'INT64') return BigInt.asIntN(64, integer(node))
  if (type === 'FLOAT64') return typeof node === 'bigint' || typeof node === 'number' ? Number(node) : 0
  if (type === 'FLOAT32') return typeof node === 'bigint' || typeof node === 'number' ? Math.fround(Number(node)) : 0
  const bits = type === 'INT8' ? 8 : type === 'INT16' ? 16 : 32
  return Number(BigInt.asIntN(bits, integer(node)))
}

/** What Jackson's `longValue` makes of a node. */
function integer(node: JsonNode): bigint {
  if (typeof node === 'bigint') return node
  return typeof node === 'number' && Number.isFinite(node) ? BigInt(Math.trunc(node)) : 0n
}

/** Undefined = the schema is of no logical type. */
function logicalValue(schema: DataSchema, node: JsonNode): unknown {
  const expect = (isRight: boolean, type: string, underlying: string): void => {
    if (isRight) return
    const what = `Invalid type for ${type}, underlying representation should be ${underlying} but was ${nodeType(node)}`
    throw new DataException(what)
  }
  switch (schema.name ?? '') {
    case 'org.apache.kafka.connect.data.Decimal':
      if (typeof node === 'string') return fromBase64(node, 'Invalid bytes for Decimal field')
      expect(typeof node === 'bigint' || typeof node === 'number', 'Decimal', 'numeric or bytes')
      return node
    case 'org.apache.kafka.connect.data.Date':
      expect(isInt(node), 'Date', 'integer')
      return new Date(Number(integer(node)) * DAY_MS)
    case 'org.apache.kafka.connect.data.Time':
      expect(isInt(node), 'Time', 'integer')
      return new Date(Number(integer(node)))
    case 'org.apache.kafka.connect.data.Timestamp':
      expect(typeof node === 'bigint', 'Timestamp', 'integral')
      return new Date(Number(integer(node)))
    default:
      return undefined
  }
}

function isInt(node: JsonNode): boolean {
  return typeof node === 'bigint' && BigInt.asIntN(32, node) === node
}

function fromBase64(text: string, message: string): Buffer {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)|[A-Za-z0-9+/]{3}=)?$/.test(text))
    throw new DataException(message)
  return Buffer.from(text, 'base64')
}

function toMap(schema: DataSchema, node: JsonNode, replaceNullWithDefault: boolean): ReadonlyMap<unknown, unknown> {
  const value = (child: JsonNode): unknown => toConnect(schema.valueSchema, child, replaceNullWithDefault)
  if (schema.keySchema?.type === 'STRING') {
    if (!isObject(node)) {
      throw new DataException(`Maps with string fields should be encoded as JSON objects, but found ${nodeType(node)}`)
    }
    return new Map([...node].map(([name, child]) => [name, value(child)]))
  }
  if (!isArray(node)) {
    const found = nodeType(node)
    throw new DataException(`Maps with non-string fields should be encoded as JSON array of tuples, but found ${found}`)
  }
  return new Map(
    node.map(entry => {
      if (!isArray(entry)) {
        throw new DataException(`Found invalid map entry instead of array tuple: ${nodeType(entry)}`)
      }
      if (entry.length !== 2) {
        throw new DataException(`Found invalid map entry, expected length 2 but found :${entry.length}`)
      }
      return [toConnect(schema.keySchema, entry[0], replaceNullWithDefault), value(entry[1])]
    }),
  )
}

function toStruct(schema: DataSchema, node: JsonNode, replaceNullWithDefault: boolean): Struct {
  if (!isObject(node)) {
    throw new DataException(`Structs should be encoded as JSON objects, but found ${nodeType(node)}`)
  }
  const values = schema.fields.map(
    field => [field.name, toConnect(field.schema, node.get(field.name), replaceNullWithDefault)] as const,
  )
  return new Struct(schema, new Map(values))
}
