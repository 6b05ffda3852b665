import type {DecompressionScratch} from '../compression/scratch.ts'
import type {IsolationLevel, ReadNotice} from '../ports.ts'
import type {Offset} from '../record.ts'
import {visibleBatches} from '../records/aborted.ts'
import type {AbortedTransaction, VisibleBatches} from '../records/aborted.ts'
import {parseBatches} from '../records/batch-view.ts'
import type {RecordBatch} from '../records/batch-view.ts'
import {RecordFormatError} from '../records/errors.ts'
import type {BlockContent} from './block-queue.ts'
import type {PartitionRead} from './partition-read.ts'

const LOG_OVERHEAD = 12
const SMALLEST_BATCH = LOG_OVERHEAD + 14

interface RecordsAnswer {
  readonly records: Buffer | null
  readonly abortedTransactions: readonly AbortedTransaction[] | null
}

export interface TakeOptions {
  readonly isolationLevel: IsolationLevel
  readonly scratch: DecompressionScratch
}

type Undecodable = Extract<ReadNotice, {kind: 'undecodable'}>

/**
 * Take over one partition's answer: moves `read` behind the last whole batch and notes what could not be read. Checksums
 * are verified here, once, so that a damaged batch is told with the block in which it is missing.
 */
export function takeAnswer(read: PartitionRead, answer: RecordsAnswer, options: TakeOptions): BlockContent {
  const {range} = read
  const {batches, damaged} = divide(answer.records ?? Buffer.alloc(0), read.position, options)
  const whole: RecordBatch[] = []
  let bytes = 0
  for (const batch of batches) {
    if (range.to !== null && batch.baseOffset >= range.to) break
    const {lastOffset} = batch
    if (lastOffset < read.position) continue
    bytes += batch.sizeInBytes
    read.position = lastOffset + 1n
    read.lastEpoch = batch.partitionLeaderEpoch
    try {
      batch.verify()
      whole.push(batch)
    } catch (error) {
      damaged.push({kind: 'undecodable', from: batch.baseOffset, to: lastOffset + 1n, error: formatError(error)})
    }
  }
  const visible = filter(whole, answer.abortedTransactions ?? [], options.isolationLevel, damaged)
  for (const notice of damaged) {
    if (range.to !== null && notice.from >= range.to) continue
    read.notices.push(notice)
    if (notice.to > read.position) read.position = notice.to
  }
  return {...visible, bytes}
}

/** Whole batches of an answer, going on behind what is none as long as its length can be trusted. */
function divide(
  records: Buffer,
  position: Offset,
  {scratch}: TakeOptions,
): {batches: RecordBatch[]; damaged: Undecodable[]} {
  const batches: RecordBatch[] = []
  const damaged: Undecodable[] = []
  let at = 0
  let next = position
  for (;;) {
    const parsed = parseBatches(records.subarray(at), {scratch})
    batches.push(...parsed.batches)
    const {error} = parsed
    if (error === null) return {batches, damaged}
    at += parsed.bytesUsed
    next = max(next, (parsed.batches.at(-1)?.lastOffset ?? next - 1n) + 1n)
    const size = LOG_OVERHEAD + records.readInt32BE(at + 8)
    const from = next
    next = max(next, records.readBigInt64BE(at)) + 1n
    const before = damaged.at(-1)
    // Neighbours are one notice: a topic of an old message format would else have one for every record.
    if (before?.to === from) damaged.splice(-1, 1, {...before, to: next})
    else damaged.push({kind: 'undecodable', from, to: next, error})
    if (size < SMALLEST_BATCH || size > records.length - at) return {batches, damaged}
    at += size
  }
}

/** Leaves out a control batch without a marker too, as one more that cannot be read. */
function filter(
  batches: RecordBatch[],
  aborted: readonly AbortedTransaction[],
  isolationLevel: IsolationLevel,
  damaged: Undecodable[],
): VisibleBatches {
  for (;;) {
    try {
      return visibleBatches(batches, aborted, isolationLevel)
    } catch (thrown) {
      const error = formatError(thrown)
      const index = batches.findIndex(({baseOffset}) => String(baseOffset) === error.context['baseOffset'])
      const [batch] = index < 0 ? [] : batches.splice(index, 1)
      if (batch === undefined) throw error
      damaged.push({kind: 'undecodable', from: batch.baseOffset, to: batch.lastOffset + 1n, error})
    }
  }
}

function formatError(error: unknown): RecordFormatError {
  if (error instanceof RecordFormatError) return error
  throw error
}

function max(a: Offset, b: Offset): Offset {
  return a > b ? a : b
}
