import {readFileSync} from 'node:fs'
import {expect, test} from 'vitest'
import {JsonConverter} from '../../../src/lib/connect-engine/converters/json-converter.ts'
import {isDataSchema, Struct} from '../../../src/lib/connect-engine/converters/schema.ts'
import {classNameOf, messageOf} from '../../../src/lib/connect-engine/errors.ts'
import {javaText} from '../../../src/lib/connect-engine/source-record-text.ts'

/** What the JsonConverter of Kafka 4.4.0 makes of some bytes, and what it writes for the result. */
interface Observed {
  readonly hex: string
  readonly schemas: boolean
  /** Type of the schema (`-` for none) and the data, in the notation of `show`. */
  readonly data?: string
  /** Absent where the order of a Java map decides. */
  readonly json?: string
  /** Class and message. */
  readonly thrown?: string
}

const observed = readFileSync(new URL('../../fixtures/connect-json/observed-4.4.0.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line) as Observed)

function show(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Buffer.isBuffer(value)) return `b:${value.toString('hex')}`
  if (value instanceof Date) return `d:${value.getTime()}`
  if (value instanceof Map) {
    const entries = [...value].map(([key, inner]) => [show(key), show(inner)] as const)
    return `{${entries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => `${key}=${inner}`)
      .join(',')}}`
  }
  if (Array.isArray(value)) return `[${value.map(show).join(',')}]`
  if (value instanceof Struct) {
    return `S{${value.schema.fields.map(({name}) => `${name}=${show(value.get(name))},`).join('')}}`
  }
  const kinds: Readonly<Record<string, string>> = {string: 'S', boolean: 'B', bigint: 'N', number: 'N'}
  return `${kinds[typeof value]}:${javaText(value)}`
}

/** Java has more types of numbers. */
function withPlainNumbers(text: string | undefined): string | undefined {
  return text?.replaceAll(/[ifN]:(-?(?:Infinity|[0-9.eE+-]+))/g, (_, number: string) => `N:${Number(number)}`)
}

function convert({hex, schemas, json, thrown}: Observed): Omit<Observed, 'hex' | 'schemas'> {
  const converter = new JsonConverter({schemasEnable: schemas})
  try {
    const {schema, value} = converter.toConnectData('t', Buffer.from(hex, 'hex'))
    const data = `${schema?.type ?? '-'} ${show(value)}`
    if (json === undefined && thrown === undefined) return {data}
    return {data, json: converter.fromConnectData('t', schema, value)?.toString() ?? 'null'}
  } catch (error) {
    return {thrown: `${classNameOf(error)}: ${messageOf(error)}`}
  }
}

test('reads, refuses and writes what the real converter does', () => {
  expect(observed.length).toBeGreaterThan(200)
  for (const each of observed) {
    const {hex, schemas, data, ...rest} = each
    const ours = convert(each)
    const text = Buffer.from(hex, 'hex').toString()
    expect({text, schemas, ...ours, data: withPlainNumbers(ours.data)}).toEqual({
      text,
      schemas,
      ...rest,
      data: withPlainNumbers(data),
    })
  }
})

test('a tombstone is null both ways', () => {
  for (const schemasEnable of [true, false]) {
    const converter = new JsonConverter({schemasEnable})
    expect(converter.toConnectData('t', null)).toEqual({schema: null, value: null})
    expect(converter.fromConnectData('t', null, null)).toBeNull()
  }
})

test('the causes of a syntax error are those of Kafka and Jackson', () => {
  const cause = (): unknown => {
    try {
      return new JsonConverter().toConnectData('t', Buffer.from('{'))
    } catch (error) {
      return error
    }
  }
  expect(cause()).toMatchObject({
    cause: {
      className: 'org.apache.kafka.common.errors.SerializationException',
      cause: {className: 'com.fasterxml.jackson.core.JsonParseException'},
    },
  })
})

test('plain objects, bytes and times can be written too', () => {
  const converter = new JsonConverter({schemasEnable: false})
  const value = {a: 1n, b: [true, null], c: Buffer.from([1, 2]), d: new Date(5)}
  expect(converter.fromConnectData('t', null, value)?.toString()).toBe('{"a":1,"b":[true,null],"c":"AQI=","d":5}')
  const {schema} = new JsonConverter().toConnectData('t', Buffer.from('{"schema":{"type":"string"},"payload":"x"}'))
  expect(schema !== null && isDataSchema(schema)).toBe(true)
  expect(() => new JsonConverter().fromConnectData('t', schema, 5)).toThrow('Invalid type for STRING')
  expect(() => new JsonConverter().fromConnectData('t', schema, null)).toThrow('null value for field that is required')
})
