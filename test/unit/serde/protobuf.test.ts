import protobuf from 'protobufjs'
import {describe, expect, test} from 'vitest'
import {compileSchema} from '../../../src/lib/serde/compile.ts'
import {readMessageIndexes} from '../../../src/lib/serde/protobuf/indexes.ts'
import type {DecodedPayload} from '../../../src/lib/serde/compiled.ts'
import {hex} from './support.ts'

const PROTO = `syntax = "proto3"; package acme.orders;
import "google/protobuf/timestamp.proto";
message First { int32 a = 1; }
message Order {
  message Item { string sku = 1; sint64 delta = 2; }
  enum State { NEW = 0; PAID = 1; }
  int64 id = 1;
  repeated Item items = 2;
  repeated int32 counts = 3;
  map<string, Item> by_sku = 4;
  State state = 5;
  google.protobuf.Timestamp at = 6;
  oneof payment { string card = 7; bytes token = 8; }
  optional uint32 discount = 9;
  double rate = 10;
}`

async function read(
  bytes: Buffer,
  options: {text?: string; references?: {name: string; text: string}[]; message?: string; indexes?: Buffer} = {},
): Promise<DecodedPayload> {
  const source = {type: 'PROTOBUF' as const, text: options.text ?? PROTO, references: options.references ?? []}
  const compiled = await compileSchema(source, options.message ?? null)
  return compiled.decode({bytes, start: 0, indexes: options.indexes ?? null})
}
const problem = async (bytes: Buffer, message = 'acme.orders.Order'): Promise<unknown> =>
  read(bytes, {message}).then(
    value => ({value}),
    (error: unknown) => (error as {problem?: unknown}).problem ?? error,
  )

describe('message indexes', () => {
  test.each([
    ['00', [0], 1],
    ['02 00', [0], 2],
    ['02 02', [1], 2],
    ['04 02 00', [1, 0], 3],
    ['04 8001 02', [64, 1], 4],
  ])('%s are %j', (bytes, indexes, end) => {
    expect(readMessageIndexes(hex(bytes), 0)).toEqual({indexes, end})
  })

  test.each([
    ['', 'the bytes end'],
    ['04 02', 'the bytes end'],
    ['01', '-1 message indexes'],
    ['c801', '100 message indexes'],
    ['02 01', 'is negative'],
    ['02 ffffffffff', 'more than 32 bits'],
  ])('%s are refused', (bytes, message) => {
    expect(() => readMessageIndexes(hex(bytes), 0)).toThrow(message)
  })

  test('choose the message in the order of the text, nested ones and not enums counted', async () => {
    expect(await read(hex('00 08 9601'))).toEqual({value: {a: 150}, name: 'acme.orders.First'})
    expect(await read(hex('02 00 08 9601'))).toMatchObject({name: 'acme.orders.First'})
    expect(await read(hex('04 02 00 0a 01 78'))).toEqual({value: {sku: 'x', delta: 0n}, name: 'acme.orders.Order.Item'})
    await expect(read(hex('04 02 02'))).rejects.toMatchObject({
      problem: {step: 'framing', message: 'message indexes [1, 1] name no message of the schema'},
    })
  })

  test('stand in the header when the id does', async () => {
    expect(await read(hex('08 01'), {indexes: hex('00')})).toMatchObject({name: 'acme.orders.First', value: {a: 1}})
  })
})

describe('Protobuf', () => {
  test('reads what protobufjs writes: 64 bits exact, maps, enums, oneofs, imports', async () => {
    const root = protobuf.parse(PROTO, {keepCase: true}).root
    root.addJSON(protobuf.common.get('google/protobuf/timestamp.proto')?.nested ?? {})
    const type = root.lookupType('acme.orders.Order')
    const bytes = type
      .encode(
        type.fromObject({
          id: '9007199254740993',
          items: [{sku: 'a', delta: -5}, {}],
          counts: [1, -2],
          by_sku: {k: {sku: 'v'}},
          state: 1,
          at: {seconds: 5},
          token: Buffer.from([255]),
          rate: -0.5,
        }),
      )
      .finish()
    expect((await read(Buffer.from(bytes), {message: 'Order'})).value).toEqual({
      id: 9_007_199_254_740_993n,
      items: [
        {sku: 'a', delta: -5n},
        {sku: '', delta: 0n},
      ],
      counts: [1, -2],
      by_sku: {k: {sku: 'v', delta: 0n}},
      state: 'PAID',
      at: {seconds: 5n, nanos: 0},
      token: Buffer.from([255]),
      rate: -0.5,
    })
  })

  test('an empty message has the default of every field that has one', async () => {
    expect((await read(Buffer.alloc(0), {message: 'Order'})).value).toEqual({
      id: 0n,
      items: [],
      counts: [],
      by_sku: {},
      state: 'NEW',
      rate: 0,
    })
  })

  test('fields nobody knows, and known ones of another wire type, are left out as in Java', async () => {
    expect((await read(hex('08 01 f807 05 fa07 02 6162 0d 01000000 12 01 78'), {message: 'First'})).value).toEqual({
      a: 1,
    })
  })

  test('an enum number without a name stays a number; repeated numbers come packed or not', async () => {
    expect((await read(hex('28 07 18 01 1a 02 02 03'), {message: 'Order'})).value).toMatchObject({
      state: 7,
      counts: [1, 2, 3],
    })
  })

  test.each([
    ['a length over the end', '12 7f', 'the length of a message is 127, but 0 bytes are left', 1, 'items[0]'],
    ['no UTF-8', '12 04 0a 02 61 ff', 'byte 0xff in a string is not valid UTF-8', 5, 'items[0].sku'],
    ['ends inside a number', '08 ff', 'the bytes end inside an int64', 1, 'id'],
    ['eleven bytes of a number', '08 ffffffffffffffffffff01', 'an int64 takes more than 10 bytes', 1, 'id'],
    ['field number 0', '00', 'there is no field number 0', 0, undefined],
    ['wire type 7', '0f', 'there is no wire type 7 (field number 1)', 1, 'id'],
    ['the end of no group', '0c', 'a group ends that did not begin', 0, undefined],
  ])('says where and in which field: %s', async (_what, bytes, message, at, field) => {
    expect(await problem(hex(bytes))).toEqual({step: 'decode', message, at, ...(field === undefined ? {} : {field})})
  })

  test('names that JavaScript gives a meaning are names', async () => {
    const text = 'syntax = "proto3"; message A { string constructor = 1; map<string, string> m = 2; }'
    const {value} = await read(hex('00 0a 01 78 12 0e 0a 09 5f5f70726f746f5f5f 12 01 79'), {text})
    expect(value).toEqual({constructor: 'x', m: Object.fromEntries([['__proto__', 'y']])})
  })

  test('a message that holds itself is bounded', async () => {
    let bytes = Buffer.alloc(0)
    for (let depth = 0; depth < 300; depth++) {
      const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7]
      bytes = Buffer.concat([Buffer.from([0x0a, ...length]), bytes])
    }
    const text = 'syntax = "proto3"; message Tree { Tree left = 1; }'
    await expect(read(bytes, {text, message: 'Tree'})).rejects.toMatchObject({
      problem: {message: 'nested deeper than 200'},
    })
  })

  test('references are imports; the indexes count the messages of the schema itself only', async () => {
    const references = [
      {name: 'common.proto', text: 'syntax = "proto3"; package acme; message Money { int64 cents = 1; }'},
    ]
    const text = 'syntax = "proto3"; package acme; import "common.proto"; message Price { Money money = 1; }'
    expect(await read(hex('00 0a 02 08 05'), {text, references})).toEqual({
      name: 'acme.Price',
      value: {money: {cents: 5n}},
    })
  })

  test.each([
    ['no schema', 'this is not a schema'],
    ['an unknown type', 'syntax = "proto3"; message A { Nowhere b = 1; }'],
    ['nested a hundred thousand times', 'message A {'.repeat(100_000)],
    ['a loop of imports of nothing', 'syntax = "proto3"; import "nowhere.proto"; message A { nowhere.B b = 1; }'],
  ])('a schema that is of no use says so: %s', async (_what, text) => {
    const outcome = read(hex('00 0a 00'), {text})
    await expect(outcome).rejects.toMatchObject({problem: {step: 'schema'}})
  })
})
