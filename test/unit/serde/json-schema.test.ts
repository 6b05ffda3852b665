import {describe, expect, test} from 'vitest'
import {compileSchema} from '../../../src/lib/serde/compile.ts'
import {compileJsonSchema} from '../../../src/lib/serde/json-schema.ts'
import type {DecodedPayload} from '../../../src/lib/serde/compiled.ts'
import {framed} from './support.ts'

async function read(
  schema: unknown,
  json: string,
  references: {name: string; text: string}[] = [],
): Promise<DecodedPayload> {
  const compiled = await compileSchema({type: 'JSON', text: JSON.stringify(schema), references})
  return compiled.decode({bytes: framed(1, json), start: 5, indexes: null})
}

const ORDER = {
  title: 'Order',
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  properties: {id: {type: 'integer'}, items: {type: 'array', items: {$ref: '#/definitions/item'}}},
  definitions: {item: {type: 'object', properties: {price: {type: 'number'}}}},
}

describe('JSON Schema', () => {
  test('a value that keeps to it has no problem', async () => {
    expect(await read(ORDER, '{"id":1,"items":[{"price":2.5}]}')).toEqual({
      name: 'Order',
      value: {id: 1, items: [{price: 2.5}]},
    })
  })

  test.each([
    ['{"id":1,"items":[{"price":1},{"price":"x"}]}', 'must be number', 43, 'items[1].price'],
    ['{"id":1,"more":2}', 'must NOT have additional properties: "more"', 5, undefined],
    ['{}', "must have required property 'id'", 5, undefined],
  ])('%s: the value stays, with byte and field of what breaks it', async (json, message, at, field) => {
    expect(await read(ORDER, json)).toMatchObject({
      value: JSON.parse(json) as unknown,
      problem: {step: 'validate', message, at, ...(field === undefined ? {} : {field})},
    })
  })

  test('what is no JSON fails where it stops being it, counted from the start of the record', async () => {
    await expect(read(ORDER, '{"id":?}')).rejects.toMatchObject({problem: {step: 'decode', at: 11, field: 'id'}})
  })

  test.each([
    ['by its bare name', {properties: {by: {$ref: 'customer.json'}}}],
    [
      'from a schema with an address of its own',
      {$id: 'http://acme.example/order.json', properties: {by: {$ref: 'customer.json'}}},
    ],
    [
      'draft 2019-09',
      {$schema: 'https://json-schema.org/draft/2019-09/schema', properties: {by: {$ref: 'customer.json'}}},
    ],
    [
      'draft 2020-12',
      {$schema: 'https://json-schema.org/draft/2020-12/schema', properties: {by: {$ref: 'customer.json'}}},
    ],
    [
      'draft 4',
      {$schema: 'http://json-schema.org/draft-04/schema#', id: 'x.json', properties: {by: {$ref: 'customer.json'}}},
    ],
  ])('a reference is found %s', async (_what, schema) => {
    const references = [
      {name: 'customer.json', text: JSON.stringify({$id: 'c.json', type: 'object', required: ['id']})},
    ]
    expect((await read(schema, '{"by":{"id":1}}', references)).problem).toBeUndefined()
    expect((await read(schema, '{"by":{}}', references)).problem).toMatchObject({
      field: 'by',
      message: "must have required property 'id'",
    })
  })

  test('references may hold each other', async () => {
    const node = {type: 'object', properties: {next: {$ref: 'node.json'}, tag: {type: 'string'}}}
    const references = [{name: 'node.json', text: JSON.stringify(node)}]
    const schema = {$ref: 'node.json'}
    expect((await read(schema, '{"next":{"next":{"tag":1}}}', references)).problem).toMatchObject({
      field: 'next.next.tag',
    })
  })

  test('patterns run in linear time, equal items are found without comparing each with each', async () => {
    const schema = {properties: {a: {type: 'string', pattern: '^(a+)+$'}, b: {type: 'array', uniqueItems: true}}}
    expect((await read(schema, JSON.stringify({a: `${'a'.repeat(50_000)}!`}))).problem).toMatchObject({field: 'a'})
    const items = Array.from({length: 20_000}, (_, index) => ({index}))
    expect((await read(schema, JSON.stringify({b: items}))).problem).toBeUndefined()
    expect((await read(schema, JSON.stringify({b: [...items, {index: 7}]}))).problem).toMatchObject({field: 'b'})
  })

  test.each(['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema'])(
    'each pattern is its own: %s',
    async $schema => {
      const schema = {$schema, properties: {a: {type: 'string', pattern: '^x'}, b: {type: 'string', pattern: '^y'}}}
      expect((await read(schema, '{"a":"x","b":"y"}')).problem).toBeUndefined()
      expect((await read(schema, '{"a":"y"}')).problem).toMatchObject({field: 'a', message: 'must match pattern "^x"'})
      expect((await read(schema, '{"b":"x"}')).problem).toMatchObject({field: 'b'})
    },
  )

  test('a schema that doubles the work with each level is stopped', async () => {
    const schema = {
      $ref: '#/definitions/n',
      definitions: {n: {anyOf: [1, 2].map(() => ({required: ['x'], properties: {x: {$ref: '#/definitions/n'}}}))}},
    }
    const json = `${'{"x":'.repeat(60)}1${'}'.repeat(60)}`.replace('1', '{"y":1}')
    const limits = {prepareMs: 10_000, checkMs: 50}
    const compiled = await compileJsonSchema({type: 'JSON', text: JSON.stringify(schema), references: []}, limits)
    const problem = {step: 'schema', message: 'checking by this schema takes more than 50 ms'}
    const decode = (text: string) => compiled.decode({bytes: Buffer.from(text), start: 0, indexes: null})
    expect(decode(json)).toMatchObject({value: {x: {x: {}}}, problem})
    // It is not asked about the next value either.
    expect(decode('{"x":{}}')).toMatchObject({value: {x: {}}, problem})
  })

  test.each([
    ['a loop of references', {$ref: '#'}],
    ['a name that is not defined', {properties: {a: {$ref: 'nowhere.json'}}}],
    ['a type that is none', {type: 'wrong'}],
    ['a pattern that is none', {pattern: '('}],
    ['a list', []],
  ])('a schema that is of no use is a problem, not a crash: %s', async (_what, schema) => {
    await expect(read(schema, '{"a":1}')).rejects.toThrow(/the schema cannot be used|nested too deeply|call stack/)
  })
})
