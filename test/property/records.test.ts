import fc from 'fast-check'
import {describe, expect, test} from 'vitest'

import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {parseBatches} from '../../src/lib/kafka/records/batch-view.ts'
import {RecordFormatError} from '../../src/lib/kafka/records/errors.ts'
import type {OutgoingRecord, RecordBatchView} from '../../src/lib/kafka/records/types.ts'
import {VarintReader, varintSize, varlongSize, writeVarint, writeVarlong} from '../../src/lib/kafka/records/varint.ts'
import {withChecksum} from '../support/batches.ts'
import {runs} from '../support/runs.ts'

const PLAIN = {producerId: -1n, producerEpoch: -1, baseSequence: -1, transactional: false} as const
const bytes = fc.uint8Array({maxLength: 300}).map(array => Buffer.from(array))
const nullable = fc.option(bytes, {nil: null})
const int64 = fc.bigInt({min: -(2n ** 63n), max: 2n ** 63n - 1n})
const timestamp = fc.option(
  fc.oneof(fc.bigInt({min: 0n, max: 4_000_000_000_000n}), int64).filter(time => time !== -1n),
  {nil: null},
)
const record: fc.Arbitrary<OutgoingRecord> = fc.record({
  timestamp,
  key: nullable,
  value: nullable,
  headers: fc.array(fc.record({name: bytes, value: nullable}), {maxLength: 8}),
})
const records = fc.array(record, {minLength: 1, maxLength: 12})
const compression = fc.constantFrom('none', 'gzip', 'snappy', 'lz4', 'zstd' as const)

function contentOf(batch: RecordBatchView): OutgoingRecord[] {
  const found: OutgoingRecord[] = []
  const cursor = batch.cursor()
  while (cursor.next()) {
    const {timestamp, key, value, headers} = cursor.toRecord('t', 0)
    found.push({timestamp, key, value, headers})
  }
  return found
}

function built(list: readonly OutgoingRecord[]): RecordBatchBuilder {
  const builder = new RecordBatchBuilder()
  for (const item of list) builder.append(item)
  return builder
}

describe('varints', () => {
  test('every int32 and int64 comes back, in as many bytes as announced', () => {
    fc.assert(
      fc.property(fc.integer(), int64, (small, large) => {
        const buffer = Buffer.alloc(32)
        const middle = writeVarint(buffer, 0, small)
        const end = writeVarlong(buffer, middle, large)
        expect([middle, end - middle]).toEqual([varintSize(small), varlongSize(large)])
        const reader = new VarintReader(buffer, 0, end)
        expect(reader.readVarint()).toBe(small)
        expect(BigInt(reader.readVarlong())).toBe(large)
        expect(reader.position).toBe(end)
      }),
      {numRuns: runs(2000)},
    )
  })

  test('any bytes give a number or a RecordFormatError, and never a step behind the end', () => {
    fc.assert(
      fc.property(fc.uint8Array({maxLength: 12}), fc.boolean(), (input, wide) => {
        const reader = new VarintReader(input)
        let outcome: bigint | 'refused'
        try {
          outcome = BigInt(wide ? reader.readVarlong() : reader.readVarint())
        } catch (error) {
          if (!(error instanceof RecordFormatError)) throw error
          outcome = 'refused'
        }
        expect(['refused', reparse(input)]).toContain(outcome)
        expect(reader.position).toBeLessThanOrEqual(input.length)
      }),
      {numRuns: runs(2000)},
    )
  })
})

/** The same number by the plain definition. */
function reparse(input: Uint8Array): bigint {
  let raw = 0n
  for (const [index, byte] of input.entries()) {
    raw |= BigInt(byte & 0x7f) << BigInt(7 * index)
    if (byte < 0x80) break
  }
  return (raw >> 1n) ^ -(raw & 1n)
}

describe('batches', () => {
  test('what is built is read again, whatever the codec', () => {
    fc.assert(
      fc.property(records, compression, (list, codec) => {
        const [batch] = parseBatches(built(list).encode({...PLAIN, compression: codec})).batches
        expect(batch === undefined ? null : contentOf(batch)).toEqual(list)
      }),
    )
  })

  test('a splice without changes is byte-equal', () => {
    fc.assert(
      fc.property(records, list => {
        const source = built(list)
        const target = new RecordBatchBuilder()
        const cursor = source.view({baseOffset: 0n, timestampType: 'CreateTime'}).cursor()
        while (cursor.next()) {
          target.appendSpliced(cursor, {timestamp: cursor.timestamp, dropHeader: null, addHeaders: []})
        }
        const options = {...PLAIN, compression: 'none'} as const
        expect(target.encode(options).equals(source.encode(options))).toBe(true)
      }),
    )
  })

  test('a splice keeps exactly the headers that it was not told to drop', () => {
    fc.assert(
      fc.property(record, fc.array(fc.boolean(), {minLength: 8, maxLength: 8}), record, (source, drop, added) => {
        const cursor = built([source]).view({baseOffset: 0n, timestampType: 'CreateTime'}).cursor()
        cursor.next()
        let index = 0
        const target = new RecordBatchBuilder()
        target.appendSpliced(cursor, {
          timestamp: source.timestamp,
          dropHeader: () => drop[index++] ?? false,
          addHeaders: added.headers,
        })
        const kept = source.headers.filter((_, at) => drop[at] !== true)
        expect(contentOf(target.view({baseOffset: 0n, timestampType: 'CreateTime'}))).toEqual([
          {...source, headers: [...kept, ...added.headers]},
        ])
      }),
    )
  })

  test('slices put together are the whole', () => {
    fc.assert(
      fc.property(records, fc.nat({max: 12}), (list, at) => {
        const builder = built(list)
        const parts = [builder.slice(0, at), builder.slice(at, list.length)]
        const content = parts.flatMap(part => contentOf(part.view({baseOffset: 0n, timestampType: 'CreateTime'})))
        expect(content).toEqual(list)
      }),
    )
  })

  test('changed bytes under a right checksum give records or a RecordFormatError, in bounded time', () => {
    const change = fc.record({at: fc.nat(), byte: fc.integer({min: 0, max: 255})})
    fc.assert(
      fc.property(records, compression, fc.array(change, {minLength: 1, maxLength: 5}), (list, codec, changes) => {
        const input = built(list).encode({...PLAIN, compression: codec})
        // Behind the length and the magic: those are the framing, tried below.
        for (const {at, byte} of changes) input.writeUInt8(byte, 21 + (at % (input.length - 21)))
        expect(readEverything(withChecksum(input))).toBeLessThanOrEqual(input.length * 1000)
      }),
      {numRuns: runs(600)},
    )
  })

  test('any bytes at all are divided into batches or refused, without a throw', () => {
    const anything = fc.oneof(
      fc.uint8Array({maxLength: 400}).map(array => Buffer.from(array)),
      fc.tuple(records, fc.nat(), fc.integer({min: 0, max: 255})).map(([list, at, byte]) => {
        const input = built(list).encode({...PLAIN, compression: 'none'})
        input.writeUInt8(byte, at % 61)
        return input
      }),
    )
    fc.assert(
      fc.property(anything, input => {
        const parsed = parseBatches(input)
        expect(parsed.bytesUsed).toBeLessThanOrEqual(input.length)
        expect(parsed.error === null || parsed.error instanceof RecordFormatError).toBe(true)
      }),
      {numRuns: runs(600)},
    )
  })
})

/** @returns records read; every error but RecordFormatError goes through */
function readEverything(input: Buffer): number {
  let count = 0
  const limits = {maxDecompressedBytes: 1_000_000, maxRecordBytes: 1_000_000}
  for (const batch of parseBatches(input, {limits}).batches) {
    try {
      const cursor = batch.cursor()
      while (cursor.next()) {
        count++
        cursor.toRecord('t', 0)
        cursor.findHeader(Buffer.from('h'), 'last')
      }
    } catch (error) {
      if (!(error instanceof RecordFormatError)) throw error
    }
  }
  return count
}
