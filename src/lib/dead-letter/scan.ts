import type {Cluster} from '../kafka/ports.ts'
import type {CompiledFilters} from '../select/compile.ts'
import type {FrozenSelection} from '../select/selection.ts'
import {createDeadLetter} from './dead-letter.ts'
import type {DeadLetter, PartitionScan} from './model.ts'
import {BlockScan, type ScanOptions} from './scan-records.ts'
import {Tail} from './scan-tail.ts'

/** Dead letters as they are read. To be iterated once; `scanned` says at any time how far the scan came. */
export interface DeadLetterScan extends AsyncIterable<DeadLetter> {
  /** One entry a range, by topic, partition, offset. */
  scanned(): readonly PartitionScan[]
}

/**
 * The matching dead letters of a frozen selection: filters on raw bytes first, then time, then decoded, then the limit,
 * whose last record closes the reader. With `tail` they come when all is read, ordered by timestamp, topic, partition,
 * offset; else in the order of the options.
 * @throws UsageError for a `tail` that does not fit into memory, the signal's reason, and what the reader throws
 */
export function scanDeadLetters(
  cluster: Cluster,
  frozen: FrozenSelection,
  filters: CompiledFilters,
  options: ScanOptions = {},
): DeadLetterScan {
  return frozen.tail === null
    ? scanInOrder(new BlockScan(cluster, frozen, filters, options))
    : scanTail(cluster, frozen, frozen.tail, filters, options)
}

function scanInOrder(scan: BlockScan): DeadLetterScan {
  return {
    scanned: () => scan.scanned(),
    async *[Symbol.asyncIterator]() {
      for await (const block of scan) for (const match of block.matches()) yield match.deadLetter()
    },
  }
}

function scanTail(
  cluster: Cluster,
  frozen: FrozenSelection,
  most: number,
  filters: CompiledFilters,
  options: ScanOptions,
): DeadLetterScan {
  const tail = new Tail(most)
  const scan = new BlockScan(cluster, {...frozen, limit: null}, filters, options, ({timestamp, offset}, place) =>
    tail.wants({timestamp, topic: place.topic, partition: place.partition, offset}),
  )
  return {
    scanned: () => scan.scanned(),
    async *[Symbol.asyncIterator]() {
      for await (const block of scan) {
        for (const {topic, partition, cursor} of block.matches()) tail.push(cursor.toRecord(topic, partition))
      }
      const create = options.createDeadLetter ?? createDeadLetter
      let left = frozen.limit ?? most
      for (const record of tail.sorted()) {
        if (left-- <= 0) return
        yield create(record)
      }
    },
  }
}
