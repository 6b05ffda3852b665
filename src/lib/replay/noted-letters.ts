import type {ChunkEntry} from './chunk.ts'
import type {Delivery} from './delivery.ts'
import {capReason, sourceOf} from './ledger-judge.ts'
import type {LedgerOutcome} from './ledger/types.ts'
import type {RunState} from './run-state.ts'

/** Written down in portions of this size. */
const AT_ONCE = 1000

/**
 * Dead letters that stay where they are, and about which the ledger says so: at the cap (with their origin), or failed before
 * they were sent.
 */
export class NotedLetters {
  readonly #delivery: Delivery | null
  readonly #state: RunState
  /** Not yet written down. */
  #outcomes: LedgerOutcome[] = []

  constructor(delivery: Delivery | null, state: RunState) {
    this.#delivery = delivery
    this.#state = state
  }

  /** True when there is a ledger that has to know more than that a dead letter was counted. */
  get hasLedger(): boolean {
    return this.#delivery !== null && this.#delivery.view !== null
  }

  /** Count one at the cap. @returns true when it is time to `settle` @param entry its attempt: replays that are behind it */
  hold(entry: ChunkEntry): boolean {
    this.#state.hold()
    return this.#note(entry, 'held', capReason(entry.attempt))
  }

  /** Count one that could not be made ready. @returns as `hold` */
  fail(entry: ChunkEntry, error: {readonly code: string; readonly message: string}): boolean {
    this.#state.fail(entry, 'failed', error)
    return this.#note(entry, 'failed', `${error.code}: ${error.message}`)
  }

  #note(entry: ChunkEntry, state: 'held' | 'failed', reason: string): boolean {
    const view = this.#delivery?.view ?? null
    if (view === null) return false
    const {origin, sha256, attempt} = entry
    const common = {state, target: null, scanFrom: null}
    this.#outcomes.push({source: sourceOf(view, entry), origin, sha256, attempt, reason, ...common})
    return this.#outcomes.length >= AT_ONCE
  }

  /** Write down what was counted; nothing else may be under way in the run's session. @throws what the ledger throws */
  async settle(signal: AbortSignal): Promise<void> {
    const outcomes = this.#outcomes
    this.#outcomes = []
    if (outcomes.length > 0) await this.#delivery?.hold(outcomes, {signal})
  }
}
