import type {ChunkEntry} from './chunk.ts'
import type {Delivery} from './delivery.ts'
import {capReason, sourceOf} from './ledger-judge.ts'
import type {LedgerOutcome} from './ledger/types.ts'
import type {OffsetSet} from './offset-set.ts'
import type {RunState} from './run-state.ts'

/** Written down in portions of this size. */
const AT_ONCE = 1000

/** Dead letters at the cap: they stay where they are, and the ledger says so, with their origin. */
export class HeldLetters {
  readonly #held: OffsetSet
  readonly #delivery: Delivery | null
  readonly #state: RunState
  /** Not yet written down. */
  #outcomes: LedgerOutcome[] = []

  constructor(held: OffsetSet, delivery: Delivery | null, state: RunState) {
    this.#held = held
    this.#delivery = delivery
    this.#state = state
  }

  has(topic: string, partition: number, offset: bigint): boolean {
    return this.#held.has(topic, partition, offset)
  }

  /** Count one by its address alone. False = the ledger has to know its key and value too: `hold` it. */
  count(): boolean {
    if (this.#delivery !== null && this.#delivery.view !== null) return false
    this.#state.hold()
    return true
  }

  /** Count one. @returns true when it is time to `settle` @param entry its attempt: replays that are behind it */
  hold(entry: ChunkEntry): boolean {
    this.#state.hold()
    const view = this.#delivery?.view ?? null
    if (view === null) return false
    const {origin, sha256, attempt} = entry
    const common = {state: 'held', target: null, scanFrom: null} as const
    this.#outcomes.push({source: sourceOf(view, entry), origin, sha256, attempt, reason: capReason(attempt), ...common})
    return this.#outcomes.length >= AT_ONCE
  }

  /** Write down what was held; nothing else may be under way in the run's session. @throws what the ledger throws */
  async settle(signal: AbortSignal): Promise<void> {
    const outcomes = this.#outcomes
    this.#outcomes = []
    if (outcomes.length > 0) await this.#delivery?.hold(outcomes, {signal})
  }
}
