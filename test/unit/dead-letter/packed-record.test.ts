import {expect, test} from 'vitest'
import {packRecord, unpackRecord} from '../../../src/lib/dead-letter/packed-record.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'

const record = (over: Partial<KafkaRecord>): KafkaRecord => ({
  topic: 't',
  partition: 2,
  offset: 2n ** 53n + 1n,
  timestamp: null,
  timestampType: 'NoTimestampType',
  key: null,
  value: null,
  headers: [],
  ...over,
})

test.each([
  ['a tombstone without anything', record({})],
  [
    'empty key and value',
    record({key: Buffer.alloc(0), value: Buffer.alloc(0), timestamp: 5n, timestampType: 'CreateTime'}),
  ],
  [
    'repeated, empty, null and broken headers',
    record({
      key: Buffer.of(0xff),
      value: Buffer.from('v'),
      headers: [
        {name: Buffer.from('a'), value: Buffer.of(0xff, 0)},
        {name: Buffer.from('a'), value: null},
        {name: Buffer.alloc(0), value: Buffer.alloc(0)},
        {name: Buffer.of(0xc3), value: null},
      ],
    }),
  ],
  ['1 MiB', record({value: Buffer.alloc(1 << 20, 7)})],
])('a packed record comes back as it was: %s', (_, one) => {
  expect(unpackRecord(packRecord(one))).toEqual(one)
})

test('a packed record holds nothing of the memory that it was read from', () => {
  const value = Buffer.from('abc')
  const packed = packRecord(record({value}))
  value.fill(0)
  expect(unpackRecord(packed).value?.toString()).toBe('abc')
})
