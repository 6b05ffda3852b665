import type {IsolationLevel} from '../ports.ts'
import type {Offset} from '../record.ts'
import type {RecordBatch} from './batch-view.ts'
import {RecordFormatError} from './errors.ts'

/** One entry of a fetch answer's list: this producer's transaction from this offset on was aborted. */
export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: Offset
}

export interface VisibleBatches {
  readonly batches: readonly RecordBatch[]
  readonly controlRecords: number
  readonly abortedRecords: number
}

const ABORT_MARKER = 0

/**
 * What a consumer may see of one fetch answer: no control batches, and under read_committed no aborted records.
 *
 * The answer's list covers every transaction that overlaps the fetched range, also those begun before it, so nothing has
 * to be remembered from answer to answer.
 * @param aborted in any order, as the broker sent it; ignored under read_uncommitted
 * @throws RecordFormatError if a control batch holds no marker
 * @see Kafka's CompletedFetch (KIP-98)
 */
export function visibleBatches(
  batches: readonly RecordBatch[],
  aborted: readonly AbortedTransaction[],
  isolationLevel: IsolationLevel,
): VisibleBatches {
  const pending = [...aborted].sort((a, b) =>
    a.firstOffset < b.firstOffset ? -1 : a.firstOffset > b.firstOffset ? 1 : 0,
  )
  const abortedProducers = new Set<bigint>()
  const visible: RecordBatch[] = []
  let nextPending = 0
  let controlRecords = 0
  let abortedRecords = 0
  for (const batch of batches) {
    if (isolationLevel === 'read_committed') {
      const {lastOffset} = batch
      for (; nextPending < pending.length; nextPending++) {
        const entry = pending[nextPending]
        if (entry === undefined || entry.firstOffset > lastOffset) break
        abortedProducers.add(entry.producerId)
      }
    }
    if (batch.isControl) {
      controlRecords += recordCount(batch)
      if (isAbortMarker(batch)) abortedProducers.delete(batch.producerId)
    } else if (batch.isTransactional && abortedProducers.has(batch.producerId)) {
      abortedRecords += recordCount(batch)
    } else {
      visible.push(batch)
    }
  }
  return {batches: visible, controlRecords, abortedRecords}
}

/** True for the marker that ends an aborted transaction; compaction may have emptied a control batch. */
function isAbortMarker(batch: RecordBatch): boolean {
  if (!batch.isTransactional) return false
  const cursor = batch.cursor()
  if (!cursor.next()) return false
  // Key: version int16, type int16.
  if (cursor.keyLength < 4) {
    throw new RecordFormatError('malformed record batch: a control record without a marker', {
      context: {baseOffset: String(batch.baseOffset)},
    })
  }
  return cursor.bytes.readInt16BE(cursor.keyStart + 2) === ABORT_MARKER
}

/** The header's count, within what the batch's offsets leave room for. */
function recordCount(batch: RecordBatch): number {
  const room = Number(batch.lastOffset - batch.baseOffset) + 1
  return Math.max(0, Math.min(batch.recordCount, room))
}
