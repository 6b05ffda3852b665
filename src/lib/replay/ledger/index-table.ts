import type {RecordCoordinates} from '../../dialects/model.ts'
import {buildChains, SENT} from './chains.ts'
import type {Chains} from './chains.ts'
import {payloadSha256} from './checksum.ts'
import {EntryStore} from './entry-store.ts'
import {incarnationName, sourceName, wholeAddress} from './places.ts'
import type {
  HandledFact,
  IndexedRecord,
  LedgerEntry,
  LedgerState,
  LedgerTarget,
  SourceAddress,
  SourceRef,
} from './types.ts'

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
  readonly #store = new EntryStore()
  #chains: Chains | null = null

  /** Entries that count. */
  get size(): number {
    return this.#store.size
  }

  /** Bytes of the tables. */
  get bytes(): number {
    return this.#store.bytes
  }

  /** Take an entry; one with the same source and run is replaced. */
  add(entry: LedgerEntry): void {
    this.#store.add(entry)
    this.#chains = null
  }

  /** Forget an entry (its key was deleted). */
  remove(source: SourceAddress, run: string): void {
    this.#store.remove(source, run)
    this.#chains = null
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
    for (const place of this.#store.incarnations(incarnationName(ref, record))) {
      const isOwn = this.#store.placeName(place) === own
      let sum: bigint | null = null
      for (const row of this.#store.rowsAt(place, record.offset)) {
        if (isOwn) sum ??= payloadSha256(record.key, record.value).readBigUInt64BE(0)
        if (isOwn && this.#store.rows.sum[row] === sum) same = same < 0 || this.#store.isLater(row, same) ? row : same
        else stale = stale < 0 || this.#store.isLater(row, stale) ? row : stale
      }
    }
    if (same >= 0) return this.#store.fact(same, false)
    return stale < 0 ? null : this.#store.fact(stale, true)
  }

  /** All entries about a record and its address, one a run, oldest first. @param ref as of `handled` */
  history(record: IndexedRecord, ref: SourceRef): readonly HandledFact[] {
    const own = sourceName({...ref, topic: record.topic, partition: record.partition})
    const sum = payloadSha256(record.key, record.value).readBigUInt64BE(0)
    const found: {readonly row: number; readonly stale: boolean}[] = []
    for (const place of this.#store.incarnations(incarnationName(ref, record))) {
      const isOwn = this.#store.placeName(place) === own
      for (const row of this.#store.rowsAt(place, record.offset)) {
        found.push({row, stale: !isOwn || this.#store.rows.sum[row] !== sum})
      }
    }
    return found
      .toSorted((a, b) => (this.#store.isLater(a.row, b.row) ? 1 : -1))
      .map(({row, stale}) => this.#store.fact(row, stale))
  }

  /** The state that one run left a dead letter in; null = the run has no entry about it. */
  stateInRun(run: string, source: SourceAddress): LedgerState | null {
    const row = this.#store.rowOf(run, source)
    return row < 0 ? null : this.#store.state(row)
  }

  /** All entries of one run, in no order. */
  *entriesOfRun(run: string): Generator<RunEntry, void, undefined> {
    for (const row of this.#store.rowsOfRun(run)) {
      yield {
        source: this.#store.address(row),
        state: this.#store.state(row),
        target: this.#store.target(row),
        attempt: this.#store.rows.attempt[row] ?? 0,
        reason: this.#store.reason(row),
      }
    }
  }

  /** Where to look for a record that a run left `sending`; null = not said. */
  scanFrom(run: string, source: SourceAddress): bigint | null {
    return this.#store.scanFrom(this.#store.rowOf(run, source))
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
      const row = chains.target.find(this.#store.place(address.name), address.offset)
      if (row >= 0) return this.#store.rows.attempt[row] ?? 0
    }
    for (const address of places.toReversed()) {
      if (address === null) continue
      const row = chains.origin.find(this.#store.place(address.name), address.offset)
      if (row >= 0) return this.#store.rows.attempt[row] ?? 0
    }
    // Pointers have neither key nor value: that two of them are equal says nothing.
    if (record.key === null && record.value === null) return 0
    const row = chains.sum.find(0, payloadSha256(record.key, record.value).readBigUInt64BE(0))
    if (row < 0) return 0
    const targetPlace = this.#store.rows.targetPlace[row] ?? 0
    const isNumbered = (this.#store.rows.targetOffset[row] ?? -1n) >= 0n
    const contradicts = places.some(address => address !== null && this.#store.place(address.name) === targetPlace)
    return isNumbered && targetPlace !== 0 && contradicts ? 0 : (this.#store.rows.attempt[row] ?? 0)
  }

  /**
   * A replayed (or being sent) entry of the same origin that stands at another address: the record is a second copy.
   * @returns null when there is none, or when the origin is no whole address
   */
  sameOrigin(record: IndexedRecord, failure: RecordOrigins, ref: SourceRef): OriginFact | null {
    const address = wholeAddress(failure.origin, ref.clusterId)
    if (address === null) return null
    const row = this.#chainTables().origin.find(this.#store.place(address.name), address.offset)
    if (row < 0) return null
    const source = this.#store.address(row)
    const isSame =
      source.topic === record.topic &&
      source.partition === record.partition &&
      source.offset === record.offset &&
      source.topicId === ref.topicId
    if (isSame) return null
    const sum = payloadSha256(record.key, record.value).readBigUInt64BE(0)
    return {
      address: source,
      state: this.#store.state(row),
      run: this.#store.run(row),
      sameChecksum: this.#store.rows.sum[row] === sum,
    }
  }

  #chainTables(): Chains {
    this.#chains ??= buildChains(this.#store.rows, this.#store.liveRows(), {
      size: this.size,
      isSent: row => SENT.has(this.#store.state(row)),
      isLater: (row, than) => this.#store.isLater(row, than),
    })
    return this.#chains
  }
}
