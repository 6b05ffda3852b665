/** Offsets of one partition as data: single ones and inclusive ranges, decimal, ascending: `["7", "9-12"]`. */
export interface PartitionOffsets {
  readonly topic: string
  readonly partition: number
  readonly offsets: readonly string[]
}

interface Run {
  readonly from: bigint
  readonly to: bigint
}

/** A set of addresses that can be written into a plan and read back. Neighbouring offsets take no more room than one. */
export class OffsetSet {
  readonly #byPartition = new Map<string, {topic: string; partition: number; offsets: Set<bigint>}>()
  readonly #ranges = new Map<string, readonly Run[]>()

  /** @param data a list that `validatePlan` accepted: ascending, without overlap */
  static from(data: readonly PartitionOffsets[]): OffsetSet {
    const set = new OffsetSet()
    for (const {topic, partition, offsets} of data) {
      const ranges = offsets.map(text => {
        const [from = '', to = from] = text.split('-')
        return {from: BigInt(from), to: BigInt(to)}
      })
      set.#ranges.set(keyOf(topic, partition), ranges)
      set.#byPartition.set(keyOf(topic, partition), {topic, partition, offsets: new Set()})
    }
    return set
  }

  add(topic: string, partition: number, offset: bigint): void {
    const key = keyOf(topic, partition)
    const entry = this.#byPartition.get(key) ?? {topic, partition, offsets: new Set<bigint>()}
    this.#byPartition.set(key, entry)
    entry.offsets.add(offset)
  }

  has(topic: string, partition: number, offset: bigint): boolean {
    const key = keyOf(topic, partition)
    if (this.#byPartition.get(key)?.offsets.has(offset) === true) return true
    const ranges = this.#ranges.get(key)
    if (ranges === undefined) return false
    let low = 0
    let high = ranges.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const range = ranges[middle]
      if (range === undefined) return false
      if (offset < range.from) high = middle - 1
      else if (offset > range.to) low = middle + 1
      else return true
    }
    return false
  }

  /** Sorted by topic, partition, offset. */
  toJSON(): readonly PartitionOffsets[] {
    return [...this.#byPartition.values()]
      .toSorted((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1))
      .map(({topic, partition, offsets}) => {
        const own = [...offsets].map(offset => ({from: offset, to: offset}))
        const all = [...(this.#ranges.get(keyOf(topic, partition)) ?? []), ...own]
        return {topic, partition, offsets: joinRanges(all)}
      })
      .filter(({offsets}) => offsets.length > 0)
  }
}

function keyOf(topic: string, partition: number): string {
  return `${topic}:${partition}`
}

function joinRanges(ranges: readonly Run[]): string[] {
  const sorted = ranges.toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))
  const joined: {from: bigint; to: bigint}[] = []
  for (const {from, to} of sorted) {
    const last = joined.at(-1)
    if (last !== undefined && from <= last.to + 1n) last.to = to > last.to ? to : last.to
    else joined.push({from, to})
  }
  return joined.map(({from, to}) => (from === to ? `${from}` : `${from}-${to}`))
}
