import type {ReadRange} from '../kafka/ports.ts'

/** Offsets of one partition that are wanted, in any order, with repeats. */
export interface WantedOffsets {
  readonly topic: string
  readonly partition: number
  readonly offsets: readonly bigint[]
}

/** A range from one wanted offset to behind another one. */
interface Cover {
  readonly from: bigint
  readonly to: bigint
}

/**
 * Few ranges that hold all of these offsets: neighbours share one when at most `maxGap` unwanted offsets lie between them.
 * By offset, without overlaps.
 */
export function coverOffsets(offsets: readonly bigint[], maxGap: number): Cover[] {
  const covers: {from: bigint; to: bigint}[] = []
  for (const offset of offsets.toSorted(compare)) {
    const last = covers.at(-1)
    if (last !== undefined && offset - last.to <= BigInt(maxGap)) last.to = offset >= last.to ? offset + 1n : last.to
    else covers.push({from: offset, to: offset + 1n})
  }
  return covers
}

/**
 * Reads that bring all wanted offsets: a partition occurs once in each (a fetch request can name it only once), so there are
 * as many reads as the most scattered partition has ranges.
 */
export function planReads(wanted: readonly WantedOffsets[], maxGap: number): ReadRange[][] {
  const reads: ReadRange[][] = []
  for (const {topic, partition, offsets} of wanted) {
    for (const [index, {from, to}] of coverOffsets(offsets, maxGap).entries()) {
      const read = (reads[index] ??= [])
      read.push({topic, partition, from, to})
    }
  }
  return reads
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
