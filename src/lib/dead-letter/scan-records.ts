import {BugError} from '../errors.ts'
import type {Cluster, ReadRequest, RecordBlock} from '../kafka/ports.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {recordsIn} from '../kafka/records/records-in.ts'
import type {RecordCursor} from '../kafka/records/types.ts'
import type {CompiledFilters} from '../select/compile.ts'
import type {FrozenRange, FrozenSelection} from '../select/selection.ts'
import {createDeadLetter} from './dead-letter.ts'
import type {DeadLetter, PartitionScan} from './model.ts'
import {RangeTally} from './scan-tally.ts'

export interface ScanOptions {
  readonly signal?: AbortSignal | undefined
  /** `partition` (default): by topic, partition, offset; `arrival` is faster and what `follow` takes. */
  readonly order?: ReadRequest['order'] | undefined
  /** Bytes a second over the whole scan. */
  readonly readRate?: number | undefined
  /** Called once a block. */
  readonly onProgress?: ((progress: ScanProgress) => void) | undefined
  /** Asked before a block's records are filtered, for those that may match; what it returns is awaited. */
  readonly prepare?: ((record: KafkaRecord) => Promise<void> | undefined) | undefined
  /** How a record becomes a dead letter: with other header families than the built-in ones. */
  readonly createDeadLetter?: ((record: KafkaRecord) => DeadLetter) | undefined
}

export interface ScanProgress {
  /** Records walked and records that matched. */
  readonly records: number
  readonly matched: number
  readonly bytes: number
  /** Share of the offsets that lies behind, 0 to 1; null when the scan follows. */
  readonly fraction: number | null
}

/** A record that matched. Valid until the next one is asked for; a dead letter made of it is a copy that stays. */
export interface MatchedRecord {
  readonly topic: string
  readonly partition: number
  /** Positions in the block's bytes, to copy or splice from. */
  readonly cursor: RecordCursor
  /** Makes the record an object, once; free if a filter already had to. */
  deadLetter(): DeadLetter
}

export interface ScannedBlock {
  readonly block: RecordBlock
  /** Matching records, oldest first. To be walked once, before the next block is asked for. */
  matches(): Iterable<MatchedRecord>
}

/** A scan that can be read once, and says at any time how far it came. */
export interface RecordScan extends AsyncIterable<ScannedBlock> {
  /** One entry a range, by topic, partition, offset. */
  scanned(): readonly PartitionScan[]
}

/**
 * Read a frozen selection block by block without making objects of records: for consumers that count, copy or splice.
 * Ends at the limit; does not know `tail` (a consumer of blocks sees records before it is known which are last).
 * @throws the signal's reason, and what the reader throws
 */
export function scanRecords(
  cluster: Cluster,
  frozen: FrozenSelection,
  filters: CompiledFilters,
  options: ScanOptions = {},
): RecordScan {
  if (frozen.tail !== null) throw new BugError('a scan of blocks cannot take the last records only')
  return new BlockScan(cluster, frozen, filters, options)
}

/** A last question about a record on raw bytes, asked before it is made an object. */
export type Accepts = (cursor: RecordCursor, place: Pick<RecordBlock, 'topic' | 'partition'>) => boolean

/** The scan itself; `accepts` lets `--tail` refuse records before they are made objects. */
export class BlockScan implements RecordScan {
  readonly #cluster: Cluster
  readonly #frozen: FrozenSelection
  readonly #filters: CompiledFilters
  readonly #options: ScanOptions
  readonly #tallies: readonly RangeTally[]
  readonly #offsets: number | null
  readonly #accepts: Accepts
  #bytes = 0
  #matched = 0

  constructor(
    cluster: Cluster,
    frozen: FrozenSelection,
    filters: CompiledFilters,
    options: ScanOptions,
    accepts: Accepts = () => true,
  ) {
    this.#cluster = cluster
    this.#frozen = frozen
    this.#filters = filters
    this.#options = options
    this.#accepts = accepts
    this.#tallies = frozen.ranges.map(range => new RangeTally(range))
    this.#offsets = frozen.ranges.reduce<number | null>(
      (sum, {from, to}) => (sum === null || to === null ? null : sum + Number(to - from)),
      0,
    )
  }

  scanned(): readonly PartitionScan[] {
    const whyNot = this.#isFull() ? 'limit' : 'interrupted'
    return this.#tallies.map(tally => tally.toScan(whyNot))
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ScannedBlock, void, undefined> {
    const {signal, readRate} = this.#options
    const {isolationLevel, follow} = this.#frozen
    const order = this.#options.order ?? (follow ? 'arrival' : 'partition')
    for (const tallies of readsOf(
      this.#tallies.filter(({done, range}) => !done && range.incomplete !== 'unavailable'),
    )) {
      if (this.#isFull()) return
      const byRange = new Map(tallies.map(tally => [rangeKey(tally.range), tally]))
      const ranges = tallies.map(({range: {topic, partition, from, to}}) => ({topic, partition, from, to}))
      for await (const block of this.#cluster.reader.read({ranges, isolationLevel, order, readRate}, {signal})) {
        const tally = byRange.get(rangeKey(block))
        if (tally === undefined) throw new BugError(`a reader answered for ${block.topic}, which was not asked for`)
        tally.add(block)
        this.#bytes += block.bytes
        await this.#prepare(block, tally)
        const matches = this.#matches(block, tally)
        yield {block, matches: () => matches}
        // Whoever leaves a block early still gets counts of all of it.
        while (matches.next().done !== true);
        this.#reportProgress()
        if (this.#isFull()) return
      }
    }
  }

  /** Filters cannot wait, so what they will need is there before they are asked. */
  async #prepare({topic, partition, batches, from, to}: RecordBlock, {range}: RangeTally): Promise<void> {
    const {prepare} = this.#options
    if (prepare === undefined) return
    const waits: Promise<void>[] = []
    for (const cursor of recordsIn({batches, from, to}, () => undefined)) {
      if (range.fromTimeMs !== null && cursor.timestamp < range.fromTimeMs) continue
      if (range.toTimeMs !== null && cursor.timestamp >= range.toTimeMs) continue
      if (this.#filters.peek(cursor) === 'no') continue
      const waiting = prepare(cursor.toRecord(topic, partition))
      if (waiting !== undefined) waits.push(waiting)
    }
    await Promise.all(waits)
  }

  *#matches(block: RecordBlock, tally: RangeTally): Generator<MatchedRecord, void, undefined> {
    const {topic, partition, from, to} = block
    const {fromTimeMs, toTimeMs} = tally.range
    const match = new CurrentMatch(topic, partition, this.#options.createDeadLetter ?? createDeadLetter)
    for (const batch of block.batches) {
      const before = tally.records
      // What lies behind the limit is not part of the answer, whole or broken: it is only left.
      const lost = (): void => (this.#isFull() ? tally.leave() : tally.addUndecodable(batch, tally.records - before))
      for (const cursor of recordsIn({batches: [batch], from, to}, lost)) {
        if (this.#isFull()) {
          tally.leave()
          return
        }
        tally.records += 1
        if (fromTimeMs !== null && cursor.timestamp < fromTimeMs) continue
        if (toTimeMs !== null && cursor.timestamp >= toTimeMs) continue
        const peek = this.#filters.isEmpty ? 'yes' : this.#filters.peek(cursor)
        if (peek === 'no' || !this.#accepts(cursor, block)) continue
        match.moveTo(cursor)
        if (peek === 'maybe' && !this.#isMatch(match.deadLetter(), tally)) continue
        this.#matched += 1
        yield match
      }
    }
  }

  #isMatch(deadLetter: DeadLetter, tally: RangeTally): boolean {
    const before = this.#filters.whereErrors
    const isMatch = this.#filters.matches(deadLetter)
    tally.whereErrors += this.#filters.whereErrors - before
    return isMatch
  }

  #isFull(): boolean {
    return this.#frozen.limit !== null && this.#matched >= this.#frozen.limit
  }

  #reportProgress(): void {
    const {onProgress} = this.#options
    if (onProgress === undefined) return
    let records = 0
    let passed = 0
    for (const tally of this.#tallies) {
      records += tally.records
      passed += tally.offsetsPassed
    }
    const fraction = this.#offsets === null ? null : this.#offsets === 0 ? 1 : Math.min(1, passed / this.#offsets)
    onProgress({records, matched: this.#matched, bytes: this.#bytes, fraction})
  }
}

/** The record that a scan stands on; one object for a whole block. */
class CurrentMatch implements MatchedRecord {
  readonly topic: string
  readonly partition: number
  readonly #create: (record: KafkaRecord) => DeadLetter
  #cursor: RecordCursor | null = null
  #deadLetter: DeadLetter | null = null

  constructor(topic: string, partition: number, create: (record: KafkaRecord) => DeadLetter) {
    this.topic = topic
    this.partition = partition
    this.#create = create
  }

  moveTo(cursor: RecordCursor): void {
    this.#cursor = cursor
    this.#deadLetter = null
  }

  get cursor(): RecordCursor {
    if (this.#cursor === null) throw new BugError('a match was asked for before the scan stood on a record')
    return this.#cursor
  }

  deadLetter(): DeadLetter {
    this.#deadLetter ??= this.#create(this.cursor.toRecord(this.topic, this.partition))
    return this.#deadLetter
  }
}

function rangeKey({topic, partition, from}: Pick<FrozenRange, 'topic' | 'partition' | 'from'>): string {
  return `${topic}:${partition}:${from}`
}

/**
 * Cut ranges into reads that hold each partition once (a fetch cannot ask twice for one), in order. What has no end
 * comes last, all together, or nothing behind it would ever be read.
 */
function* readsOf(tallies: readonly RangeTally[]): Generator<readonly RangeTally[]> {
  let read: RangeTally[] = []
  let partitions = new Set<string>()
  const endless = tallies.filter(({range}) => range.to === null)
  for (const tally of tallies) {
    const {topic, partition, to} = tally.range
    if (to === null) continue
    const key = `${topic}:${partition}`
    if (partitions.has(key)) {
      yield read
      read = []
      partitions = new Set()
    }
    read.push(tally)
    partitions.add(key)
  }
  if (read.length > 0) yield read
  if (endless.length > 0) yield endless
}
