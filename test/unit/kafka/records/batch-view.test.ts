import {readFileSync} from 'node:fs'
import {zstdDecompressSync} from 'node:zlib'

import {describe, expect, test} from 'vitest'

import {parseArchiveLine} from '../../../../src/lib/kafka/archive/line-codec.ts'
import {DecompressionScratch} from '../../../../src/lib/kafka/compression/decompress.ts'
import type {KafkaRecord} from '../../../../src/lib/kafka/record.ts'
import {visibleBatches} from '../../../../src/lib/kafka/records/aborted.ts'
import {parseBatches, type ParseOptions} from '../../../../src/lib/kafka/records/batch-view.ts'
import {RecordFormatError} from '../../../../src/lib/kafka/records/errors.ts'
import {encodeBatch, outgoing, withChecksum} from '../../../support/batches.ts'

const root = new URL('../../../../', import.meta.url)
const segment = (name: string): Buffer => readFileSync(new URL(`test/fixtures/segments/${name}.log`, root))

function lines(bytes: Buffer, partition: number): KafkaRecord[] {
  return bytes
    .toString('utf8')
    .trimEnd()
    .split('\n')
    .map((line, index) => parseArchiveLine(line, index + 1))
    .filter(record => record.partition === partition)
}

function readAll(bytes: Buffer, topic: string, partition: number, options: ParseOptions = {}): KafkaRecord[] {
  const parsed = parseBatches(bytes, options)
  expect(parsed.error).toBeNull()
  const records: KafkaRecord[] = []
  for (const batch of parsed.batches) {
    const cursor = batch.cursor()
    while (cursor.next()) records.push(cursor.toRecord(topic, partition))
  }
  return records
}

describe('batches of a real broker', () => {
  test.each([
    ['clickstream-dlq', 0, 'none'],
    ['customers.deadletter', 0, 'zstd'],
    ['payments-dlq', 1, 'snappy'],
    ['shipments-dlq', 0, 'gzip'],
  ] as const)('%s-%d (%s) holds what the Java consumer read', (topic, partition, compression) => {
    const bytes = segment(`${topic}-${partition}`)
    const expected = lines(readFileSync(new URL(`examples/${topic}.ndjson`, root)), partition)
    expect(expected.length).toBeGreaterThan(0)
    expect(new Set(parseBatches(bytes).batches.map(batch => batch.compression))).toEqual(new Set([compression]))
    expect(readAll(bytes, topic, partition)).toEqual(expected)
    expect(readAll(bytes, topic, partition, {scratch: new DecompressionScratch()})).toEqual(expected)
  })

  test('dlq.inventory-0 (lz4) holds what the Java consumer read', () => {
    const expected = lines(
      zstdDecompressSync(readFileSync(new URL('test/fixtures/segments/dlq.inventory.ndjson.zst', root))),
      0,
    )
    expect(expected).toHaveLength(36)
    expect(readAll(segment('dlq.inventory-0'), 'dlq.inventory', 0)).toEqual(expected)
  })

  test('a partition with an aborted transaction shows only what was committed', () => {
    const {batches} = parseBatches(segment('payments-1'))
    // What the broker answers for this segment; the same producer commits afterwards.
    const visible = visibleBatches(batches, [{producerId: 0n, firstOffset: 0n}], 'read_committed')
    const records = visible.batches.flatMap(batch => {
      const found: KafkaRecord[] = []
      const cursor = batch.cursor()
      while (cursor.next()) found.push(cursor.toRecord('payments', 1))
      return found
    })
    expect(records).toEqual(lines(readFileSync(new URL('examples/payments.ndjson', root)), 1))
    expect(visible.controlRecords).toBe(2)
    expect(visible.abortedRecords).toBe(1)
  })

  test('a section cut off at any byte gives the whole batches before it, without error', () => {
    const bytes = segment('clickstream-dlq-0')
    const whole = parseBatches(bytes).batches.map(batch => batch.sizeInBytes)
    for (let cut = 0; cut <= bytes.length; cut++) {
      const parsed = parseBatches(bytes.subarray(0, cut))
      let end = 0
      const expected = whole.filter(size => (end += size) <= cut)
      expect(parsed.error).toBeNull()
      expect(parsed.batches.map(batch => batch.sizeInBytes)).toEqual(expected)
      expect(parsed.bytesUsed).toBe(expected.reduce((sum, size) => sum + size, 0))
    }
  })

  test('a changed byte under the checksum is found by verify and by cursor', () => {
    for (const position of [21, 30, 60, 61, 200]) {
      const bytes = Buffer.from(segment('shipments-dlq-0'))
      bytes.writeUInt8(bytes.readUInt8(position) ^ 8, position)
      const parsed = parseBatches(bytes)
      const [batch] = parsed.batches
      expect(() => batch?.verify()).toThrow('checksum')
      expect(() => batch?.cursor()).toThrow(RecordFormatError)
    }
  })
})

describe('parseBatches', () => {
  test.each([0, 1])('refuses message format %d and says what to do', magic => {
    const good = encodeBatch([outgoing()])
    const old = encodeBatch([outgoing()], {baseOffset: 7n})
    old.writeInt8(magic, 16)
    const parsed = parseBatches(Buffer.concat([good, old, good]))
    expect(parsed.batches).toHaveLength(1)
    expect(parsed.bytesUsed).toBe(good.length)
    expect(parsed.error).toMatchObject({code: 'E_MESSAGE_FORMAT', context: {magic, baseOffset: '7'}})
    expect(parsed.error?.message).toContain(`message format ${magic}`)
    expect(parsed.error?.hints.length).toBeGreaterThan(0)
  })

  test.each([
    ['length 0', (batch: Buffer) => batch.writeInt32BE(0, 8)],
    ['a negative length', (batch: Buffer) => batch.writeInt32BE(-5, 8)],
    ['a length shorter than the header', (batch: Buffer) => batch.writeInt32BE(48, 8)],
    ['a negative offset', (batch: Buffer) => batch.writeBigInt64BE(-1n, 0)],
    ['a negative last offset delta', (batch: Buffer) => batch.writeInt32BE(-1, 23)],
    ['an unknown codec', (batch: Buffer) => batch.writeInt16BE(5, 21)],
  ])('ends at %s with an error, not with a loop', (_, patch) => {
    const bad = encodeBatch([outgoing()])
    patch(bad)
    const parsed = parseBatches(Buffer.concat([encodeBatch([outgoing()]), bad]))
    expect(parsed.batches).toHaveLength(1)
    expect(parsed.error).toBeInstanceOf(RecordFormatError)
    expect(parsed.error?.code).toBe('E_RECORD_FORMAT')
  })

  test('the end of a batch is its last offset delta, not its last record', () => {
    const batch = encodeBatch([outgoing(), outgoing()], {
      baseOffset: 100n,
      patch: bytes => bytes.writeInt32BE(9, 23),
    })
    expect(parseBatches(batch).batches[0]?.lastOffset).toBe(109n)
  })

  test('a batch that compaction emptied has an end and no record', () => {
    const batch = encodeBatch([outgoing()], {baseOffset: 5n, patch: bytes => bytes.writeInt32BE(0, 57)}).subarray(0, 61)
    batch.writeInt32BE(49, 8)
    const [view] = parseBatches(withChecksum(batch)).batches
    expect(view?.cursor().next()).toBe(false)
    expect(view?.lastOffset).toBe(5n)
  })
})

describe('cursor on hostile records with a right checksum', () => {
  const record = outgoing({
    key: Buffer.from('key'),
    value: Buffer.from('value'),
    headers: [{name: Buffer.from('h'), value: Buffer.from('x')}],
  })
  // Layout behind the batch header: length, attributes, timestamp delta, offset delta, key length, key (3), value
  // length, value (5), header count, name length, name, value length, value.
  test.each([
    ['a record longer than the section', 61, 0x7e],
    ['a record shorter than its fields', 61, 0x04],
    ['a negative record length', 61, 0x01],
    ['an offset behind the batch', 64, 0x08],
    ['a negative offset delta', 64, 0x01],
    ['a key longer than the record', 65, 0x7e],
    ['a key length of -2', 65, 0x03],
    ['a value longer than the record', 69, 0x7e],
    ['more headers than bytes', 75, 0x7e],
    ['a negative header count', 75, 0x01],
    ['no headers but bytes of one', 75, 0x00],
    ['a null header name', 76, 0x01],
    ['a header name longer than the record', 76, 0x7e],
    ['a header value longer than the record', 78, 0x06],
    ['a header value shorter than the rest', 78, 0x00],
  ])('%s is a RecordFormatError', (_, position, byte) => {
    const [batch] = parseBatches(encodeBatch([record], {patch: bytes => bytes.writeUInt8(byte, position)})).batches
    expect(() => batch?.cursor().next()).toThrow(RecordFormatError)
  })

  test.each([
    ['a count larger than the records', 3],
    ['a count of 2147483647', 2_147_483_647],
  ])('%s ends in an error behind the real ones', (_, count) => {
    const [batch] = parseBatches(encodeBatch([record, record], {patch: bytes => bytes.writeInt32BE(count, 57)})).batches
    const cursor = batch?.cursor()
    expect(cursor?.next()).toBe(true)
    expect(cursor?.next()).toBe(true)
    expect(() => cursor?.next()).toThrow(RecordFormatError)
  })

  test('a count smaller than the records, or below zero, is an error', () => {
    const [few] = parseBatches(encodeBatch([record, record], {patch: bytes => bytes.writeInt32BE(1, 57)})).batches
    const cursor = few?.cursor()
    cursor?.next()
    expect(() => cursor?.next()).toThrow('behind the last record')
    const [negative] = parseBatches(encodeBatch([record], {patch: bytes => bytes.writeInt32BE(-1, 57)})).batches
    expect(() => negative?.cursor()).toThrow(RecordFormatError)
  })

  test('a record larger than the limit is refused', () => {
    const limits = {maxDecompressedBytes: 1_000_000, maxRecordBytes: 1000}
    const [batch] = parseBatches(encodeBatch([outgoing({value: Buffer.alloc(2000)})]), {limits}).batches
    expect(() => batch?.cursor().next()).toThrow('larger than the limit')
  })

  test('a records section that decompresses beyond the limit is refused, whatever the codec', () => {
    const limits = {maxDecompressedBytes: 100_000, maxRecordBytes: 1_000_000}
    for (const compression of ['gzip', 'snappy', 'lz4', 'zstd'] as const) {
      const bytes = encodeBatch([outgoing({value: Buffer.alloc(200_000)})], {compression})
      expect(() => parseBatches(bytes, {limits}).batches[0]?.cursor()).toThrow('larger than 100000 bytes')
    }
  })
})

describe('cursor', () => {
  test('[BR-21] [BR-25] keeps repeated headers in order, null and empty apart', () => {
    const names = ['a', 'b', 'a', '', 'a']
    const values = [Buffer.from('1'), null, Buffer.alloc(0), Buffer.from('x'), null]
    const headers = names.map((name, index) => ({name: Buffer.from(name), value: values[index] ?? null}))
    const [batch] = parseBatches(encodeBatch([outgoing({headers})])).batches
    const cursor = batch?.cursor()
    expect(cursor?.next()).toBe(true)
    expect(cursor?.toRecord('t', 0).headers).toEqual(headers)
    expect(cursor?.findHeader(Buffer.from('a'), 'first')).toBe(true)
    expect(cursor?.headerValueLength).toBe(1)
    expect(cursor?.findHeader(Buffer.from('a'), 'last')).toBe(true)
    expect(cursor?.headerValueLength).toBe(-1)
    expect(cursor?.nextHeader()).toBe(false)
    expect(cursor?.findHeader(Buffer.from('b'), 'last')).toBe(true)
    expect(cursor?.nextHeader()).toBe(true)
    expect(cursor?.headerValueLength).toBe(0)
    expect(cursor?.findHeader(Buffer.from('c'), 'last')).toBe(false)
    expect(cursor?.findHeader(Buffer.alloc(0), 'first')).toBe(true)
  })

  test('a record outlives its batch', () => {
    const bytes = encodeBatch([outgoing({key: Buffer.from('k'), value: Buffer.from('v')})])
    const cursor = parseBatches(bytes).batches[0]?.cursor()
    cursor?.next()
    const record = cursor?.toRecord('t', 3)
    bytes.fill(0)
    expect(record).toMatchObject({topic: 't', partition: 3, key: Buffer.from('k'), value: Buffer.from('v')})
  })

  test('with log append time every record has the time of the batch', () => {
    const bytes = encodeBatch([outgoing({timestamp: 1n}), outgoing({timestamp: null})], {logAppendTime: 77n})
    const cursor = parseBatches(bytes).batches[0]?.cursor()
    cursor?.next()
    expect(cursor?.timestamp).toBe(77n)
    cursor?.next()
    expect(cursor?.toRecord('t', 0)).toMatchObject({timestamp: 77n, timestampType: 'LogAppendTime'})
  })

  test('offsets beyond 2^53 and timestamps at both ends of int64 are exact', () => {
    const times = [5n, -9_223_372_036_854_775_808n, 9_223_372_036_854_775_807n, null]
    const bytes = encodeBatch(
      times.map(timestamp => outgoing({timestamp})),
      {baseOffset: 9_007_199_254_740_993n},
    )
    expect(readAll(bytes, 't', 0).map(record => [record.offset, record.timestamp])).toEqual([
      [9_007_199_254_740_993n, 5n],
      [9_007_199_254_740_994n, -9_223_372_036_854_775_808n],
      [9_007_199_254_740_995n, 9_223_372_036_854_775_807n],
      [9_007_199_254_740_996n, null],
    ])
  })

  test('two batches that share a scratch buffer cannot be read at the same time unnoticed', () => {
    const scratch = new DecompressionScratch()
    const bytes = encodeBatch([outgoing(), outgoing()], {compression: 'lz4'})
    const [first, second] = parseBatches(Buffer.concat([bytes, bytes]), {scratch}).batches
    const cursor = first?.cursor()
    expect(cursor?.next()).toBe(true)
    second?.cursor()
    expect(() => cursor?.next()).toThrow('given to another batch')
  })
})
