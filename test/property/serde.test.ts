import avsc from 'avsc'
import fc from 'fast-check'
import {beforeAll, describe, expect, test} from 'vitest'
import {compileSchema} from '../../src/lib/serde/compile.ts'
import type {CompiledSchema} from '../../src/lib/serde/compiled.ts'
import {DecodeFault} from '../../src/lib/serde/fault.ts'
import {
  createDecoders,
  createRegistryStore,
  DECODE_FORMATS,
  type Decoders,
  parseDecodeFormats,
} from '../../src/lib/serde/index.ts'
import {findJsonFault} from '../../src/lib/serde/json/scan.ts'
import {runs} from '../support/runs.ts'

const ORDER = JSON.stringify({
  type: 'record',
  name: 'Order',
  fields: [
    {name: 'id', type: 'long'},
    {name: 'next', type: ['null', 'Order']},
    {name: 'tags', type: {type: 'map', values: {type: 'array', items: ['null', 'string', 'boolean']}}},
    {name: 'rate', type: 'double'},
  ],
})
const PROTO = `syntax = "proto3"; message Order { int64 id = 1; Order next = 2; map<string, Order> by = 3; repeated sint32 n = 4; string s = 5; }`
const JSON_SCHEMA = '{"type":"object","properties":{"id":{"type":"integer"}}}'

const schemas: Record<'AVRO' | 'PROTOBUF' | 'JSON', string> = {AVRO: ORDER, PROTOBUF: PROTO, JSON: JSON_SCHEMA}
const types = ['AVRO', 'PROTOBUF', 'JSON'] as const
const compiled = new Map<string, CompiledSchema>()
const byFormat = new Map<string, Decoders>()

beforeAll(async () => {
  for (const type of types) compiled.set(type, await compileSchema({type, text: schemas[type], references: []}))
  const store = createRegistryStore(null, {clock: {monotonic: () => 0}})
  for (const format of DECODE_FORMATS) {
    const formats = parseDecodeFormats([format, `key=${format}`])
    byFormat.set(format, await createDecoders({store, readFile: async () => ''}, formats))
  }
})

const bytes = fc
  .oneof(
    fc.uint8Array({maxLength: 60}),
    fc.json({maxDepth: 3}).map(text => Buffer.from(text)),
    fc.tuple(fc.json({maxDepth: 3}), fc.nat(40), fc.integer({min: 0, max: 255})).map(([text, at, byte]) => {
      const broken = Buffer.from(text)
      broken[at % Math.max(1, broken.length)] = byte
      return broken
    }),
  )
  .map(array => Buffer.from(array))
const headers = fc.array(
  fc.record({
    name: fc
      .constantFrom('__value_schema_id', '__key_schema_id', '__TypeId__', 'spring_json_header_types', 'x')
      .map(name => Buffer.from(name)),
    value: fc.option(bytes),
  }),
  {maxLength: 3},
)

describe('whatever the bytes', () => {
  test('every format gives a value or a reason, and a byte that is there', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...DECODE_FORMATS),
        fc.option(bytes),
        fc.option(bytes),
        headers,
        (format, key, value, list) => {
          const decoded = byFormat.get(format)?.decode({key, value, headers: list})
          for (const part of [decoded?.key, decoded?.value]) {
            const at = part?.error?.at ?? 0
            expect(at).toBeGreaterThanOrEqual(0)
            expect(at).toBeLessThanOrEqual(Math.max(key?.length ?? 0, value?.length ?? 0))
            expect(part?.error?.message).not.toBe('')
          }
        },
      ),
      {numRuns: runs(400)},
    )
  })

  test('a schema gives a value or a fault, after no more values than the bytes can mean', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...types),
        bytes,
        fc.constantFrom(null, Buffer.from([0])),
        (type, payload, indexes) => {
          const outcome = outcomeOf(() => compiled.get(type)?.decode({bytes: payload, start: 0, indexes}))
          expect(outcome === null || outcome instanceof DecodeFault).toBe(true)
        },
      ),
      {numRuns: runs(600)},
    )
  })

  test('JSON has a fault exactly when JSON.parse refuses it, and all before its byte could go on', () => {
    fc.assert(
      fc.property(bytes, payload => {
        const text = payload.toString('utf8')
        const isUtf8 = Buffer.from(text).equals(payload)
        const isJson = isUtf8 && parses(text)
        const fault = findJsonFault(payload)
        expect(fault === null).toBe(isJson)
        expect(fault?.at ?? 0).toBeLessThanOrEqual(payload.length)
      }),
      {numRuns: runs(600)},
    )
  })

  test('what avsc writes is read as avsc reads it', () => {
    const type = avsc.Type.forSchema(JSON.parse(ORDER) as never, {wrapUnions: true})
    fc.assert(
      fc.property(
        // avsc writes longs exactly up to 2^52.
        fc.maxSafeInteger().map(id => Math.trunc(id / 4)),
        fc.double({noNaN: true}),
        fc.dictionary(fc.string({maxLength: 5}), fc.array(fc.option(fc.string()), {maxLength: 4})),
        (id, rate, tags) => {
          const wrapped = Object.fromEntries(
            Object.entries(tags).map(([name, list]) => [
              name,
              list.map(item => (item === null ? null : {string: item})),
            ]),
          )
          // A lone surrogate cannot be written.
          fc.pre(JSON.stringify(tags).isWellFormed() && !/\\ud[89a-f]/.test(JSON.stringify(tags)))
          const payload = type.toBuffer({id, next: null, tags: wrapped, rate})
          expect(compiled.get('AVRO')?.decode({bytes: payload, start: 0, indexes: null}).value).toEqual({
            id: BigInt(id),
            next: null,
            tags,
            rate,
          })
        },
      ),
      {numRuns: runs(100)},
    )
  })
})

/** What was thrown; null = nothing. */
function outcomeOf(run: () => unknown): unknown {
  try {
    run()
    return null
  } catch (error) {
    return error
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
