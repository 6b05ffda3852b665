import {scanRecords} from '../dead-letter/scan-records.ts'
import type {ScanOptions} from '../dead-letter/scan-records.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {CompiledFilters} from '../select/compile.ts'
import type {FrozenSelection} from '../select/selection.ts'
import {OffsetSet} from './offset-set.ts'

interface Entry {
  readonly timestamp: bigint
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/**
 * The last `count` dead letters of a selection over all partitions, by timestamp, topic, partition, offset. Keeps at
 * most twice as many addresses in memory.
 * @throws the signal's reason
 */
export async function selectTail(
  cluster: Cluster,
  selection: FrozenSelection,
  filters: CompiledFilters,
  count: number,
  options: Pick<ScanOptions, 'signal' | 'readRate' | 'prepare' | 'createDeadLetter'> = {},
): Promise<OffsetSet> {
  let kept: Entry[] = []
  for await (const scanned of scanRecords(cluster, {...selection, tail: null}, filters, options)) {
    for (const {topic, partition, cursor} of scanned.matches()) {
      kept.push({timestamp: cursor.timestamp, topic, partition, offset: cursor.offset})
      if (kept.length >= 2 * count + 1000) kept = lastOf(kept, count)
    }
  }
  const include = new OffsetSet()
  for (const {topic, partition, offset} of lastOf(kept, count)) include.add(topic, partition, offset)
  return include
}

function lastOf(entries: readonly Entry[], count: number): Entry[] {
  return count === 0 ? [] : entries.toSorted(compare).slice(-count)
}

function compare(a: Entry, b: Entry): number {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1
  if (a.partition !== b.partition) return a.partition - b.partition
  return a.offset < b.offset ? -1 : 1
}
