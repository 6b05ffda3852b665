import type {FrozenRange} from '../select/selection.ts'

/**
 * Put single records among whole ranges so that nothing is read twice and no time bound applies to what was named by
 * address. The result is ordered by topic, partition, offset.
 */
export function splitAddresses(ranges: readonly FrozenRange[], addresses: readonly FrozenRange[]): FrozenRange[] {
  let all = [...ranges]
  for (const address of addresses) {
    if (all.some(range => range.from === address.from && range.to === address.to && isSamePartition(range, address)))
      continue
    all = [...all.flatMap(range => without(range, address)), address]
  }
  return all.sort(compareRanges)
}

function without(range: FrozenRange, {from, to, ...place}: FrozenRange): FrozenRange[] {
  const isInside = to !== null && range.from <= from && (range.to === null || to <= range.to) && from < to
  if (!isInside || !isSamePartition(range, place)) return [range]
  const before = {...range, to: from}
  const behind = {...range, from: to}
  return [
    ...(before.to > before.from ? [before] : []),
    ...(behind.to === null || behind.to > behind.from ? [behind] : []),
  ]
}

function isSamePartition(
  left: Pick<FrozenRange, 'topic' | 'partition'>,
  right: Pick<FrozenRange, 'topic' | 'partition'>,
): boolean {
  return left.topic === right.topic && left.partition === right.partition
}

function compareRanges(left: FrozenRange, right: FrozenRange): number {
  if (left.topic !== right.topic) return left.topic < right.topic ? -1 : 1
  if (left.partition !== right.partition) return left.partition - right.partition
  return left.from < right.from ? -1 : left.from > right.from ? 1 : 0
}
