import type {Cluster, ProducerSession} from '../kafka/ports.ts'
import {isWritten} from './chunk.ts'
import type {RecordOutcome, TargetBatch} from './chunk.ts'
import {sourceOf} from './ledger-judge.ts'
import type {LedgerView} from './ledger-judge.ts'
import {isNotTried, toLedgerOutcome} from './ledger-outcomes.ts'
import {placeName} from './ledger/names.ts'
import type {LedgerOutcome} from './ledger/types.ts'
import {writeBatches} from './write-chunk.ts'
import type {ChunkWriter} from './write-chunk.ts'

/** What an at-least-once writer works with. */
export interface AtLeastOnceDeps {
  readonly target: Pick<Cluster, 'reader'>
  readonly view: LedgerView
  /** Null = the cluster of the ledger itself. */
  readonly targetClusterId: string | null
  /** Write outcomes into the ledger; resolves when they are safe there. */
  readonly write: (outcomes: readonly LedgerOutcome[], signal?: AbortSignal) => Promise<void>
  /** Told after each chunk. */
  readonly onCommit?: ((outcomes: readonly LedgerOutcome[]) => Promise<void>) | undefined
}

/**
 * Chunks without transactions: a `sending` entry for each record, then the records, then the final entries. A kill between
 * the first and the last leaves records of which only the target knows whether they are there.
 */
export class AtLeastOnceWriter implements ChunkWriter {
  readonly #deps: AtLeastOnceDeps
  readonly #session: ProducerSession
  /** A lower bound of the end offset, by target partition. */
  readonly #ends = new Map<string, bigint>()

  constructor(deps: AtLeastOnceDeps, session: ProducerSession) {
    this.#deps = deps
    this.#session = session
  }

  async write(
    chunk: {batches(): readonly TargetBatch[]},
    {signal}: {readonly signal?: AbortSignal | undefined} = {},
  ): Promise<readonly RecordOutcome[]> {
    const {view, write, onCommit, targetClusterId} = this.#deps
    const batches = chunk.batches()
    await this.#lookUpEnds(batches, signal)
    await write(
      batches.flatMap(batch => this.#sending(batch)),
      signal,
    )
    const outcomes = await writeBatches(this.#session, batches, {signal})
    for (const outcome of outcomes) if (isWritten(outcome)) this.#advance(outcome.target)
    const entries = outcomes.map(
      outcome => toLedgerOutcome(view, outcome, targetClusterId) ?? notWritten(view, outcome),
    )
    const certain = entries.filter(entry => entry !== null)
    await write(certain, signal)
    await onCommit?.(certain)
    return outcomes
  }

  /** Write down what was found out about records that an earlier process had left `sending`. */
  async settle(outcomes: readonly RecordOutcome[], signal?: AbortSignal): Promise<void> {
    const {view, write, onCommit, targetClusterId} = this.#deps
    const entries = outcomes
      .map(outcome => toLedgerOutcome(view, outcome, targetClusterId))
      .filter(entry => entry !== null)
    if (entries.length === 0) return
    await write(entries, signal)
    await onCommit?.(entries)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The session belongs to whoever opened it.
  }

  #sending({topic, partition, entries}: TargetBatch): LedgerOutcome[] {
    const scanFrom = this.#ends.get(placeName(topic, partition)) ?? null
    return entries.map(entry => ({
      source: sourceOf(this.#deps.view, entry),
      state: 'sending',
      origin: entry.origin,
      target: {topic, partition, offset: null, clusterId: this.#deps.targetClusterId},
      sha256: entry.sha256,
      attempt: entry.attempt,
      reason: null,
      scanFrom,
    }))
  }

  async #lookUpEnds(batches: readonly TargetBatch[], signal: AbortSignal | undefined): Promise<void> {
    const missing = batches.filter(({topic, partition}) => !this.#ends.has(placeName(topic, partition)))
    if (missing.length === 0) return
    const answers = await this.#deps.target.reader.offsets(
      missing.map(({topic, partition}) => ({topic, partition, at: 'latest'})),
      {signal},
    )
    for (const {topic, partition, offset} of answers) {
      if (offset !== null) this.#ends.set(placeName(topic, partition), offset)
    }
  }

  #advance({topic, partition, offset}: {topic: string; partition: number; offset: bigint | null}): void {
    const place = placeName(topic, partition)
    if (offset !== null && offset >= (this.#ends.get(place) ?? -1n)) this.#ends.set(place, offset + 1n)
  }
}

/** Known not to be written: the entry says so, or a resume would look for it. */
function notWritten(view: LedgerView, outcome: RecordOutcome): LedgerOutcome | null {
  if (isWritten(outcome) || !isNotTried(outcome)) return null
  const {entry} = outcome
  return {
    source: sourceOf(view, entry),
    state: 'skipped',
    origin: entry.origin,
    target: null,
    sha256: entry.sha256,
    attempt: entry.attempt - 1,
    reason: outcome.error.message,
    scanFrom: null,
  }
}
