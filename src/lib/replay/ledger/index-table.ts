import type {RecordCoordinates} from '../../dialects/model.ts'
import {BugError} from '../../errors.ts'
import {buildChains, SENT} from './chains.ts'
import type {Chains} from './chains.ts'
import {payloadSha256} from './checksum.ts'
import {anyName, incarnationName, sourceName, wholeAddress} from './places.ts'
import {hashOf, makeRows, Names, ROW_BYTES} from './rows.ts'
import type {Rows} from './rows.ts'
import {LEDGER_STATES} from './types.ts'
import type {
  HandledFact,
  IndexedRecord,
  LedgerEntry,
  LedgerState,
  LedgerTarget,
  SourceAddress,
  SourcePartition,
  SourceRef,
} from './types.ts'

/** Different operators and reasons that are kept; more read back as null. */
const MAX_TEXTS = 65_536
const FIRST_CAPACITY = 1024
const FREE = 0
/** What the headers of a dead letter say about where it failed. */
export interface RecordOrigins {
  readonly origin?: RecordCoordinates | undefined
  readonly last?: RecordCoordinates | undefined
}

/** One dead letter of a run. */
export interface RunEntry {
  readonly source: SourceAddress
  readonly state: LedgerState
  readonly target: LedgerTarget | null
  readonly attempt: number
  readonly reason: string | null
}

/** An entry of the same origin that stands at another address. */
export interface OriginFact {
  readonly address: SourceAddress
  readonly state: LedgerState
  readonly run: string
  /** Key and value are the same bytes. */
  readonly sameChecksum: boolean
}

/**
 * What a ledger says about dead letters, compact: about 120 bytes an entry, all tables included (docs/ledger.md).
 * Entries come in the order of the ledger; a later one of the same key replaces the earlier.
 */
export class LedgerIndex {
  #rows: Rows = makeRows(FIRST_CAPACITY)
  /** First row (plus one) of each bucket, newest first. */
  #buckets = new Uint32Array(FIRST_CAPACITY)
  /** Rows that were ever taken; the free ones among them are in `#free`. */
  #used = 0
  #order = 0
  readonly #free: number[] = []
  readonly #names = new Names()
  /** By place id minus one. */
  readonly #places: SourcePartition[] = []
  /** Source places that share cluster and `topic:partition`: incarnations of one topic. */
  readonly #incarnations = new Map<string, number[]>()
  readonly #runs = new Names()
  readonly #texts = new Names(MAX_TEXTS)
  /** Where a search for it starts, by row; only of `sending` entries. */
  readonly #scanFrom = new Map<number, bigint>()
  #chains: Chains | null = null

  /** Entries that count. */
  get size(): number {
    return this.#used - this.#free.length
  }

  /** Bytes of the tables. */
  get bytes(): number {
    const {capacity} = this.#rows
    return capacity * ROW_BYTES + this.#buckets.length * 4
  }

  /** Take an entry; one with the same source and run is replaced. */
  add(entry: LedgerEntry): void {
    const {source, target, origin} = entry
    const place = this.#sourcePlace(source)
    const run = this.#runs.idOf(entry.run)
    this.#remove(place, source.offset, run)
    const row = this.#take()
    const rows = this.#rows
    rows.place[row] = place
    rows.offset[row] = source.offset
    rows.run[row] = run
    rows.state[row] = LEDGER_STATES.indexOf(entry.state) + 1
    rows.attempt[row] = entry.attempt
    rows.sum[row] = entry.sha256.readBigUInt64BE(0)
    rows.at[row] = entry.at
    rows.by[row] = this.#texts.idOf(entry.by)
    rows.reason[row] = this.#texts.idOf(entry.reason)
    rows.targetPlace[row] = target === null ? 0 : this.#targetPlace(target)
    rows.targetOffset[row] = target?.offset ?? -1n
    const from = wholeAddress(origin, source.clusterId)
    rows.originPlace[row] = from === null ? 0 : this.#placeId(from.name, from)
    rows.originOffset[row] = from?.offset ?? -1n
    rows.order[row] = ++this.#order
    this.#link(row)
    if (entry.scanFrom !== null && entry.state === 'sending') this.#scanFrom.set(row, entry.scanFrom)
    this.#chains = null
  }

  /** Forget an entry (its key was deleted). */
  remove(source: SourceAddress, run: string): void {
    const place = this.#names.find(sourceName(source))
    const id = this.#runs.find(run)
    if (place !== 0 && id !== 0) this.#remove(place, source.offset, id)
  }

  /**
   * The newest entry about a record over all runs, or null. One that is about the same bytes in the same incarnation of the
   * topic goes before one that is `stale`.
   * @param ref of the record's topic; see `sourceRef`
   */
  handled(record: IndexedRecord, ref: SourceRef): HandledFact | null {
    const own = sourceName({...ref, topic: record.topic, partition: record.partition})
    let same = -1
    let stale = -1
    for (const place of this.#incarnations.get(incarnationName(ref, record)) ?? []) {
      const isOwn = this.#names.name(place) === own
      let sum: bigint | null = null
      for (const row of this.#rowsAt(place, record.offset)) {
        if (isOwn) sum ??= payloadSha256(record.key, record.value).readBigUInt64BE(0)
        if (isOwn && this.#rows.sum[row] === sum) same = same < 0 || this.#isLater(row, same) ? row : same
        else stale = stale < 0 || this.#isLater(row, stale) ? row : stale
      }
    }
    if (same >= 0) return this.#fact(same, false)
    return stale < 0 ? null : this.#fact(stale, true)
  }

  /** All entries about a record and its address, one a run, oldest first. @param ref as of `handled` */
  history(record: IndexedRecord, ref: SourceRef): readonly HandledFact[] {
    const own = sourceName({...ref, topic: record.topic, partition: record.partition})
    const sum = payloadSha256(record.key, record.value).readBigUInt64BE(0)
    const found: {readonly row: number; readonly stale: boolean}[] = []
    for (const place of this.#incarnations.get(incarnationName(ref, record)) ?? []) {
      const isOwn = this.#names.name(place) === own
      for (const row of this.#rowsAt(place, record.offset)) {
        found.push({row, stale: !isOwn || this.#rows.sum[row] !== sum})
      }
    }
    return found
      .toSorted((a, b) => (this.#isLater(a.row, b.row) ? 1 : -1))
      .map(({row, stale}) => this.#fact(row, stale))
  }

  /** The state that one run left a dead letter in; null = the run has no entry about it. */
  stateInRun(run: string, source: SourceAddress): LedgerState | null {
    const row = this.#rowOf(run, source)
    return row < 0 ? null : this.#state(row)
  }

  /** All entries of one run, in no order. */
  *entriesOfRun(run: string): Generator<RunEntry, void, undefined> {
    const id = this.#runs.find(run)
    if (id === 0) return
    for (const row of this.#liveRows()) {
      if (this.#rows.run[row] !== id) continue
      yield {
        source: this.#address(row),
        state: this.#state(row),
        target: this.#target(row),
        attempt: this.#rows.attempt[row] ?? 0,
        reason: this.#texts.name(this.#rows.reason[row] ?? 0),
      }
    }
  }

  /** Where to look for a record that a run left `sending`; null = not said. */
  scanFrom(run: string, source: SourceAddress): bigint | null {
    return this.#scanFrom.get(this.#rowOf(run, source)) ?? null
  }

  /**
   * Replays that a record's chain has behind it: the attempt of the entry whose target is where the record failed last (or
   * first), else of the entry of the same origin, else of the entry with the same key and value; 0 = none.
   *
   * Equal bytes are no chain when the record names another offset of that entry's target partition as its origin: it is then
   * another record that looks the same.
   */
  attemptsOf(record: Pick<IndexedRecord, 'key' | 'value'>, failure: RecordOrigins, ref: SourceRef): number {
    const chains = this.#chainTables()
    const {origin, last} = failure
    const places = [last, origin].map(place => wholeAddress(place, ref.clusterId))
    for (const address of places) {
      if (address === null) continue
      const row = chains.target.find(this.#names.find(address.name), address.offset)
      if (row >= 0) return this.#rows.attempt[row] ?? 0
    }
    for (const address of places.toReversed()) {
      if (address === null) continue
      const row = chains.origin.find(this.#names.find(address.name), address.offset)
      if (row >= 0) return this.#rows.attempt[row] ?? 0
    }
    // Pointers have neither key nor value: that two of them are equal says nothing.
    if (record.key === null && record.value === null) return 0
    const row = chains.sum.find(0, payloadSha256(record.key, record.value).readBigUInt64BE(0))
    if (row < 0) return 0
    const targetPlace = this.#rows.targetPlace[row] ?? 0
    const isNumbered = (this.#rows.targetOffset[row] ?? -1n) >= 0n
    const contradicts = places.some(address => address !== null && this.#names.find(address.name) === targetPlace)
    return isNumbered && targetPlace !== 0 && contradicts ? 0 : (this.#rows.attempt[row] ?? 0)
  }

  /**
   * A replayed (or being sent) entry of the same origin that stands at another address: the record is a second copy.
   * @returns null when there is none, or when the origin is no whole address
   */
  sameOrigin(record: IndexedRecord, failure: RecordOrigins, ref: SourceRef): OriginFact | null {
    const address = wholeAddress(failure.origin, ref.clusterId)
    if (address === null) return null
    const row = this.#chainTables().origin.find(this.#names.find(address.name), address.offset)
    if (row < 0) return null
    const source = this.#address(row)
    const isSame =
      source.topic === record.topic &&
      source.partition === record.partition &&
      source.offset === record.offset &&
      source.topicId === ref.topicId
    if (isSame) return null
    const sum = payloadSha256(record.key, record.value).readBigUInt64BE(0)
    return {
      address: source,
      state: this.#state(row),
      run: this.#runs.name(this.#rows.run[row] ?? 0) ?? '',
      sameChecksum: this.#rows.sum[row] === sum,
    }
  }

  #chainTables(): Chains {
    this.#chains ??= buildChains(this.#rows, this.#liveRows(), {
      size: this.size,
      isSent: row => SENT.has(this.#state(row)),
      isLater: (row, than) => this.#isLater(row, than),
    })
    return this.#chains
  }

  /** Later in the ledger. */
  #isLater(row: number, than: number): boolean {
    return (this.#rows.order[row] ?? 0) > (this.#rows.order[than] ?? 0)
  }

  *#liveRows(): Generator<number, void, undefined> {
    for (let row = 0; row < this.#used; row++) if (this.#rows.state[row] !== FREE) yield row
  }

  #fact(row: number, stale: boolean): HandledFact {
    const rows = this.#rows
    const target = this.#target(row)
    return {
      state: this.#state(row),
      run: this.#runs.name(rows.run[row] ?? 0) ?? '',
      at: `${rows.at[row] ?? 0n}`,
      by: this.#texts.name(rows.by[row] ?? 0),
      attempt: rows.attempt[row] ?? 0,
      target:
        target === null
          ? null
          : {topic: target.topic, partition: target.partition, offset: target.offset?.toString() ?? null},
      reason: this.#texts.name(rows.reason[row] ?? 0),
      stale,
    }
  }

  #state(row: number): LedgerState {
    return LEDGER_STATES[(this.#rows.state[row] ?? 0) - 1] ?? 'failed'
  }

  #address(row: number): SourceAddress {
    return {...this.#place(this.#rows.place[row] ?? 0), offset: this.#rows.offset[row] ?? 0n}
  }

  #target(row: number): LedgerTarget | null {
    const id = this.#rows.targetPlace[row] ?? 0
    if (id === 0) return null
    const {clusterId, topic, partition} = this.#place(id)
    const offset = this.#rows.targetOffset[row] ?? -1n
    return {topic, partition, offset: offset < 0n ? null : offset, clusterId}
  }

  #place(id: number): SourcePartition {
    const place = this.#places[id - 1]
    if (place === undefined) throw new BugError('a place of the ledger index is not known')
    return place
  }

  /** Rows of an address, one a run, in no order. */
  *#rowsAt(place: number, offset: bigint): Generator<number, void, undefined> {
    const rows = this.#rows
    for (let row = (this.#buckets[this.#bucketOf(place, offset)] ?? 0) - 1; row >= 0; row = (rows.next[row] ?? 0) - 1) {
      if (rows.offset[row] === offset && rows.place[row] === place) yield row
    }
  }

  /** Row of a run's entry; -1 = none. */
  #rowOf(run: string, source: SourceAddress): number {
    const id = this.#runs.find(run)
    for (const row of this.#rowsAt(this.#names.find(sourceName(source)), source.offset)) {
      if (this.#rows.run[row] === id) return row
    }
    return -1
  }

  #bucketOf(place: number, offset: bigint): number {
    return hashOf(place, offset) & (this.#buckets.length - 1)
  }

  #take(): number {
    const free = this.#free.pop()
    if (free !== undefined) return free
    if (this.#used === this.#rows.capacity) this.#grow()
    return this.#used++
  }

  #grow(): void {
    this.#rows = makeRows(this.#rows.capacity * 2, this.#rows)
    this.#buckets = new Uint32Array(this.#rows.capacity)
    for (let row = 0; row < this.#used; row++) this.#link(row)
  }

  #link(row: number): void {
    const rows = this.#rows
    const bucket = this.#bucketOf(rows.place[row] ?? 0, rows.offset[row] ?? 0n)
    rows.next[row] = this.#buckets[bucket] ?? 0
    this.#buckets[bucket] = row + 1
  }

  #remove(place: number, offset: bigint, run: number): void {
    const rows = this.#rows
    const bucket = this.#bucketOf(place, offset)
    let before = -1
    let row = (this.#buckets[bucket] ?? 0) - 1
    while (row >= 0) {
      const next = rows.next[row] ?? 0
      if (rows.run[row] === run && rows.offset[row] === offset && rows.place[row] === place) {
        if (before < 0) this.#buckets[bucket] = next
        else rows.next[before] = next
        rows.state[row] = FREE
        this.#scanFrom.delete(row)
        this.#free.push(row)
        this.#chains = null
        return
      }
      before = row
      row = next - 1
    }
  }

  #sourcePlace(source: SourcePartition): number {
    const name = sourceName(source)
    const known = this.#names.find(name)
    if (known !== 0) return known
    const place = this.#placeId(name, source)
    const incarnation = incarnationName(source, source)
    this.#incarnations.set(incarnation, [...(this.#incarnations.get(incarnation) ?? []), place])
    return place
  }

  #targetPlace({clusterId, topic, partition}: LedgerTarget): number {
    return this.#placeId(anyName(clusterId, topic, partition), {clusterId, topicId: null, topic, partition})
  }

  #placeId(name: string, {clusterId, topicId, topic, partition}: SourcePartition): number {
    const id = this.#names.idOf(name)
    this.#places[id - 1] ??= {clusterId, topicId, topic, partition}
    return id
  }
}
