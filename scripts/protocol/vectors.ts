/** Golden messages: the same values as JSON and as the bytes that Kafka's own classes make of them. */
import {mkdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import type {Field, FieldType, MessageDefinition, Struct} from './definitions.ts'
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
    switch (type.kind) {
      case 'struct':
        return this.struct(type.struct)
      case 'array': {
        if (bare && type.element.kind === 'scalar') return []
        const length = bare ? 1 : 2
        return Array.from({length}, () => this.#value(type.element))
      }
      case 'scalar':
        switch (type.scalar) {
          case 'bool':
            return !bare
          case 'int8':
            return bare ? -128 : this.#count % 100
          case 'int16':
            return bare ? -32_768 : 1000 + this.#count
          case 'uint16':
            return bare ? 65_535 : 1000 + this.#count
          case 'int32':
            return bare ? -2_147_483_648 : 100_000 + this.#count
          case 'int64':
            return {int64: bare ? '-9223372036854775808' : String(9_007_199_254_740_993n + BigInt(this.#count))}
          case 'string':
            return bare ? '' : `t${this.#count}-\u00e9\u20ac`
          case 'uuid':
            return bare ? 'AAAAAAAAAAAAAAAAAAAAAA' : Buffer.alloc(16, this.#count).toString('base64url')
          case 'bytes':
            return {bytes: bare ? '' : Buffer.from([0, 255, this.#count]).toString('base64')}
        }
    }
  }
}

function defaultValue({type, fallback}: Field): unknown {
  if (type.kind === 'array') return []
  if (type.kind === 'struct')
    return Object.fromEntries(type.struct.fields.map(field => [field.name, defaultValue(field)]))
  switch (type.scalar) {
    case 'bool':
      return fallback === 'true'
    case 'int64':
      return {int64: fallback ?? '0'}
    case 'string':
      return fallback ?? ''
    case 'uuid':
      return 'AAAAAAAAAAAAAAAAAAAAAA'
    case 'bytes':
      return {bytes: ''}
    default:
      return Number(fallback ?? 0)
  }
}

/** The JSON that Kafka's converters take: plain numbers, base64 text. */
function kafkaJson(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(/\{"int64":"(-?\d+)"\}/g, '$1')
    .replaceAll(/\{"bytes":("[^"]*")\}/g, '$1')
}
