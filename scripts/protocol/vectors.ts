/** Golden messages: the same values as JSON and as the bytes that Kafka's own classes make of them. */
import {mkdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import type {Field, FieldType, MessageDefinition, Scalar, Struct} from './definitions.ts'
import {kafkaFacts} from './kafka-artifacts.ts'

/** `full`: every field has a telling value. `bare`: shortest arrays and texts, null where allowed, tags left out. */
type Variant = 'full' | 'bare'

interface Vector {
  readonly message: string
  readonly version: number
  readonly variant: Variant
  /** int64 is {"int64": "1"}, bytes are {"bytes": "base64"}; fields that the version lacks are absent. */
  readonly value: unknown
  readonly bytes: string
}

/** @returns how many vectors were written */
export function writeVectors(definitions: readonly MessageDefinition[], folder: string): number {
  const wanted = definitions.flatMap(definition => messagesOf(definition))
  const lines = wanted.map(({message, version, value}) => `${message}\t${version}\t${kafkaJson(value)}\n`)
  const answers = kafkaFacts('vectors', lines.join(''))
  if (answers.length !== wanted.length) throw new Error(`${wanted.length} messages, ${answers.length} answers`)
  mkdirSync(folder, {recursive: true})
  for (const {api} of definitions) {
    const rows: Vector[] = wanted.flatMap((vector, index) =>
      vector.api === api
        ? [
            {
              message: vector.message,
              version: vector.version,
              variant: vector.variant,
              value: vector.value,
              bytes: (answers[index] ?? '').slice(1),
            },
          ]
        : [],
    )
    writeFileSync(join(folder, `${api}.json`), `[\n${rows.map(row => JSON.stringify(row)).join(',\n')}\n]\n`)
  }
  return wanted.length
}

function messagesOf(
  definition: MessageDefinition,
): {api: string; message: string; version: number; variant: Variant; value: unknown}[] {
  const messages = []
  for (let version = definition.versions.min; version <= definition.versions.max; version++) {
    for (const struct of [definition.request, definition.response]) {
      for (const variant of ['full', 'bare'] as const) {
        const filler = new Filler(version, variant)
        messages.push({api: definition.api, message: struct.name, version, variant, value: filler.struct(struct)})
      }
    }
  }
  return messages
}

class Filler {
  readonly #version: number
  readonly #variant: Variant
  #count = 0

  constructor(version: number, variant: Variant) {
    this.#version = version
    this.#variant = variant
  }

  struct(struct: Struct): Record<string, unknown> {
    const entries = struct.fields.flatMap(field => {
      const {min, max} = field.versions
      if (this.#version < min || this.#version > max) return []
      return [[field.name, this.#field(field)] as const]
    })
    return Object.fromEntries(entries)
  }

  #field(field: Field): unknown {
    const {nullable} = field
    const mayBeNull = nullable !== null && this.#version >= nullable.min && this.#version <= nullable.max
    // A tagged field is absent from the bytes when it has its default, and null then reads back as that default.
    if (this.#variant === 'bare' && mayBeNull && (field.tag === null || field.fallback === 'null')) return null
    if (this.#variant === 'bare' && field.tag !== null) return defaultValue(field)
    return this.#value(field.type)
  }

  #value(type: FieldType): unknown {
    const bare = this.#variant === 'bare'
    this.#count++
    if (type.kind === 'struct') return this.struct(type.struct)
    if (type.kind === 'scalar') return bare ? SMALLEST[type.scalar] : telling(type.scalar, this.#count)
    if (bare && type.element.kind === 'scalar') return []
    return Array.from({length: bare ? 1 : 2}, () => this.#value(type.element))
  }
}

const SMALLEST: Readonly<Record<Scalar, unknown>> = {
  bool: false,
  int8: -128,
  int16: -32_768,
  uint16: 65_535,
  int32: -2_147_483_648,
  int64: {int64: '-9223372036854775808'},
  string: '',
  uuid: 'AAAAAAAAAAAAAAAAAAAAAA',
  bytes: {bytes: ''},
}

/** A value that differs from its neighbours' and from every default. */
function telling(scalar: Scalar, count: number): unknown {
  if (scalar === 'bool') return true
  if (scalar === 'int8') return count % 100
  if (scalar === 'int32') return 100_000 + count
  if (scalar === 'int64') return {int64: String(9_007_199_254_740_993n + BigInt(count))}
  if (scalar === 'string') return `t${count}-\u00e9\u20ac`
  if (scalar === 'uuid') return Buffer.alloc(16, count).toString('base64url')
  if (scalar === 'bytes') return {bytes: Buffer.from([0, 255, count]).toString('base64')}
  return 1000 + count
}

function defaultValue({type, fallback}: Field): unknown {
  if (type.kind === 'array') return []
  if (type.kind === 'struct')
    return Object.fromEntries(type.struct.fields.map(field => [field.name, defaultValue(field)]))
  if (type.scalar === 'int64') return {int64: fallback ?? '0'}
  if (type.scalar === 'bool') return fallback === 'true'
  if (type.scalar === 'string') return fallback ?? ''
  if (type.scalar === 'uuid' || type.scalar === 'bytes') return SMALLEST[type.scalar]
  return Number(fallback ?? 0)
}

/** The JSON that Kafka's converters take: plain numbers, base64 text. */
function kafkaJson(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(/\{"int64":"(-?\d+)"\}/g, '$1')
    .replaceAll(/\{"bytes":("[^"]*")\}/g, '$1')
}
