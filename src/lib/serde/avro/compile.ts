import type {Schema, Type, types as AvscTypes} from 'avsc'
import type {CompiledSchema, SchemaSource} from '../compiled.ts'
import {membersOf} from '../objects.ts'
import type {AvroNode} from './node.ts'
import {decodeAvro} from './read.ts'

/**
 * Reads a schema with avsc, which knows names, namespaces and what is allowed; the bytes are then walked by `read.ts`,
 * which knows where it stands. Loads avsc.
 * @throws Error for a schema that is none
 */
export async function compileAvro({text, references}: SchemaSource): Promise<CompiledSchema> {
  const {default: avsc} = await import('avsc')
  class Decimal extends avsc.types.LogicalType {
    readonly scale: number
    constructor(schema: Schema, options?: object) {
      super(schema, options)
      const {scale} = membersOf(schema)
      this.scale = typeof scale === 'number' && Number.isInteger(scale) && scale >= 0 ? scale : 0
    }
  }
  const registry: Record<string, Type> = {}
  // A plain object would know types named `constructor`.
  Object.setPrototypeOf(registry, null)
  const options = {registry, wrapUnions: true, logicalTypes: {decimal: Decimal}}
  const parse = (json: string): Type => {
    const schema: unknown = JSON.parse(json)
    if (!isSchema(schema)) throw new TypeError('an Avro schema is an object, a list or a name')
    return avsc.Type.forSchema(schema, options)
  }
  for (const reference of references) parse(reference.text)
  const type = parse(text)
  const root = new NodeMaker(avsc.Type, avsc.types, one => (one instanceof Decimal ? one.scale : null)).node(type)
  const name = type.name ?? null
  return {type: 'AVRO', decode: ({bytes, start}) => ({value: decodeAvro(root, bytes, start), name})}
}

/** avsc's types as nodes; each record once, so that it may be part of itself. */
class NodeMaker {
  readonly #base: typeof Type
  readonly #types: typeof AvscTypes
  readonly #scaleOf: (type: Type) => number | null
  readonly #known = new Map<Type, AvroNode>()

  constructor(base: typeof Type, types: typeof AvscTypes, scaleOf: (type: Type) => number | null) {
    this.#base = base
    this.#types = types
    this.#scaleOf = scaleOf
  }

  node(type: Type): AvroNode {
    const seen = this.#known.get(type)
    if (seen !== undefined) return seen
    const types = this.#types
    if (type instanceof types.LogicalType) {
      const under = this.node(type.underlyingType)
      return under.kind === 'bytes' || under.kind === 'fixed' ? {...under, scale: this.#scaleOf(type)} : under
    }
    if (type instanceof types.RecordType) return this.#record(type)
    if (type instanceof types.ArrayType) return {kind: 'array', items: this.node(type.itemsType)}
    if (type instanceof types.MapType) {
      const values: unknown = type.valuesType
      if (values instanceof this.#base) return {kind: 'map', items: this.node(values)}
    }
    if (type instanceof types.WrappedUnionType) return {kind: 'union', branches: type.types.map(one => this.node(one))}
    if (type instanceof types.EnumType) return {kind: 'enum', symbols: type.symbols}
    if (type instanceof types.FixedType) return {kind: 'fixed', size: type.size, scale: null}
    return primitive(type.typeName)
  }

  #record(type: AvscTypes.RecordType): AvroNode {
    const fields: {name: string; type: AvroNode}[] = []
    const node: AvroNode = {kind: 'record', fields}
    this.#known.set(type, node)
    for (const field of type.fields) fields.push({name: field.name, type: this.node(field.type)})
    return node
  }
}

function isSchema(json: unknown): json is Schema {
  return typeof json === 'string' || (typeof json === 'object' && json !== null)
}

function primitive(name: string): AvroNode {
  if (name === 'bytes') return {kind: name, scale: null}
  const kind = (['null', 'boolean', 'int', 'long', 'float', 'double', 'string'] as const).find(known => known === name)
  if (kind === undefined) throw new TypeError(`unknown Avro type ${name}`)
  return {kind}
}
