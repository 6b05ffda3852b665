import {expect, test} from 'vitest'

import {parseBatches} from '../../../../src/lib/kafka/records/batch-view.ts'
import {RecordFormatError} from '../../../../src/lib/kafka/records/errors.ts'
import {recordsIn} from '../../../../src/lib/kafka/records/records-in.ts'
import {encodeBatch, outgoing} from '../../../support/batches.ts'

const five = (baseOffset: bigint): Buffer =>
  encodeBatch(
    Array.from({length: 5}, () => outgoing()),
    {baseOffset},
  )

test('only records of the range are walked, in every batch that it touches', () => {
  const {batches} = parseBatches(Buffer.concat([five(0n), five(5n), five(10n)]))
  const offsets = (from: bigint, to: bigint | null): bigint[] =>
    Array.from(recordsIn({batches, from, to}), cursor => cursor.offset)
  expect(offsets(3n, 11n)).toEqual([3n, 4n, 5n, 6n, 7n, 8n, 9n, 10n])
  expect(offsets(13n, null)).toEqual([13n, 14n])
  expect(offsets(5n, 5n)).toEqual([])
})

test('a batch that cannot be read throws, or is told and passed over', () => {
  const broken = five(5n)
  broken.writeUInt32BE(0, 17)
  const {batches} = parseBatches(Buffer.concat([five(0n), broken, five(10n)]))
  expect(() => [...recordsIn({batches, from: 0n, to: null})]).toThrow(RecordFormatError)
  const told: string[] = []
  const walked = Array.from(
    recordsIn({batches, from: 0n, to: null}, (batch, error) => told.push(`${batch.baseOffset} ${error.code}`)),
    cursor => cursor.offset,
  )
  expect(walked).toEqual([0n, 1n, 2n, 3n, 4n, 10n, 11n, 12n, 13n, 14n])
  expect(told).toEqual(['5 E_RECORD_FORMAT'])
})
