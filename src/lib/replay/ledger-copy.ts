import type {Clock} from '../clock.ts'
import {isKdlqError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import type {Cluster, ProducerSession} from '../kafka/ports.ts'
import {ensureLedger} from './ledger/ensure-ledger.ts'
import type {LedgerOutcome, LedgerTopic} from './ledger/types.ts'
import {LedgerScribe, writeLedger} from './ledger/writer.ts'
import type {LedgerAuthor} from './ledger/writer.ts'

/** What copying needs. */
export interface LedgerCopyDeps {
  /** Holds the dead letters, and a ledger of its own. */
  readonly source: Cluster
  readonly target: Pick<Cluster, 'description'>
  readonly clock: Clock
  /** Told once when the copy cannot be written; the run goes on, its own ledger is the target's. */
  readonly onFailed: (error: KdlqError) => void
}

/** Writes what is committed on another cluster into the ledger of the dead letters' own cluster too. */
export interface LedgerCopy extends AsyncDisposable {
  /** Never throws for the ledger: what is not copied is still in the target's. */
  write(outcomes: readonly LedgerOutcome[]): Promise<void>
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
    return new SourceLedger(deps, ledger, session, new LedgerScribe(clock, author))
  } catch (error) {
    if (isKdlqError(error) && error.code === 'E_NO_LEDGER') return null
    throw error
  }
}

class SourceLedger implements LedgerCopy {
  readonly #deps: LedgerCopyDeps
  readonly #ledger: LedgerTopic
  readonly #session: ProducerSession
  readonly #scribe: LedgerScribe
  #told = false

  constructor(deps: LedgerCopyDeps, ledger: LedgerTopic, session: ProducerSession, scribe: LedgerScribe) {
    this.#deps = deps
    this.#ledger = ledger
    this.#session = session
    this.#scribe = scribe
  }

  async write(outcomes: readonly LedgerOutcome[]): Promise<void> {
    const {target, clock, onFailed} = this.#deps
    const {clusterId} = target.description
    // Seen from here the dead letters are at home, and their target is elsewhere.
    const seen = outcomes.map(outcome => ({
      ...outcome,
      source: {...outcome.source, clusterId: null},
      target: outcome.target === null ? null : {...outcome.target, clusterId},
    }))
    try {
      await writeLedger(this.#session, this.#ledger, this.#scribe.entries(seen), {clock})
    } catch (error) {
      if (!isKdlqError(error)) throw error
      if (!this.#told) onFailed(error)
      this.#told = true
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close()
  }
}
