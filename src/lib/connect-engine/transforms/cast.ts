import {type DataSchema, dataSchema, isDataSchema, type Struct} from '../converters/schema.ts'
import {javaDecimal} from '../converters/java-decimal.ts'
import {ConfigException, parseJavaInteger, splitAtCommas} from '../config-value.ts'
import type {SchemaType} from '../data.ts'
import {DataException, JavaException} from '../errors.ts'
import {type Half, halfOf, javaClassOf, replaceHalf, requireMap, requireStruct} from './operating.ts'
import type {TransformableRecord, Transformation} from './transformation.ts'

const TARGETS: readonly SchemaType[] = ['INT8', 'INT16', 'INT32', 'INT64', 'FLOAT32', 'FLOAT64', 'BOOLEAN', 'STRING']
const BITS: Readonly<Partial<Record<SchemaType, number>>> = {INT8: 8, INT16: 16, INT32: 32, INT64: 64}
const PURPOSE = 'cast types'

/** Casts fields, or a whole key or value, to another type. @see Connect's Cast */
export class Cast implements Transformation {
  readonly className: string
  readonly #half: Half
  readonly #fields: ReadonlyMap<string, SchemaType>
  readonly #whole: SchemaType | null

  /**
   * @param spec `field:type,...`, or one type
   * @throws ConfigException for a type that is none
   */
  constructor(half: Half, spec: string) {
    this.className = `org.apache.kafka.connect.transforms.Cast$${half}`
    this.#half = half
    const fields = new Map<string, SchemaType>()
    let whole: SchemaType | null = null
    for (const mapping of splitAtCommas(spec)) {
      const [field = '', type] = mapping.split(':')
      if (type === undefined) whole = targetOf(field)
      else fields.set(field.trim(), targetOf(type))
    }
    if (whole === null && fields.size === 0) throw new ConfigException('Must specify at least one field to cast.')
    this.#fields = fields
    this.#whole = whole
  }

  apply<R extends TransformableRecord<R>>(record: R): R {
    const {schema, value} = halfOf(record, this.#half)
    if (value === null || value === undefined) return record
    if (this.#whole !== null) {
      const target = schema === null ? null : dataSchema(this.#whole)
      return record.newRecord(replaceHalf(this.#half, target, castTo(value, this.#whole)))
    }
    if (schema !== null && schema.type !== 'STRUCT') throw new DataException('Cannot list fields on non-struct type')
    if (schema !== null && isDataSchema(schema)) return this.#struct(record, schema, requireStruct(value, PURPOSE))
    const map = new Map(requireMap(value, PURPOSE))
    for (const [field, type] of this.#fields) map.set(field, castTo(map.get(field) ?? null, type))
    return record.newRecord(replaceHalf(this.#half, null, map))
  }

  #struct<R extends TransformableRecord<R>>(record: R, schema: DataSchema, value: Struct): R {
    const changes = new Map<string, unknown>()
    const fields = schema.fields.map(field => {
      const type = this.#fields.get(field.name)
      if (type === undefined || field.schema === null) return field
      changes.set(field.name, castTo(value.get(field.name), type))
      return {name: field.name, schema: dataSchema(type, {optional: field.schema.optional})}
    })
    const updated = {...schema, fields}
    return record.newRecord(replaceHalf(this.#half, updated, value.with(updated, changes)))
  }
}

function targetOf(text: string): SchemaType {
  const name = text.trim()
  const type = TARGETS.find(target => target === name.toUpperCase())
  if (type === undefined) throw new ConfigException(`Invalid type found in casting spec: ${name}`)
  return type
}

/** @throws DataException with Connect's message */
function castTo(value: unknown, type: SchemaType): unknown {
  if (value === null || value === undefined) return null
  if (typeof value === 'object' && !(value instanceof Uint8Array)) {
    const found = Array.isArray(value) ? 'ARRAY' : value instanceof Map ? 'MAP' : 'STRUCT'
    throw new DataException(
      `Cast transformation does not support casting from ${found}; supported types are [${TARGETS.join(', ')}, BYTES]`,
    )
  }
  if (type === 'STRING') return textOf(value)
  if (value instanceof Uint8Array) {
    throw new DataException(`Unexpected type in Cast transformation: class ${javaClassOf(value)}`)
  }
  if (type === 'BOOLEAN') return typeof value === 'string' ? value.toLowerCase() === 'true' : wholeOf(value, 64) !== 0n
  const bits = BITS[type]
  if (bits === undefined) {
    const number = typeof value === 'string' ? parseDouble(value) : Number(value)
    return type === 'FLOAT32' ? Math.fround(number) : number
  }
  const whole = typeof value === 'string' ? parseInteger(value, bits) : wholeOf(value, bits)
  const wrapped = BigInt.asIntN(bits, whole)
  return type === 'INT64' ? wrapped : Number(wrapped)
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  return typeof value === 'number' ? javaDecimal(value) : String(value)
}

/** As Java's casts of doubles: to int (also for smaller types) or long, the nearest one where it does not fit; NaN is 0. */
function wholeOf(value: unknown, bits: number): bigint {
  if (typeof value === 'bigint') return value
  const number = Number(value)
  if (Number.isNaN(number)) return 0n
  const limit = bits === 64 ? 2n ** 63n : 2n ** 31n
  if (!Number.isFinite(number)) return number > 0 ? limit - 1n : -limit
  const whole = BigInt(Math.trunc(number))
  return whole >= limit ? limit - 1n : whole < -limit ? -limit : whole
}

function parseInteger(text: string, bits: number): bigint {
  const value = parseJavaInteger(text, bits === 64 ? 2n ** 63n : 2n ** 31n)
  if (value === null) throw outOfRange(text, `For input string: "${text}"`)
  if (BigInt.asIntN(bits, value) !== value) throw outOfRange(text, `Value out of range. Value:"${text}" Radix:10`)
  return value
}

function parseDouble(text: string): number {
  const trimmed = text.trim()
  if (trimmed === '') throw outOfRange(text, 'empty String')
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[dDfF]?$/.exec(trimmed)
  if (match !== null) return Number(match[1])
  const special = /^([+-]?)(NaN|Infinity)$/.exec(trimmed)
  if (special === null) throw outOfRange(text, `For input string: "${trimmed}"`)
  return Number(`${special[1] === '-' ? '-' : ''}${special[2]}`)
}

function outOfRange(text: string, message: string): DataException {
  const cause = new JavaException({className: 'java.lang.NumberFormatException', message})
  return new DataException(`Value (${text}) was out of range for requested data type`, {cause})
}
