import {KafkaError, RecordError} from '../errors.ts'
import {formatAddress} from '../kafka/record.ts'
import type {ChunkEntry, RecordOutcome} from './chunk.ts'
import type {Delivery} from './delivery.ts'
import type {RunEntry} from './ledger/index-table.ts'
import {OffsetSet} from './offset-set.ts'
import type {PlanBudget} from './plan-budget.ts'
import type {RunState} from './run-state.ts'

/** Records that were found in the target are written down in portions of this size. */
const FOUND_AT_ONCE = 1000

/** What earlier processes of a run did: counted at once, not done again, and written down where it was open. */
export class EarlierProcesses {
  readonly #delivery: Delivery | null
  readonly #state: RunState
  readonly #budget: PlanBudget
  readonly #resendUnknown: boolean
  readonly #done = OffsetSet.from([])
  /** Found in the target, not yet written down. */
  #found: RecordOutcome[] = []

  /** @param budget of the plan: what was written before is taken from it */
  constructor(delivery: Delivery | null, state: RunState, budget: PlanBudget, resendUnknown: boolean) {
    this.#delivery = delivery
    this.#state = state
    this.#budget = budget
    this.#resendUnknown = resendUnknown
    for (const entry of delivery?.before ?? []) this.#count(entry)
  }

  /** True for a dead letter that was counted when the run began. */
  did(topic: string, partition: number, offset: bigint): boolean {
    return this.#done.has(topic, partition, offset)
  }

  /** A record that an earlier process may have sent. True = it is counted now. @throws what writing it down throws */
  async resolve(entry: ChunkEntry, signal: AbortSignal): Promise<boolean> {
    const resolution = this.#delivery?.resolutions.get(formatAddress(entry))
    if (resolution === undefined || resolution.kind === 'absent') return false
    if (resolution.kind === 'found') {
      const outcome = {state: 'replayed', entry, target: resolution.target} as const
      this.#state.outcome(outcome)
      this.#budget.take(resolution.target)
      this.#found.push(outcome)
      if (this.#found.length >= FOUND_AT_ONCE) await this.settle(signal)
      return true
    }
    if (this.#resendUnknown) return false
    const error = new KafkaError('was being sent when the run was stopped, and cannot be looked for in the target', {
      code: 'E_OUTCOME_UNKNOWN',
      hints: ['look for it in the target, or send it again with --resend-unknown'],
    })
    this.#state.fail(entry, 'unknown', error)
    return true
  }

  /** Write down what was found. */
  async settle(signal: AbortSignal): Promise<void> {
    const found = this.#found
    if (found.length === 0) return
    this.#found = []
    await this.#delivery?.settle(found, {signal})
  }

  #count({source, state, target}: RunEntry): void {
    if (state === 'replayed' && target !== null) {
      this.#state.replayedBefore(target)
      this.#budget.take(target)
    } else if (state === 'failed') {
      const error = new RecordError('failed before the run was resumed', {code: 'E_FAILED_BEFORE'})
      this.#state.fail(source, 'failed', error)
    } else return
    this.#done.add(source.topic, source.partition, source.offset)
  }
}
