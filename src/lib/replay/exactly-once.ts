import type {Clock} from '../clock.ts'
import {UnreachableError, isKdlqError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import type {TransactionSession} from '../kafka/ports.ts'
import type {RecordOutcome, TargetBatch} from './chunk.ts'
import type {LedgerView} from './ledger-judge.ts'
import {toLedgerOutcome} from './ledger-outcomes.ts'
import type {LedgerOutcome, LedgerTopic, SourceAddress} from './ledger/types.ts'
import {LedgerScribe, writeLedger} from './ledger/writer.ts'
import type {LedgerAuthor} from './ledger/writer.ts'
import {Pace} from './pace.ts'
import {writeQueues} from './write-chunk.ts'
import type {ChunkWriter} from './write-chunk.ts'

/** A transaction takes no further record after this time, so that it is over within two seconds, ms. */
const ENOUGH_MS = 800
/** After these a new session decides, by the ledger, what is left to do. */
const REOPEN: ReadonlySet<string> = new Set([
  'E_TRANSACTION_TIMED_OUT',
  'E_TRANSACTION_ABORTABLE',
  'E_TRANSACTION_UNSETTLED',
])
/** Sessions that are lost without any progress before the target counts as out of reach. */
export const MAX_LOST = 5
/** Pause before the second attempt of these, ms; it doubles. */
export const FIRST_PAUSE_MS = 100

/** What an exactly-once writer works with. */
export interface ExactlyOnceDeps {
  readonly clock: Clock
  readonly ledger: LedgerTopic
  readonly author: LedgerAuthor
  readonly view: Pick<LedgerView, 'refOf'>
  /** Open the run's transactional id (again): fences, and ends what was left open. */
  readonly reopen: (signal?: AbortSignal) => Promise<TransactionSession>
  /** Read the ledger to its high watermark: true when this run's entry about the record is there. */
  readonly isDone: (source: SourceAddress, signal?: AbortSignal) => Promise<boolean>
  /** Told after each commit. */
  readonly onCommit?: ((outcomes: readonly LedgerOutcome[]) => Promise<void>) | undefined
  /** Told when a session was lost and another one is opened. */
  readonly onLost?: ((error: KdlqError) => void) | undefined
}

/**
 * Chunks as transactions: records, then their ledger entries with the real offsets, then the commit. Nothing in here waits
 * for anything but the brokers.
 *
 * After a lost session the ledger says whether the transaction was committed; what was not is written again.
 * @throws on write: KafkaError `E_FENCED` when somebody else has this run's transactional id
 */
export class ExactlyOnceWriter implements ChunkWriter {
  readonly #deps: ExactlyOnceDeps
  readonly #scribe: LedgerScribe
  readonly #pace = new Pace(ENOUGH_MS)
  #session: TransactionSession | null

  constructor(deps: ExactlyOnceDeps, session: TransactionSession) {
    this.#deps = deps
    this.#session = session
    this.#scribe = new LedgerScribe(deps.clock, deps.author)
  }

  /** The session that is open now; null after it was lost. */
  get session(): TransactionSession | null {
    return this.#session
  }

  async write(
    chunk: {batches(): readonly TargetBatch[]},
    {signal}: {readonly signal?: AbortSignal | undefined} = {},
  ): Promise<readonly RecordOutcome[]> {
    const outcomes: RecordOutcome[] = []
    let queues: readonly (readonly TargetBatch[])[] = chunk.batches().map(batch => [batch])
    let lost = 0
    while (queues.length > 0) {
      const {now, later} = this.#pace.split(queues)
      const transaction = new Transaction(this.#deps, this.#scribe)
      try {
        const session = await this.#opened(signal)
        const started = this.#deps.clock.monotonic()
        const left = await transaction.run(session, now, signal)
        this.#pace.took(now, this.#deps.clock.monotonic() - started)
        outcomes.push(...transaction.outcomes)
        await this.#committed(transaction)
        queues = [...left, ...later]
        lost = 0
      } catch (error) {
        if (signal?.aborted === true || !isKdlqError(error) || !isLost(error)) throw error
        this.#deps.onLost?.(error)
        this.#pace.lost()
        await this.#drop()
        const decided = await this.#decide(transaction, ++lost, signal).catch((reason: unknown) => {
          if (signal?.aborted === true || !(reason instanceof UnreachableError)) throw reason
          return reason
        })
        if (typeof decided !== 'boolean' || (!decided && lost >= MAX_LOST)) {
          return [...outcomes, ...unsettled(queues, typeof decided === 'boolean' ? error : decided)]
        }
        if (!decided) continue
        outcomes.push(...transaction.outcomes)
        await this.#committed(transaction)
        queues = [...transaction.left, ...later]
      }
    }
    return outcomes
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#drop()
  }

  /** Open the id again, which ends the lost transaction one way or the other, then look. True = it was committed. */
  async #decide(transaction: Transaction, lost: number, signal: AbortSignal | undefined): Promise<boolean> {
    if (lost > 1) await this.#deps.clock.sleep(FIRST_PAUSE_MS * 2 ** lost, {signal})
    await this.#opened(signal)
    const [first] = transaction.entries
    return first !== undefined && (await this.#deps.isDone(first.source, signal))
  }

  async #opened(signal: AbortSignal | undefined): Promise<TransactionSession> {
    this.#session ??= await this.#deps.reopen(signal)
    return this.#session
  }

  async #committed({entries}: Transaction): Promise<void> {
    if (entries.length > 0) await this.#deps.onCommit?.(entries)
  }

  async #drop(): Promise<void> {
    const session = this.#session
    this.#session = null
    await session?.close()
  }
}

/** One transaction, and what it holds. */
class Transaction {
  readonly #deps: ExactlyOnceDeps
  readonly #scribe: LedgerScribe
  outcomes: readonly RecordOutcome[] = []
  entries: readonly LedgerOutcome[] = []
  left: readonly (readonly TargetBatch[])[] = []

  constructor(deps: ExactlyOnceDeps, scribe: LedgerScribe) {
    this.#deps = deps
    this.#scribe = scribe
  }

  /** @returns what did not go into it */
  async run(
    session: TransactionSession,
    queues: readonly (readonly TargetBatch[])[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (readonly TargetBatch[])[]> {
    const {clock, ledger, view} = this.#deps
    const started = clock.monotonic()
    session.begin()
    try {
      const written = await writeQueues(session, queues, () => clock.monotonic() - started > ENOUGH_MS, {signal})
      this.outcomes = written.outcomes
      this.left = written.left
      this.entries = written.outcomes
        .map(outcome => toLedgerOutcome(view, outcome, null))
        .filter(outcome => outcome !== null)
      await writeLedger(session, ledger, this.#scribe.entries(this.entries), {clock, signal})
    } catch (error) {
      await abort(session)
      throw error
    }
    await session.commit({signal})
    return this.left
  }
}

/** The first error is the one to tell. */
async function abort(session: TransactionSession): Promise<void> {
  try {
    await session.abort()
  } catch {
    // Fenced, timed out or out of reach: the coordinator ends the transaction.
  }
}

/** Another session can go on. A broker that cannot be reached is looked for again. */
export function isLost(error: KdlqError): boolean {
  return REOPEN.has(error.code) || error instanceof UnreachableError
}

function unsettled(queues: readonly (readonly TargetBatch[])[], error: KdlqError): RecordOutcome[] {
  return queues.flat().flatMap(({entries}) => entries.map(entry => ({state: 'unknown' as const, entry, error})))
}
