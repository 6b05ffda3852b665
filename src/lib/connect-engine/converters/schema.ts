import type {ConnectSchema, SchemaType} from '../data.ts'
import {DataException} from '../errors.ts'

/** A schema with what JsonConverter's envelope says about it. @see Connect's Schema */
export interface DataSchema extends ConnectSchema {
  readonly optional: boolean
  /** Null = none. */
  readonly version: number | null
  readonly doc: string | null
  readonly parameters: ReadonlyMap<string, string>
  /** Undefined = none. */
  readonly defaultValue: unknown
  /** Of a STRUCT, in order. */
  readonly fields: readonly SchemaField[]
  /** Of a MAP. */
  readonly keySchema: DataSchema | null
  /** Of a MAP or an ARRAY. */
  readonly valueSchema: DataSchema | null
}

/** One field of a struct. */
export interface SchemaField {
  readonly name: string
  readonly schema: DataSchema | null
}

/** A schema of a type with all the rest left out. */
export function dataSchema(type: SchemaType, details: Partial<DataSchema> = {}): DataSchema {
  return {
    type,
    name: null,
    optional: false,
    version: null,
    doc: null,
    parameters: new Map(),
    defaultValue: undefined,
    fields: [],
    keySchema: null,
    valueSchema: null,
    ...details,
  }
}

/** True for schemas of this folder's converters. */
export function isDataSchema(schema: ConnectSchema): schema is DataSchema {
  return 'optional' in schema && 'fields' in schema
}

/** Data of a STRUCT. */
export class Struct {
  readonly schema: DataSchema
  readonly #values: ReadonlyMap<string, unknown>

  /** @throws DataException for a required field without a value */
  constructor(schema: DataSchema, values: ReadonlyMap<string, unknown>) {
    for (const field of schema.fields) {
      const isMissing = values.get(field.name) === null || values.get(field.name) === undefined
      if (isMissing && field.schema !== null && !field.schema.optional && field.schema.defaultValue === undefined) {
        const place = `"${field.name}", schema type: ${field.schema.type}`
        throw new DataException(`Invalid value: null used for required field: ${place}`)
      }
    }
    this.schema = schema
    this.#values = values
  }

  /** The default where the field has none; null when it has no default either. */
  get(name: string): unknown {
    return this.#values.get(name) ?? this.schema.fields.find(field => field.name === name)?.schema?.defaultValue ?? null
  }

  getWithoutDefault(name: string): unknown {
    return this.#values.get(name) ?? null
  }

  /** The struct with some values changed. */
  with(schema: DataSchema, changes: ReadonlyMap<string, unknown>): Struct {
    return new Struct(schema, new Map([...this.#values, ...changes]))
  }

  /** As Java prints it. */
  toString(): string {
    const fields = this.schema.fields.filter(({name}) => this.get(name) !== null)
    return `Struct{${fields.map(({name}) => `${name}=${String(this.get(name))}`).join(',')}}`
  }
}
