import type {Clock} from '../clock.ts'
import type {CallOptions, Cluster, ReadRange} from '../kafka/ports.ts'
import type {Offset} from '../kafka/record.ts'
import {recordsIn} from '../kafka/records/records-in.ts'
import type {RecordCursor} from '../kafka/records/types.ts'
import type {DeadLetter} from './model.ts'

/** A record with the key of a dead letter. JSON as it is. */
export interface SameKeyRecord {
  readonly address: string
  /** Epoch ms, decimal; null = none. */
  readonly timestamp: string | null
  /** The value is null. */
  readonly tombstone: boolean
}

/** Records with one key in a topic or partition. JSON as it is. */
export interface SameKeyRecords {
  readonly count: number
  /** The newest ones, by time; the dead letter itself is not among them. */
  readonly records: readonly SameKeyRecord[]
  /** False: the budget was spent before the end, or a part could not be read. */
  readonly complete: boolean
}

/** Other records with the key of a dead letter. JSON as it is. */
export interface SameKey {
  /** In its dead letter topic. */
  readonly deadLetters: SameKeyRecords
  /** In the partition of its origin, behind the origin: what has overtaken it; null = no origin partition is known. */
  readonly newerAtOrigin: SameKeyRecords | null
}

/** How much may be read, in each of the two places. */
export interface SameKeyBudget {
  readonly records: number
  readonly bytes: number
  readonly ms: number
}

/** As the check for stale keys: enough for most partitions, and over in half a minute. */
export const SAME_KEY_BUDGET: SameKeyBudget = {records: 2_000_000, bytes: 1024 ** 3, ms: 30_000}

/** Newest records that are named; the others are counted. */
const NAMED = 20

/**
 * Look for other records with the key of a dead letter; nothing but the keys is decoded.
 * @returns null when its key is null: such records have nothing in common
 */
export async function findSameKey(
  {cluster, clock}: {readonly cluster: Cluster; readonly clock: Clock},
  {record, failure}: DeadLetter,
  budget: SameKeyBudget,
  options: CallOptions & {readonly readRate?: number | undefined} = {},
): Promise<SameKey | null> {
  const {key} = record
  if (key === null) return null
  const [own] = await cluster.reader.topics([record.topic], options)
  const partitions = (own?.partitions ?? []).map(({partition}) => ({topic: record.topic, partition}))
  const search = {cluster, clock, key, budget, self: record}
  const deadLetters = await searchIn(search, await wholeOf(cluster, partitions, null, options), options)
  const {topic, partition, offset} = failure.origin ?? {}
  if (topic === undefined || partition === undefined || offset === undefined || !/^\d{1,19}$/.test(offset)) {
    return {deadLetters, newerAtOrigin: null}
  }
  const [origin] = await cluster.reader.topics([topic], options)
  if (origin?.partitions.some(other => other.partition === partition) !== true)
    return {deadLetters, newerAtOrigin: null}
  const ranges = await wholeOf(cluster, [{topic, partition}], BigInt(offset) + 1n, options)
  return {deadLetters, newerAtOrigin: await searchIn(search, ranges, options)}
}

/** Committed records of partitions. @param from null = from the beginning */
async function wholeOf(
  {reader}: Cluster,
  partitions: readonly {readonly topic: string; readonly partition: number}[],
  from: Offset | null,
  options: CallOptions,
): Promise<readonly (ReadRange & {readonly to: Offset})[] | null> {
  const queries = partitions.flatMap(place => [
    {...place, at: 'earliest'} as const,
    {...place, at: 'last-stable'} as const,
  ])
  const answers = await reader.offsets(queries, options)
  if (answers.some(({offset}) => offset === null)) return null
  return partitions.map((place, index) => {
    const earliest = answers[2 * index]?.offset ?? 0n
    const to = answers[2 * index + 1]?.offset ?? 0n
    const first = from !== null && from > earliest ? from : earliest
    return {...place, from: first < to ? first : to, to}
  })
}

async function searchIn(
  search: {
    readonly cluster: Cluster
    readonly clock: Clock
    readonly key: Buffer
    readonly budget: SameKeyBudget
    readonly self: {readonly topic: string; readonly partition: number; readonly offset: Offset}
  },
  ranges: readonly (ReadRange & {readonly to: Offset})[] | null,
  {signal, readRate}: CallOptions & {readonly readRate?: number | undefined},
): Promise<SameKeyRecords> {
  const {cluster, clock, key, budget, self} = search
  if (ranges === null) return {count: 0, records: [], complete: false}
  const started = clock.monotonic()
  let [count, read, bytes] = [0, 0, 0]
  let newest: SameKeyRecord[] = []
  let complete = true
  const request = {
    ranges: ranges.filter(({from, to}) => from < to),
    isolationLevel: 'read_committed',
    order: 'arrival',
    readRate,
  } as const
  if (request.ranges.length === 0) return {count: 0, records: [], complete: true}
  for await (const block of cluster.reader.read(request, {signal})) {
    bytes += block.bytes
    if (block.notices.some(({kind}) => kind !== 'gap')) complete = false
    for (const cursor of recordsIn(block, () => undefined)) {
      read += 1
      if (!hasKey(cursor, key)) continue
      if (block.topic === self.topic && block.partition === self.partition && cursor.offset === self.offset) continue
      count += 1
      newest.push(toSameKeyRecord(block, cursor))
      if (newest.length >= 2 * NAMED) newest = newestOf(newest)
    }
    if (read >= budget.records || bytes >= budget.bytes || clock.monotonic() - started >= budget.ms) {
      complete = false
      break
    }
  }
  return {count, records: newestOf(newest), complete}
}

function hasKey(cursor: RecordCursor, key: Buffer): boolean {
  const {bytes, keyStart, keyLength} = cursor
  return keyLength === key.length && bytes.compare(key, 0, key.length, keyStart, keyStart + keyLength) === 0
}

function toSameKeyRecord({topic, partition}: {topic: string; partition: number}, cursor: RecordCursor): SameKeyRecord {
  return {
    address: `${topic}:${partition}:${cursor.offset}`,
    timestamp: cursor.timestamp < 0n ? null : `${cursor.timestamp}`,
    tombstone: cursor.valueLength < 0,
  }
}

function newestOf(records: readonly SameKeyRecord[]): SameKeyRecord[] {
  const time = ({timestamp}: SameKeyRecord): number => Number(timestamp ?? -1)
  return records.toSorted((a, b) => time(b) - time(a)).slice(0, NAMED)
}
