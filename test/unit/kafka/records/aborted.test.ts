import {describe, expect, test} from 'vitest'

import {visibleBatches, type AbortedTransaction} from '../../../../src/lib/kafka/records/aborted.ts'
import {parseBatches} from '../../../../src/lib/kafka/records/batch-view.ts'
import {recordsIn} from '../../../../src/lib/kafka/records/records-in.ts'
import {encodeBatch, markerBatch, outgoing} from '../../../support/batches.ts'

const FIRST = 1000n
const SECOND = 2000n

function data(text: string, baseOffset: bigint, producerId: bigint | null, key: Buffer | null = null): Buffer {
  const records = text.split('').map(letter => outgoing({key, value: Buffer.from(letter)}))
  return producerId === null
    ? encodeBatch(records, {baseOffset})
    : encodeBatch(records, {baseOffset, producerId, producerEpoch: 0, baseSequence: 0, transactional: true})
}

interface Transaction extends AbortedTransaction {
  readonly lastOffset: bigint
}

/** What a broker puts into a fetch answer: batches from the one that holds the offset on, transactions that overlap it. */
function fetchFrom(log: readonly Buffer[], transactions: readonly Transaction[], offset: bigint): string {
  const {batches} = parseBatches(Buffer.concat(log))
  const bytes = Buffer.concat(batches.filter(batch => batch.lastOffset >= offset).map(batch => batch.bytes))
  // In the reverse order on purpose: the list is not sorted by contract.
  const aborted = transactions.filter(entry => entry.lastOffset >= offset).toReversed()
  const visible = visibleBatches(parseBatches(bytes).batches, aborted, 'read_committed')
  let text = ''
  for (const cursor of recordsIn({batches: visible.batches, from: offset, to: null})) {
    text += cursor.bytes.toString('latin1', cursor.valueStart, cursor.valueStart + cursor.valueLength)
  }
  return text
}

describe('two interleaved aborted transactions', () => {
  // 0-1 a committed one; 2 first, 3 second, 4 plain, 5 first, 6 aborts first, 7 second, 8 first again (committed later),
  // 9 aborts second, 10 commits first, 11 second in a new, committed one, 12 its commit.
  const log = [
    data('a', 0n, FIRST),
    markerBatch('commit', FIRST, 1n),
    data('x', 2n, FIRST),
    data('y', 3n, SECOND),
    data('b', 4n, null),
    data('x', 5n, FIRST),
    markerBatch('abort', FIRST, 6n),
    data('y', 7n, SECOND),
    data('c', 8n, FIRST),
    markerBatch('abort', SECOND, 9n),
    markerBatch('commit', FIRST, 10n),
    data('d', 11n, SECOND),
    markerBatch('commit', SECOND, 12n),
  ]
  const transactions: readonly Transaction[] = [
    {producerId: FIRST, firstOffset: 2n, lastOffset: 6n},
    {producerId: SECOND, firstOffset: 3n, lastOffset: 9n},
  ]

  test.each(
    ['abcd', 'bcd', 'bcd', 'bcd', 'bcd', 'cd', 'cd', 'cd', 'cd', 'd', 'd', 'd', ''].map(
      (expected, offset) => [offset, expected] as const,
    ),
  )('read from offset %d show exactly %j', (offset, expected) => {
    expect(fetchFrom(log, transactions, BigInt(offset))).toBe(expected)
  })

  test('are counted, and shown under read_uncommitted', () => {
    const {batches} = parseBatches(Buffer.concat(log))
    const committed = visibleBatches(batches, transactions, 'read_committed')
    expect(committed).toMatchObject({controlRecords: 5, abortedRecords: 4})
    const all = visibleBatches(batches, transactions, 'read_uncommitted')
    expect(all).toMatchObject({controlRecords: 5, abortedRecords: 0})
    expect(all.batches).toHaveLength(8)
  })
})

test('a record with the key int32 0 is no marker: the abort goes on behind it', () => {
  const key = Buffer.alloc(4)
  const log = [
    data('x', 0n, FIRST, key),
    data('x', 1n, FIRST),
    data('b', 2n, null, key),
    data('x', 3n, FIRST, key),
    markerBatch('abort', FIRST, 4n),
    data('c', 5n, FIRST, key),
    markerBatch('commit', FIRST, 6n),
  ]
  const transactions = [{producerId: FIRST, firstOffset: 0n, lastOffset: 4n}]
  for (const [offset, expected] of ['bc', 'bc', 'bc', 'c', 'c', 'c', ''].entries()) {
    expect(fetchFrom(log, transactions, BigInt(offset))).toBe(expected)
  }
})

test('records without a transaction are shown whatever the list says of their producer', () => {
  const plain = encodeBatch([outgoing({value: Buffer.from('a')})], {producerId: FIRST, producerEpoch: 0})
  const {batches} = parseBatches(plain)
  expect(visibleBatches(batches, [{producerId: FIRST, firstOffset: 0n}], 'read_committed').batches).toHaveLength(1)
})

test('a control batch without a marker key is malformed', () => {
  const control = encodeBatch([outgoing({key: Buffer.alloc(2)})], {control: true, transactional: true})
  const {batches} = parseBatches(control)
  expect(() => visibleBatches(batches, [], 'read_committed')).toThrow('without a marker')
})

test('the count of a control batch cannot be inflated by its header', () => {
  const control = Buffer.concat([
    encodeBatch([outgoing({key: Buffer.alloc(4)})], {control: true, patch: bytes => bytes.writeInt32BE(2e9, 57)}),
  ])
  expect(visibleBatches(parseBatches(control).batches, [], 'read_committed').controlRecords).toBe(1)
})
