import type {ClusterReader} from '../kafka/ports.ts'
import {OffsetSet} from './offset-set.ts'
import {SelectedReader} from './selected.ts'
import type {SelectedRequest} from './selected.ts'

interface Entry {
  readonly timestamp: bigint
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/**
 * The last `count` dead letters of a request over all partitions, by timestamp, topic, partition, offset. Keeps at most
 * twice as many addresses in memory.
 * @throws the signal's reason
 */
export async function selectTail(
  reader: ClusterReader,
  request: Omit<SelectedRequest, 'include'>,
  count: number,
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<OffsetSet> {
  let kept: Entry[] = []
  const selected = new SelectedReader({...request, include: null})
  for await (const {records} of selected.blocks(reader, options)) {
    for (const {letter} of records) {
      const {topic, partition, offset, timestamp} = letter.record
      kept.push({timestamp: timestamp ?? -1n, topic, partition, offset})
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
