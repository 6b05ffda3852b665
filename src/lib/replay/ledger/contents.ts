import {LedgerIndex} from './index-table.ts'
import {parseLedgerKey} from './names.ts'
import type {LedgerKey} from './names.ts'
import {parseClaim, parseEntry, parseLayout, parseRunHead, parseRunStatus} from './parse.ts'
import type {LedgerEntry, LedgerRun, LedgerRunHead, LedgerRunStatus, LiveClaim} from './types.ts'

/** Most pieces of one document that are kept while it is read; 300 MB at the most. */
const MAX_PIECES = 320

/** What to keep besides entries, claims, heads and states. */
export interface ContentsOptions {
  /** Keep the document of this run; null = of none. */
  readonly documentOf?: string | null
  /** False: leave the entries out (a list of runs needs none). */
  readonly entries?: boolean
  /** Told every entry that is read, in the order of its partition; the index keeps less of it. */
  readonly onEntry?: ((entry: LedgerEntry) => void) | undefined
}

/**
 * A ledger, or some partitions of it, read so far. Records come in the order of their partition; whatever is none of ours is
 * counted and otherwise ignored.
 */
export class LedgerContents {
  readonly index = new LedgerIndex()
  /** Records that are not ours, broken, or of another version. */
  unreadable = 0
  /** Records taken, those included. */
  records = 0
  /** Number of partitions by the layout records that were seen. */
  readonly layouts = new Set<number>()
  readonly #claims = new Map<string, LiveClaim>()
  readonly #heads = new Map<string, LedgerRunHead>()
  readonly #states = new Map<string, LedgerRunStatus>()
  readonly #pieces = new Map<number, Buffer>()
  readonly #documentOf: string | null
  readonly #entries: boolean
  readonly #onEntry: ContentsOptions['onEntry']

  constructor({documentOf = null, entries = true, onEntry}: ContentsOptions = {}) {
    this.#documentOf = documentOf
    this.#entries = entries
    this.#onEntry = onEntry
  }

  /** Take one record. @param key null for a record without key (never ours) @param value null = its key is deleted */
  add(key: Buffer | null, value: Buffer | null, offset: bigint): void {
    this.records++
    const text = key === null || key.length > 4096 ? null : key.toString('utf8')
    const parsed = text === null ? null : parseLedgerKey(text)
    if (parsed === null || text === null) {
      this.unreadable++
      return
    }
    if (value === null) this.#delete(parsed, text)
    else if (!this.#set(parsed, text, value, offset)) this.unreadable++
  }

  /** Count something that was there instead of a record. */
  addUnreadable(): void {
    this.records++
    this.unreadable++
  }

  /** Claims that were not ended, in the order of their offsets (each partition of the ledger has its own). */
  get claims(): readonly LiveClaim[] {
    return [...this.#claims.values()].toSorted((a, b) => (a.offset < b.offset ? -1 : a.offset > b.offset ? 1 : 0))
  }

  /** Runs by id, which is by time. */
  get runs(): readonly LedgerRun[] {
    const ids = new Set([...this.#heads.keys(), ...this.#states.keys()])
    return [...ids].toSorted().map(run => this.run(run))
  }

  run(run: string): LedgerRun {
    return {run, head: this.#heads.get(run) ?? null, status: this.#states.get(run) ?? null}
  }

  /** Pieces of the document of `documentOf`, by number from 1. */
  get pieces(): ReadonlyMap<number, Buffer> {
    return this.#pieces
  }

  /** False = not readable. */
  #set(key: LedgerKey, text: string, value: Buffer, offset: bigint): boolean {
    if (key.kind === 'entry') return this.#setEntry(key, value)
    if (key.kind === 'run') {
      return key.piece === 0 ? this.#setHead(key.run, value) : this.#setPiece(key.run, key.piece, value)
    }
    if (key.kind === 'claim') {
      const claim = parseClaim(key, value)
      if (claim !== null) this.#claims.set(text, {...claim, offset})
      return claim !== null
    }
    if (key.kind === 'status') {
      const status = parseRunStatus(key.run, value)
      if (status !== null) this.#states.set(key.run, status)
      return status !== null
    }
    if (key.kind === 'mark') return true
    const partitions = parseLayout(value)
    if (partitions !== null) this.layouts.add(partitions)
    return partitions !== null
  }

  #setEntry(key: Extract<LedgerKey, {kind: 'entry'}>, value: Buffer): boolean {
    if (!this.#entries && this.#onEntry === undefined) return true
    const entry = parseEntry(key, value)
    if (entry !== null && this.#entries) this.index.add(entry)
    if (entry !== null) this.#onEntry?.(entry)
    return entry !== null
  }

  #setHead(run: string, value: Buffer): boolean {
    const head = parseRunHead(run, value)
    if (head !== null) this.#heads.set(run, head)
    return head !== null
  }

  #setPiece(run: string, piece: number, value: Buffer): boolean {
    if (run === this.#documentOf && piece <= MAX_PIECES) this.#pieces.set(piece, Buffer.from(value))
    return true
  }

  #delete(key: LedgerKey, text: string): void {
    if (key.kind === 'claim') this.#claims.delete(text)
    else if (key.kind === 'entry') this.index.remove({...key.source, offset: key.offset}, key.run)
    else if (key.kind === 'status') this.#states.delete(key.run)
    else if (key.kind === 'run' && key.piece === 0) this.#heads.delete(key.run)
  }
}
