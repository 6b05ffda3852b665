import type {RecordBlock} from '../ports.ts'
import {RecordFormatError} from './errors.ts'
import type {RecordBatchView, RecordCursor} from './types.ts'

/** Told about a batch that could not be read (further), so that a scan can go on and count it. */
export type OnUndecodable = (batch: RecordBatchView, error: RecordFormatError) => void

/**
 * Walk the records of a block that were asked for (`from` <= offset < `to`), oldest first. One cursor a batch, no object
 * a record: what is yielded is valid until the next step.
 * @param onUndecodable without it a malformed batch throws
 * @throws RecordFormatError
 */
export function* recordsIn(
  block: Pick<RecordBlock, 'batches' | 'from' | 'to'>,
  onUndecodable: OnUndecodable | null = null,
): Generator<RecordCursor, void, undefined> {
  for (const batch of block.batches) {
    const inside = batch.baseOffset >= block.from && (block.to === null || batch.lastOffset < block.to)
    try {
      const cursor = batch.cursor()
      while (cursor.next()) {
        if (inside || (cursor.offset >= block.from && (block.to === null || cursor.offset < block.to))) yield cursor
      }
    } catch (error) {
      if (onUndecodable === null || !(error instanceof RecordFormatError)) throw error
      onUndecodable(batch, error)
    }
  }
}
