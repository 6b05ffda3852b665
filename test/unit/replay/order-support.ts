import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import type {MatchedRecord, RecordScan, ScannedBlock} from '../../../src/lib/dead-letter/scan-records.ts'
import {connectSet, deadLetter} from './support.ts'

/** Partition and offset of the origin; null = headers name none. */
export type Drawn = readonly [partition: number, offset: number] | null

/** A scan of one partition of `dlq` in blocks of two records. */
export function scanOf(
  partition: number,
  letters: readonly Drawn[],
  onClose: () => void = () => undefined,
): RecordScan {
  const matches = letters.map((origin, offset): MatchedRecord => {
    const headers = origin === null ? [] : connectSet('orders', ...origin)
    const record = {...deadLetter(offset, {headers}), topic: 'dlq', partition, offset: BigInt(offset)}
    // The merge never looks at positions.
    return {
      topic: 'dlq',
      partition,
      cursor: {offset: record.offset} as MatchedRecord['cursor'],
      deadLetter: () => createDeadLetter(record),
    }
  })
  return {
    scanned: () => [],
    async *[Symbol.asyncIterator]() {
      try {
        for (let at = 0; at < matches.length; at += 2) {
          yield {matches: () => matches.slice(at, at + 2)} as unknown as ScannedBlock
        }
      } finally {
        onClose()
      }
    },
  }
}
