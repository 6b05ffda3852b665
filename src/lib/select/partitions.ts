import {badValue, parseUint31} from './usage.ts'

/** Most numbers and ranges one flag may hold; a topic has at most some thousands of partitions. */
const MOST_RANGES = 1000
const HIGHEST_PARTITION = 100_000

/** Partition numbers as ranges, ascending, not touching; both ends belong to it. JSON as it is. */
export type PartitionSet = readonly (readonly [first: number, last: number])[]

/**
 * `0,3-5`: numbers and ranges, also several of them (a repeated flag).
 * @throws UsageError naming the flag: not a number, a range backwards, a number above 100000
 */
export function parsePartitions(texts: string | readonly string[], flag = '--partition'): PartitionSet {
  const parts = (typeof texts === 'string' ? [texts] : texts).flatMap(text => text.split(','))
  if (parts.length > MOST_RANGES) throw badValue(flag, parts.join(','), `at most ${MOST_RANGES} numbers and ranges`)
  return mergeRanges(parts.map(part => parseRange(part, flag)))
}

function parseRange(text: string, flag: string): [number, number] {
  const match = /^([0-9]+)(?:-([0-9]+))?$/.exec(text)
  const first = match === null ? null : parseUint31(match[1] ?? '')
  const last = match?.[2] === undefined ? first : parseUint31(match[2])
  if (first === null || last === null || last > HIGHEST_PARTITION) {
    throw badValue(flag, text, `give partition numbers and ranges such as 0,3-5, up to ${HIGHEST_PARTITION}`)
  }
  if (last < first) throw badValue(flag, text, 'a range goes up', [`${last}-${first}?`])
  return [first, last]
}

/** The set of these numbers. */
export function toPartitionSet(partitions: Iterable<number>): PartitionSet {
  return mergeRanges([...partitions].map(partition => [partition, partition]))
}

function mergeRanges(ranges: readonly [number, number][]): PartitionSet {
  const merged: [number, number][] = []
  for (const [first, last] of ranges.toSorted((left, right) => left[0] - right[0])) {
    const before = merged.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else merged.push([first, last])
  }
  return merged
}

/** Text that `parsePartitions` reads as the same set. */
export function formatPartitions(set: PartitionSet): string {
  return set.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',')
}

/** True when the partition belongs to the set. */
export function hasPartition(set: PartitionSet, partition: number): boolean {
  return set.some(([first, last]) => first <= partition && partition <= last)
}
