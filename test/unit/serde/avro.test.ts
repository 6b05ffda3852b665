import avsc from 'avsc'
import {describe, expect, test} from 'vitest'
import {compileSchema} from '../../../src/lib/serde/compile.ts'
import type {DecodedValue} from '../../../src/lib/serde/types.ts'
import {hex} from './support.ts'

async function read(
  schema: unknown,
  bytes: Buffer,
  references: {name: string; text: string}[] = [],
): Promise<DecodedValue> {
  const compiled = await compileSchema({type: 'AVRO', text: JSON.stringify(schema), references})
  return compiled.decode({bytes, start: 0, indexes: null}).value
}
const problem = async (schema: unknown, bytes: Buffer): Promise<unknown> =>
  read(schema, bytes).then(
    value => ({value}),
    (error: unknown) => (error as {problem?: unknown}).problem ?? error,
  )

const ORDER = {
  type: 'record',
  name: 'Order',
  namespace: 'com.acme',
  fields: [
    {name: 'id', type: 'long'},
    {
      name: 'items',
      type: {
        type: 'array',
        items: {
          type: 'record',
          name: 'Item',
          fields: [
            {name: 'sku', type: 'string'},
            {name: 'price', type: ['null', 'double']},
          ],
        },
      },
    },
  ],
}

describe('Avro', () => {
  test("reads the example of Avro's specification", async () => {
    const schema = {
      type: 'record',
      name: 'test',
      fields: [
        {name: 'a', type: 'long'},
        {name: 'b', type: 'string'},
      ],
    }
    expect(await read(schema, hex('36 06 66 6f 6f'))).toEqual({a: 27n, b: 'foo'})
  })

  test.each([
    ['null', '', null],
    ['boolean', '01', true],
    ['int', '01', -1],
    ['int', 'ffffffff0f', -2_147_483_648],
    ['long', '8001', 64n],
    ['long', 'ffffffffffffffffff01', -9_223_372_036_854_775_808n],
    ['long', 'feffffffffffffffff01', 9_223_372_036_854_775_807n],
    ['float', '0000803f', 1],
    ['double', '000000000000f83f', 1.5],
    ['bytes', '04ff00', Buffer.from([255, 0])],
    ['string', '04c3bc', 'ü'],
    [{type: 'fixed', name: 'F', size: 2}, '0102', Buffer.from([1, 2])],
    [{type: 'enum', name: 'E', symbols: ['A', 'B']}, '02', 'B'],
    [{type: 'map', values: 'int'}, '02 026b 02 00', {k: 1}],
    [{type: 'array', items: 'int'}, '03 04 0204 00', [1, 2]],
    [['null', 'string'], '02 0278', 'x'],
    [{type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2}, '04fb2e', '-12.34'],
    [{type: 'bytes', logicalType: 'decimal', precision: 9, scale: 4}, '0205', '0.0005'],
    [{type: 'fixed', name: 'D', size: 3, logicalType: 'decimal', precision: 6}, '000102', '258'],
    [{type: 'long', logicalType: 'timestamp-millis'}, '02', 1n],
  ] as [unknown, string, unknown][])('a value of each type: %o of %s', async (schema, bytes, value) => {
    expect(await read(schema, hex(bytes))).toEqual(value)
  })

  test('reads what avsc writes, whole records of every kind', async () => {
    const type = avsc.Type.forSchema(ORDER as never, {wrapUnions: true})
    const value = {
      id: 2 ** 40,
      items: [
        {sku: 'a', price: null},
        {sku: 'ü'.repeat(100), price: {double: -0.5}},
      ],
    }
    expect(await read(ORDER, type.toBuffer(value))).toEqual({
      id: 1_099_511_627_776n,
      items: [
        {sku: 'a', price: null},
        {sku: 'ü'.repeat(100), price: -0.5},
      ],
    })
  })

  test('a record may hold itself, a reference names a record of another schema', async () => {
    const list = {type: 'record', name: 'L', fields: [{name: 'next', type: ['null', 'L']}]}
    expect(await read(list, hex('02 02 00'))).toEqual({next: {next: {next: null}}})
    const customer = {type: 'record', name: 'Customer', namespace: 'x', fields: [{name: 'id', type: 'int'}]}
    const order = {type: 'record', name: 'O', fields: [{name: 'by', type: 'x.Customer'}]}
    expect(await read(order, hex('0e'), [{name: 'x.Customer', text: JSON.stringify(customer)}])).toEqual({by: {id: 7}})
  })

  test.each([
    ['ends inside a field', '02', 'the bytes end inside the count of an array', 1, 'items'],
    [
      'a length that is not there',
      '02 02 c801 61',
      'the length of a string is 100, but 1 bytes are left',
      2,
      'items[0].sku',
    ],
    ['a negative length', '02 02 01', 'the length of a string is -1', 2, 'items[0].sku'],
    ['a branch that is not there', '02 02 0261 08', 'index 4 into the 2 branches of a union', 4, 'items[0].price'],
    ['no UTF-8', '02 02 04 61ff', 'byte 0xff in a string is not valid UTF-8', 4, 'items[0].sku'],
    [
      'ends inside the second item',
      '02 04 0261 00 0262 02 0000',
      'the bytes end inside a double: 8 needed, 2 left',
      8,
      'items[1].price',
    ],
    [
      'a block larger than what is left',
      '02 01 c801',
      'a block of an array is to take 100 bytes, 0 are left',
      1,
      'items',
    ],
    ['bytes behind the value', '02 00 0000', 'the value ends here, but 2 bytes follow', 2, undefined],
    ['a long of eleven bytes', 'ffffffffffffffffffff01', 'a long takes more than 10 bytes', 0, 'id'],
    ['a long of more than 64 bits', 'ffffffffffffffffff7f', 'a long has more than 64 bits', 0, 'id'],
  ])('says where and in which field: %s', async (_what, bytes, message, at, field) => {
    expect(await problem(ORDER, hex(bytes))).toEqual({
      step: 'decode',
      message,
      at,
      ...(field === undefined ? {} : {field}),
    })
  })

  test.each([
    ['boolean', '02', 'a boolean is 0 or 1, here is 0x02'],
    ['int', 'ffffffff1f', 'an int has 32 bits, here is -4294967296'],
    [{type: 'enum', name: 'E', symbols: ['A']}, '02', 'index 1 into the 1 symbols of an enum'],
  ] as [unknown, string, string][])('%o of %s is refused', async (schema, bytes, message) => {
    expect(await problem(schema, hex(bytes))).toMatchObject({message, at: 0})
  })

  test('values that take no bytes are bounded, nesting too', async () => {
    expect(await problem({type: 'array', items: 'null'}, hex('feffffffffffffffff01 00'))).toMatchObject({
      message: '11 bytes would become too many values',
    })
    const list = {type: 'record', name: 'L', fields: [{name: 'n', type: ['null', 'L']}]}
    expect(await problem(list, Buffer.alloc(10_000, 2))).toMatchObject({message: 'nested deeper than 200'})
  })

  test('names that JavaScript gives a meaning are names', async () => {
    const schema = {
      type: 'record',
      name: 'constructor',
      fields: [
        {name: '__proto__', type: 'string'},
        {name: 'toString', type: 'int'},
      ],
    }
    const value = await read(schema, hex('0278 02'))
    expect(Object.keys(value as object)).toEqual(['__proto__', 'toString'])
  })

  test.each([
    ['no JSON', '{"type":'],
    ['no schema', '{"type":"recrd","name":"X"}'],
    ['an unknown name', '{"type":"record","name":"X","fields":[{"name":"a","type":"Nowhere"}]}'],
    ['nested a hundred thousand times', `${'{"type":"array","items":'.repeat(100_000)}"int"${'}'.repeat(100_000)}`],
  ])('a schema that is of no use says so: %s', async (_what, text) => {
    await expect(compileSchema({type: 'AVRO', text, references: []})).rejects.toMatchObject({
      problem: {step: 'schema', message: expect.stringMatching(/^the schema cannot be used: /) as string},
    })
  })
})
