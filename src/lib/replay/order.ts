import type {DeadLetter} from '../dead-letter/model.ts'
import type {MatchedRecord, RecordScan, ScannedBlock} from '../dead-letter/scan-records.ts'

/** How far the merge looks ahead, over all partitions together. */
export interface LookAhead {
  readonly records: number
  readonly bytes: number
}

/** What a run looks ahead: 10,000 records or 64 MiB. */
export const LOOK_AHEAD: LookAhead = {records: 10_000, bytes: 64 * 1024 * 1024}
/** Partitions that are read side by side for the merge; more share a stream. */
export const MAX_STREAMS = 32

export interface MergeOptions {
  readonly lookAhead?: LookAhead | undefined
  /** Asked once for each match, before it is made an object; false leaves it out. */
  readonly accepts: (match: MatchedRecord) => boolean
  /** Told about each dead letter that goes out behind one of a later origin offset. */
  readonly onDisorder: (letter: DeadLetter) => void
}

interface Item {
  readonly letter: DeadLetter
  readonly position: bigint
  readonly bytes: number
  readonly stream: Stream
  readonly group: Group
  sent: boolean
}

/** The waiting dead letters of one origin partition. */
interface Group {
  readonly heap: Item[]
  /** Highest position that went out; -1 = none yet. */
  last: bigint
}

/**
 * Merge streams of dead letters so that those of one origin partition go out by origin offset. Each stream looks ahead by
 * its share of the whole, so that a long stream cannot push a short one out; what lies deeper goes out late and is told.
 * Dead letters without a full origin keep the order of their own partition.
 * @throws what the scans throw
 */
export async function* mergeByOrigin(
  scans: readonly RecordScan[],
  {lookAhead = LOOK_AHEAD, accepts, onDisorder}: MergeOptions,
): AsyncGenerator<DeadLetter, void, undefined> {
  const groups = new Map<string, Group>()
  const share = {
    records: Math.max(1, Math.floor(lookAhead.records / Math.max(1, scans.length))),
    bytes: Math.max(1, Math.floor(lookAhead.bytes / Math.max(1, scans.length))),
  }
  let streams = scans.map(scan => new Stream(scan, share, groups, accepts))
  const all = streams
  try {
    for (let turn = 0; ; turn++) {
      const hungry = streams.filter(stream => stream.isHungry)
      if (hungry.length === 1) await hungry[0]?.fill()
      else if (hungry.length > 1) await Promise.all(hungry.map(async stream => stream.fill()))
      if (streams.some(({isEmpty}) => isEmpty)) streams = streams.filter(({isEmpty}) => !isEmpty)
      const next = streams[turn % Math.max(1, streams.length)]?.head()?.group
      const item = next === undefined ? undefined : pop(next.heap)
      if (next === undefined || item === undefined) return
      item.sent = true
      item.stream.sent(item)
      if (item.position < next.last) onDisorder(item.letter)
      else next.last = item.position
      yield item.letter
    }
  } finally {
    for (const stream of all) await stream.close()
  }
}

/** One scan with what was read ahead of it. */
class Stream {
  readonly #blocks: AsyncIterator<ScannedBlock>
  readonly #share: LookAhead
  readonly #groups: Map<string, Group>
  readonly #accepts: (match: MatchedRecord) => boolean
  #matches: Iterator<MatchedRecord> | null = null
  #queue: Item[] = []
  #at = 0
  #records = 0
  #bytes = 0
  #done = false

  constructor(
    scan: RecordScan,
    share: LookAhead,
    groups: Map<string, Group>,
    accepts: (match: MatchedRecord) => boolean,
  ) {
    this.#blocks = scan[Symbol.asyncIterator]()
    this.#share = share
    this.#groups = groups
    this.#accepts = accepts
  }

  get isHungry(): boolean {
    return (
      !this.#done && (this.#records === 0 || (this.#records < this.#share.records && this.#bytes < this.#share.bytes))
    )
  }

  get isEmpty(): boolean {
    return this.#done && this.#records === 0
  }

  /** Read until the share is used up or the scan ends. */
  async fill(): Promise<void> {
    while (this.isHungry) {
      const match = this.#matches?.next()
      if (match === undefined || match.done === true) {
        const block = await this.#blocks.next()
        this.#done = block.done === true
        this.#matches = block.done === true ? null : block.value.matches()[Symbol.iterator]()
      } else if (this.#accepts(match.value)) this.#add(match.value.deadLetter())
    }
  }

  /** The oldest dead letter that is still waiting. */
  head(): Item | undefined {
    while (this.#queue[this.#at]?.sent === true) this.#at++
    if (this.#at > 1024 && this.#at * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#at)
      this.#at = 0
    }
    return this.#queue[this.#at]
  }

  sent({bytes}: Item): void {
    this.#records--
    this.#bytes -= bytes
  }

  async close(): Promise<void> {
    await this.#blocks.return?.()
  }

  #add(letter: DeadLetter): void {
    const {record, failure} = letter
    const {topic, partition, offset} = failure.origin ?? {}
    const known = topic !== undefined && partition !== undefined && offset !== undefined
    const key = known ? `o ${partition} ${topic}` : `d ${record.partition} ${record.topic}`
    let group = this.#groups.get(key)
    if (group === undefined) {
      group = {heap: [], last: -1n}
      this.#groups.set(key, group)
    }
    const position = known ? BigInt(offset) : record.offset
    const item: Item = {letter, position, bytes: sizeOf(letter), stream: this, group, sent: false}
    this.#queue.push(item)
    this.#records++
    this.#bytes += item.bytes
    push(group.heap, item)
  }
}

function sizeOf({record: {key, value, headers}}: DeadLetter): number {
  const own = headers.reduce((sum, header) => sum + header.name.length + (header.value?.length ?? 0), 0)
  return (key?.length ?? 0) + (value?.length ?? 0) + own
}

/** By origin offset; copies of one origin by their place in the dead letter topic. */
function isBefore(a: Item, b: Item): boolean {
  if (a.position !== b.position) return a.position < b.position
  const [left, right] = [a.letter.record, b.letter.record]
  if (left.topic !== right.topic) return left.topic < right.topic
  return left.partition === right.partition ? left.offset < right.offset : left.partition < right.partition
}

function push(heap: Item[], item: Item): void {
  let at = heap.push(item) - 1
  while (at > 0) {
    const up = (at - 1) >> 1
    const parent = heap[up]
    if (parent === undefined || !isBefore(item, parent)) break
    heap[at] = parent
    at = up
  }
  heap[at] = item
}

function pop(heap: Item[]): Item | undefined {
  const [top] = heap
  const last = heap.pop()
  if (last === undefined || top === undefined || heap.length === 0) return top
  let at = 0
  for (;;) {
    const left = heap[at * 2 + 1]
    const right = heap[at * 2 + 2]
    if (left === undefined) break
    const child = right !== undefined && isBefore(right, left) ? right : left
    if (!isBefore(child, last)) break
    heap[at] = child
    at = at * 2 + (child === left ? 1 : 2)
  }
  heap[at] = last
  return top
}
