import {BugError} from '../../errors.ts'
import {anyName, incarnationName, sourceName, wholeAddress} from './places.ts'
import {hashOf, makeRows, Names, ROW_BYTES} from './rows.ts'
import type {Rows} from './rows.ts'
import {LEDGER_STATES} from './types.ts'
import type {HandledFact, LedgerEntry, LedgerState, LedgerTarget, SourceAddress, SourcePartition} from './types.ts'

/** Different operators and reasons that are kept; more read back as null. */
const MAX_TEXTS = 65_536
const FIRST_CAPACITY = 1024
const FREE = 0

/**
 * Entries of a ledger in typed arrays, found by address and run. They come in the order of the ledger; a later one of the same
 * key replaces the earlier. A row number is valid until the next `add` or `remove`.
 */
export class EntryStore {
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

  /** Columns of the entries; replaced when they grow. */
  get rows(): Rows {
    return this.#rows
  }

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
  }

  /** Forget an entry (its key was deleted). */
  remove(source: SourceAddress, run: string): void {
    const place = this.#names.find(sourceName(source))
    const id = this.#runs.find(run)
    if (place !== 0 && id !== 0) this.#remove(place, source.offset, id)
  }

  /** Id of a place by its name; 0 = not known. */
  place(name: string): number {
    return this.#names.find(name)
  }

  /** Name of a place. */
  placeName(place: number): string | null {
    return this.#names.name(place)
  }

  /** Source places that share cluster and `topic:partition`, by `incarnationName`. */
  incarnations(name: string): readonly number[] {
    return this.#incarnations.get(name) ?? []
  }

  /** Where a search for a `sending` entry starts; null = not said. */
  scanFrom(row: number): bigint | null {
    return this.#scanFrom.get(row) ?? null
  }

  /** Rows of one run. */
  *rowsOfRun(run: string): Generator<number, void, undefined> {
    const id = this.#runs.find(run)
    if (id === 0) return
    for (const row of this.liveRows()) if (this.#rows.run[row] === id) yield row
  }

  run(row: number): string {
    return this.#runs.name(this.#rows.run[row] ?? 0) ?? ''
  }

  reason(row: number): string | null {
    return this.#texts.name(this.#rows.reason[row] ?? 0)
  }

  /** Later in the ledger. */
  isLater(row: number, than: number): boolean {
    return (this.#rows.order[row] ?? 0) > (this.#rows.order[than] ?? 0)
  }

  *liveRows(): Generator<number, void, undefined> {
    for (let row = 0; row < this.#used; row++) if (this.#rows.state[row] !== FREE) yield row
  }

  fact(row: number, stale: boolean): HandledFact {
    const rows = this.#rows
    const target = this.target(row)
    return {
      state: this.state(row),
      run: this.run(row),
      at: `${rows.at[row] ?? 0n}`,
      by: this.#texts.name(rows.by[row] ?? 0),
      attempt: rows.attempt[row] ?? 0,
      target:
        target === null
          ? null
          : {topic: target.topic, partition: target.partition, offset: target.offset?.toString() ?? null},
      reason: this.reason(row),
      stale,
    }
  }

  state(row: number): LedgerState {
    return LEDGER_STATES[(this.#rows.state[row] ?? 0) - 1] ?? 'failed'
  }

  address(row: number): SourceAddress {
    return {...this.#place(this.#rows.place[row] ?? 0), offset: this.#rows.offset[row] ?? 0n}
  }

  target(row: number): LedgerTarget | null {
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
  *rowsAt(place: number, offset: bigint): Generator<number, void, undefined> {
    const rows = this.#rows
    for (let row = (this.#buckets[this.#bucketOf(place, offset)] ?? 0) - 1; row >= 0; row = (rows.next[row] ?? 0) - 1) {
      if (rows.offset[row] === offset && rows.place[row] === place) yield row
    }
  }

  /** Row of a run's entry; -1 = none. */
  rowOf(run: string, source: SourceAddress): number {
    const id = this.#runs.find(run)
    for (const row of this.rowsAt(this.#names.find(sourceName(source)), source.offset)) {
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
