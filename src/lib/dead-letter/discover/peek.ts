import type {Dialect} from '../../dialects/dialect.ts'
import type {CallOptions, ClusterReader, ReadRange} from '../../kafka/ports.ts'
import type {Offset} from '../../kafka/record.ts'
import {recordsIn} from '../../kafka/records/records-in.ts'
import {createDeadLetter} from '../dead-letter.ts'
import type {DeadLetter} from '../model.ts'

/** Where one partition begins and ends (high watermark). */
export interface PartitionBounds {
  readonly topic: string
  readonly partition: number
  readonly earliest: Offset
  readonly end: Offset
}

/** Bounds of all partitions that answer; the others are left out. */
export async function boundsOf(
  reader: ClusterReader,
  partitions: readonly {readonly topic: string; readonly partition: number}[],
  options: CallOptions,
): Promise<readonly PartitionBounds[]> {
  const queries = partitions.flatMap(({topic, partition}) => [
    {topic, partition, at: 'earliest'} as const,
    {topic, partition, at: 'latest'} as const,
  ])
  const answers = await reader.offsets(queries, options)
  return partitions.flatMap(({topic, partition}, index) => {
    const [earliest, end] = [answers[2 * index]?.offset ?? null, answers[2 * index + 1]?.offset ?? null]
    return earliest === null || end === null ? [] : [{topic, partition, earliest, end}]
  })
}

/** The first record of a partition, as far as one is at its first offset. */
export function firstOf({topic, partition, earliest, end}: PartitionBounds): ReadRange[] {
  return earliest < end ? [{topic, partition, from: earliest, to: earliest + 1n}] : []
}

/** The last offsets of a partition. */
export function newestOf({topic, partition, earliest, end}: PartitionBounds, offsets: bigint): ReadRange[] {
  const from = end - offsets > earliest ? end - offsets : earliest
  return earliest < end ? [{topic, partition, from, to: end}] : []
}

/** How small ranges are read. */
export interface PeekOptions extends CallOptions {
  /** Bytes a second. */
  readonly readRate: number | undefined
  /** Header families that are looked for. */
  readonly dialects: readonly Dialect[]
}

/**
 * Read small ranges of many partitions, uncommitted records too: whoever looks for dead letters wants to see them.
 * What cannot be read is left out.
 */
export async function peek(
  reader: ClusterReader,
  ranges: readonly ReadRange[],
  options: PeekOptions,
): Promise<readonly DeadLetter[]> {
  if (ranges.length === 0) return []
  const letters: DeadLetter[] = []
  const {readRate, signal, dialects} = options
  const request = {ranges, isolationLevel: 'read_uncommitted', order: 'arrival', readRate} as const
  for await (const block of reader.read(request, {signal})) {
    for (const cursor of recordsIn(block, () => undefined)) {
      letters.push(createDeadLetter(cursor.toRecord(block.topic, block.partition), dialects))
    }
  }
  return letters
}
