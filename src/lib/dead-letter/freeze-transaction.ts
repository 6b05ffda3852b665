import type {Clock} from '../clock.ts'
import type {CallOptions, Cluster} from '../kafka/ports.ts'
import type {Offset} from '../kafka/record.ts'
import type {ChosenPartition} from './freeze-topics.ts'

/** A transaction younger than this is work in progress, not something to report. */
const OLD_MS = 60_000

/**
 * True when the transaction that holds the last stable offset back has been open for more than 60 s. Its first batch
 * lies at that offset; the batch's largest timestamp is the only trace of its age (and what Kafka's own tool for hanging
 * transactions looks at). A producer that sets old timestamps looks old: rather one warning too many.
 */
export async function hasOldTransaction(
  cluster: Cluster,
  {topic, partition}: ChosenPartition,
  {end, highWatermark}: {readonly end: Offset; readonly highWatermark: Offset},
  clock: Clock,
  options: CallOptions,
): Promise<boolean> {
  const blocks = cluster.reader.read(
    {
      ranges: [{topic, partition, from: end, to: highWatermark}],
      isolationLevel: 'read_uncommitted',
      order: 'partition',
    },
    options,
  )
  for await (const {batches, done} of blocks) {
    const open = batches.find(batch => batch.isTransactional && batch.lastOffset >= end)
    if (open !== undefined) return BigInt(clock.now()) - open.maxTimestamp > BigInt(OLD_MS)
    if (done) break
  }
  // Nothing is left to see of it (it ended meanwhile, or its records were compacted away): not open any more.
  return false
}
