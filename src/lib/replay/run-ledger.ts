import type {Clock} from '../clock.ts'
import {isKdlqError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import type {TransactionSession} from '../kafka/ports.ts'
import {FIRST_PAUSE_MS, isLost, MAX_LOST} from './exactly-once.ts'
import type {LedgerRecord, LedgerTopic} from './ledger/types.ts'
import {commitLedger} from './ledger/writer.ts'

/** What writing a ledger under a run's transactional id needs. */
export interface RunLedgerDeps {
  readonly clock: Clock
  readonly ledger: LedgerTopic
  /** Open the run's transactional id (again). */
  readonly reopen: (signal?: AbortSignal) => Promise<TransactionSession>
  /** Told when a session was lost and another one is opened. */
  readonly onLost?: ((error: KdlqError) => void) | undefined
}

/**
 * The ledger of an at-least-once run: entries alone, in short transactions under the run's transactional id, so that whoever
 * opens that id fences this process before it announces another chunk.
 */
export class RunLedger implements AsyncDisposable {
  readonly #deps: RunLedgerDeps
  #session: TransactionSession | null

  constructor(deps: RunLedgerDeps, session: TransactionSession) {
    this.#deps = deps
    this.#session = session
  }

  /** The session that is open now; null after it was lost. */
  get session(): TransactionSession | null {
    return this.#session
  }

  /**
   * Commit records. After a lost session they are written again: a ledger keeps one value of a key.
   * @throws KafkaError `E_FENCED` when somebody else has the run; as `commitLedger`
   */
  async write(records: readonly LedgerRecord[], signal: AbortSignal | undefined): Promise<void> {
    const {clock, ledger, reopen, onLost} = this.#deps
    for (let lost = 1; ; lost++) {
      try {
        this.#session ??= await reopen(signal)
        await commitLedger(this.#session, ledger, records, {clock, signal})
        return
      } catch (error) {
        if (signal?.aborted === true || !isKdlqError(error) || !isLost(error)) throw error
        await this[Symbol.asyncDispose]()
        if (lost >= MAX_LOST) throw error
        onLost?.(error)
        await clock.sleep(FIRST_PAUSE_MS * 2 ** lost, {signal})
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const session = this.#session
    this.#session = null
    await session?.close()
  }
}
