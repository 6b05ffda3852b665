import {describe, expect, test} from 'vitest'

import {RecordBatchBuilder} from '../../../../src/lib/kafka/records/batch-builder.ts'
import {parseBatches} from '../../../../src/lib/kafka/records/batch-view.ts'
import type {KafkaRecord} from '../../../../src/lib/kafka/record.ts'
import type {OutgoingRecord, RecordBatchView} from '../../../../src/lib/kafka/records/types.ts'
import {outgoing} from '../../../support/batches.ts'

const PLAIN = {
  compression: 'none',
  producerId: -1n,
  producerEpoch: -1,
  baseSequence: -1,
  transactional: false,
} as const

const header = (name: string, value: string | null): {name: Buffer; value: Buffer | null} => ({
  name: Buffer.from(name),
  value: value === null ? null : Buffer.from(value),
})

const HOSTILE: readonly OutgoingRecord[] = [
  outgoing({key: null, value: null}),
  outgoing({key: Buffer.alloc(0), value: Buffer.alloc(0)}),
  outgoing({key: Buffer.from('k'), value: null, timestamp: null}),
  outgoing({
    key: Buffer.from([0xff, 0xfe]),
    value: Buffer.from([0, 0xc0, 0x80]),
    headers: [
      header('a', '1'),
      header('b', null),
      header('a', ''),
      header('', 'x'),
      {name: Buffer.from([0xff]), value: Buffer.from([0xff])},
    ],
  }),
  outgoing({value: Buffer.alloc(1_048_576, 'x'), timestamp: 1_800_000_000_000n}),
]

function recordsOf(batch: RecordBatchView | undefined): KafkaRecord[] {
  const records: KafkaRecord[] = []
  const cursor = batch?.cursor()
  while (cursor?.next() === true) records.push(cursor.toRecord('orders', 0))
  return records
}

const content = ({timestamp, key, value, headers}: OutgoingRecord): OutgoingRecord => ({timestamp, key, value, headers})

function built(records: readonly OutgoingRecord[]): RecordBatchBuilder {
  const builder = new RecordBatchBuilder()
  for (const record of records) builder.append(record)
  return builder
}

describe('RecordBatchBuilder', () => {
  test.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)(
    'keeps null, empty, binary, repeated and 1 MiB through %s',
    compression => {
      const bytes = built(HOSTILE).encode({...PLAIN, compression})
      const parsed = parseBatches(bytes)
      expect(parsed.error).toBeNull()
      expect(parsed.batches[0]?.compression).toBe(compression)
      expect(recordsOf(parsed.batches[0]).map(content)).toEqual(HOSTILE)
    },
  )

  test('writes the header of message format 2', () => {
    const bytes = built(HOSTILE).encode({
      compression: 'gzip',
      producerId: 4711n,
      producerEpoch: 3,
      baseSequence: 99,
      transactional: true,
    })
    const [batch] = parseBatches(bytes).batches
    expect(bytes.readInt32BE(8)).toBe(bytes.length - 12)
    expect(batch).toMatchObject({
      baseOffset: 0n,
      lastOffset: 4n,
      partitionLeaderEpoch: -1,
      timestampType: 'CreateTime',
      baseTimestamp: 1_700_000_000_000n,
      maxTimestamp: 1_800_000_000_000n,
      isTransactional: true,
      isControl: false,
      producerId: 4711n,
      producerEpoch: 3,
      baseSequence: 99,
      recordCount: 5,
    })
  })

  test('tells the size before and after appending, to the byte', () => {
    const builder = new RecordBatchBuilder()
    expect(builder.sizeInBytes).toBe(61)
    for (const record of HOSTILE) {
      const expected = builder.sizeInBytes + builder.sizeOf(record)
      builder.append(record)
      expect(builder.sizeInBytes).toBe(expected)
    }
    expect(builder.encode(PLAIN)).toHaveLength(builder.sizeInBytes)
  })

  test('an encoded batch is not changed by what the builder does next', () => {
    const builder = built([outgoing({value: Buffer.from('first')})])
    const bytes = builder.encode(PLAIN)
    const before = Buffer.from(bytes)
    builder.reset()
    expect([builder.count, builder.sizeInBytes, builder.maxTimestamp]).toEqual([0, 61, -1n])
    builder.append(outgoing({value: Buffer.from('other')}))
    expect(bytes.equals(before)).toBe(true)
    expect(recordsOf(parseBatches(builder.encode(PLAIN)).batches[0])).toHaveLength(1)
  })

  test('all records without a time make a batch without one', () => {
    const [batch] = parseBatches(
      built([outgoing({timestamp: null}), outgoing({timestamp: null})]).encode(PLAIN),
    ).batches
    expect([batch?.baseTimestamp, batch?.maxTimestamp]).toEqual([-1n, -1n])
    expect(recordsOf(batch).map(record => record.timestamp)).toEqual([null, null])
  })

  test('refuses to write an empty batch and offsets that do not ascend', () => {
    const builder = new RecordBatchBuilder()
    expect(() => builder.encode(PLAIN)).toThrow('empty record batch')
    builder.append(outgoing(), 5)
    expect(() => builder.append(outgoing(), 5)).toThrow('have to ascend')
  })

  test('a view shows gaps between offsets', () => {
    const builder = new RecordBatchBuilder()
    builder.append(outgoing(), 0)
    builder.append(outgoing(), 7)
    const view = builder.view({baseOffset: 9_007_199_254_740_993n, timestampType: 'LogAppendTime'})
    expect(view.lastOffset).toBe(9_007_199_254_741_000n)
    expect(recordsOf(view).map(record => [record.offset, record.timestampType])).toEqual([
      [9_007_199_254_740_993n, 'LogAppendTime'],
      [9_007_199_254_741_000n, 'LogAppendTime'],
    ])
  })

  test('a slice holds its records only, numbered from 0', () => {
    const part = built(HOSTILE).slice(1, 4)
    expect(part.count).toBe(3)
    const [batch] = parseBatches(part.encode(PLAIN)).batches
    expect(recordsOf(batch).map(content)).toEqual(HOSTILE.slice(1, 4))
    expect(recordsOf(batch).map(record => record.offset)).toEqual([0n, 1n, 2n])
    expect(built(HOSTILE).slice(4, 9).count).toBe(1)
  })
})

describe('appendSpliced', () => {
  test('[BR-65] without changes every record is byte-equal, alone and among a hundred', () => {
    const source = built(Array.from({length: 20}, () => HOSTILE).flat())
    const target = new RecordBatchBuilder()
    const cursor = source.view({baseOffset: 0n, timestampType: 'CreateTime'}).cursor()
    while (cursor.next()) {
      const {timestamp} = cursor
      target.appendSpliced(cursor, {timestamp, dropHeader: null, addHeaders: []})
      const alone = new RecordBatchBuilder()
      alone.appendSpliced(cursor, {timestamp, dropHeader: null, addHeaders: []})
      const [record] = recordsOf(alone.view({baseOffset: cursor.offset, timestampType: 'CreateTime'}))
      expect(record).toEqual(cursor.toRecord('orders', 0))
    }
    expect(target.encode(PLAIN).equals(source.encode(PLAIN))).toBe(true)
  })

  test('drops, keeps in order and adds headers, whole bytes at a time', () => {
    const record = outgoing({
      key: Buffer.from('k'),
      value: Buffer.from('v'),
      headers: [header('keep', '1'), header('drop', 'x'), header('keep', null), header('', ''), header('drop', null)],
    })
    const cursor = built([record]).view({baseOffset: 0n, timestampType: 'CreateTime'}).cursor()
    cursor.next()
    const asked: string[] = []
    const splice = {
      timestamp: 42n,
      dropHeader: (at: typeof cursor) => {
        const name = at.bytes.toString('utf8', at.headerNameStart, at.headerNameStart + at.headerNameLength)
        asked.push(name)
        return name === 'drop'
      },
      addHeaders: [header('kdlq.replay', '{}'), header('kdlq.replay', null)],
    }
    const target = new RecordBatchBuilder()
    const expected = target.sizeInBytes + target.sizeOfSpliced(cursor, splice)
    asked.length = 0
    target.appendSpliced(cursor, splice)
    expect(asked).toEqual(['keep', 'drop', 'keep', '', 'drop'])
    expect(target.sizeInBytes).toBe(expected)
    expect(recordsOf(parseBatches(target.encode(PLAIN)).batches[0]).map(content)).toEqual([
      {
        timestamp: 42n,
        key: Buffer.from('k'),
        value: Buffer.from('v'),
        headers: [
          header('keep', '1'),
          header('keep', null),
          header('', ''),
          header('kdlq.replay', '{}'),
          header('kdlq.replay', null),
        ],
      },
    ])
  })

  test('header counts that change the length of their own number are right', () => {
    const headers = Array.from({length: 70}, (_, index) => header(`h${index}`, 'x'))
    const cursor = built([outgoing({headers})])
      .view({baseOffset: 0n, timestampType: 'CreateTime'})
      .cursor()
    cursor.next()
    for (const keep of [0, 1, 63, 64, 70]) {
      const target = new RecordBatchBuilder()
      let seen = 0
      target.appendSpliced(cursor, {timestamp: null, dropHeader: () => seen++ >= keep, addHeaders: []})
      expect(recordsOf(parseBatches(target.encode(PLAIN)).batches[0])[0]?.headers).toEqual(headers.slice(0, keep))
    }
  })
})
