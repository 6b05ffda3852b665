import type {Clock} from '../clock.ts'
import {isKdlqError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import type {Cluster, ProducerSession} from '../kafka/ports.ts'
import {ensureLedger} from './ledger/ensure-ledger.ts'
import {ledgerPartitions} from './ledger/layout.ts'
import {entryKey} from './ledger/names.ts'
import {LedgerReader, readLedger} from './ledger/read-ledger.ts'
import {entryRecord} from './ledger/records.ts'
import type {LedgerEntry, LedgerOutcome, LedgerRecord, LedgerTopic} from './ledger/types.ts'
import {LedgerScribe, writeLedger} from './ledger/writer.ts'
import type {LedgerAuthor} from './ledger/writer.ts'

/** What copying needs. */
export interface LedgerCopyDeps {
  /** Holds the dead letters, and a ledger of its own. */
  readonly source: Cluster
  readonly target: Pick<Cluster, 'description' | 'reader' | 'admin'>
  readonly clock: Clock
  /** Told once when the copy cannot be written; the run goes on, its own ledger is the target's. */
  readonly onFailed: (error: KdlqError) => void
}

/** Writes what is committed on another cluster into the ledger of the dead letters' own cluster too. */
export interface LedgerCopy extends AsyncDisposable {
  /** Never throws for the ledger: what is not copied is still in the target's. */
  write(outcomes: readonly LedgerOutcome[]): Promise<void>
  /**
   * Copy what the run has in the target's ledger and a killed process did not copy any more. Never throws for the ledgers.
   * @param ledger the target's
   * @param topics of the dead letters
   * @throws the signal's reason
   */
  complete(
    ledger: LedgerTopic,
    topics: readonly string[],
    options?: {readonly signal?: AbortSignal | undefined},
  ): Promise<void>
}

/**
 * Open the copy of a run's entries on the source cluster.
 * @returns null when source and target are one cluster, or the source has no such ledger
 * @throws KdlqError when the source cannot be asked
 */
export async function openLedgerCopy(
  deps: LedgerCopyDeps,
  name: string,
  author: LedgerAuthor,
  {deliveryTimeoutMs, signal}: {readonly deliveryTimeoutMs: number; readonly signal?: AbortSignal | undefined},
): Promise<LedgerCopy | null> {
  const {source, target, clock} = deps
  if (source.description.kind !== 'kafka' || source.description.clusterId === target.description.clusterId) return null
  try {
    const ledger = await ensureLedger({cluster: source, clock}, {name, create: false, deliveryTimeoutMs}, {signal})
    const session = await source.writer.open({compression: 'none', transactionalId: null, deliveryTimeoutMs})
    return new SourceLedger(deps, ledger, session, author)
  } catch (error) {
    if (isKdlqError(error) && error.code === 'E_NO_LEDGER') return null
    throw error
  }
}

class SourceLedger implements LedgerCopy {
  readonly #deps: LedgerCopyDeps
  readonly #ledger: LedgerTopic
  readonly #session: ProducerSession
  readonly #run: string
  readonly #scribe: LedgerScribe
  #told = false

  constructor(deps: LedgerCopyDeps, ledger: LedgerTopic, session: ProducerSession, author: LedgerAuthor) {
    this.#deps = deps
    this.#ledger = ledger
    this.#session = session
    this.#run = author.run
    this.#scribe = new LedgerScribe(deps.clock, author)
  }

  async write(outcomes: readonly LedgerOutcome[]): Promise<void> {
    await this.#try(async () => this.#append(this.#scribe.entries(outcomes.map(outcome => this.#seen(outcome)))))
  }

  async complete(
    ledger: LedgerTopic,
    topics: readonly string[],
    {signal}: {readonly signal?: AbortSignal | undefined} = {},
  ): Promise<void> {
    await this.#try(async () => {
      const {source, target, clock} = this.#deps
      const {index} = await readLedger({cluster: source, clock}, this.#ledger, topics, {signal})
      const missing = new Map<string, LedgerRecord>()
      const onEntry = (entry: LedgerEntry): void => {
        if (entry.run !== this.#run || entry.source.clusterId !== source.description.clusterId) return
        const seen = {...entry, ...this.#seen(entry)}
        const key = entryKey(seen.source, seen.source.offset, seen.run)
        // What is only announced is not copied before its outcome is known.
        if (seen.state === 'sending' || index.stateInRun(seen.run, seen.source) === seen.state) missing.delete(key)
        else missing.set(key, entryRecord(seen))
      }
      const reader = new LedgerReader({cluster: target, clock}, ledger, {}, {entries: false, onEntry})
      await reader.catchUp(ledgerPartitions(ledger, topics), {signal})
      await this.#append([...missing.values()])
    })
    signal?.throwIfAborted()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close()
  }

  /** Seen from here the dead letters are at home, and their target is elsewhere. */
  #seen(outcome: LedgerOutcome): LedgerOutcome {
    const {clusterId} = this.#deps.target.description
    const {source, target} = outcome
    return {
      ...outcome,
      source: {...source, clusterId: null},
      target: target === null ? null : {...target, clusterId},
    }
  }

  async #append(records: readonly LedgerRecord[]): Promise<void> {
    await writeLedger(this.#session, this.#ledger, records, {clock: this.#deps.clock})
  }

  async #try(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      if (!isKdlqError(error)) throw error
      if (!this.#told) this.#deps.onFailed(error)
      this.#told = true
    }
  }
}
