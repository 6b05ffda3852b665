import {KafkaError, RecordError} from '../errors.ts'
import {formatAddress} from '../kafka/record.ts'
import type {ChunkEntry, ParkingReason, RecordOutcome} from './chunk.ts'
import type {Delivery} from './delivery.ts'
import type {RunEntry} from './ledger/index-table.ts'
import {capReason, isCapReason} from './ledger-judge.ts'
import {OffsetSet} from './offset-set.ts'
import type {PlanBudget} from './plan-budget.ts'
import type {RunState} from './run-state.ts'

/** Records that were found in the target are written down in portions of this size. */
const FOUND_AT_ONCE = 1000

/** Why something was parked, as far as another process knows. */
const BEFORE: ParkingReason = {
  byPolicy: false,
  code: 'E_FAILED_BEFORE',
  message: 'failed, and was parked, before the run was resumed',
}

/** What earlier processes of a run did: counted at once, not done again, and written down where it was open. */
export class EarlierProcesses {
  readonly #delivery: Delivery | null
  readonly #state: RunState
  readonly #budget: PlanBudget
  readonly #resendUnknown: boolean
  /** The parking topic. */
  readonly #parking: string | null
  readonly #done = OffsetSet.from([])
  /** Found in the target, not yet written down. */
  #found: RecordOutcome[] = []

  /** @param rules.budget of the plan: what was written before is taken from it @param rules.parking the parking topic */
  constructor(
    delivery: Delivery | null,
    state: RunState,
    rules: {readonly budget: PlanBudget; readonly resendUnknown: boolean; readonly parking: string | null},
  ) {
    this.#delivery = delivery
    this.#state = state
    this.#budget = rules.budget
    this.#resendUnknown = rules.resendUnknown
    this.#parking = rules.parking
    for (const entry of delivery?.before ?? []) this.#count(entry)
  }

  /** True for a dead letter that was counted when the run began. */
  did(topic: string, partition: number, offset: bigint): boolean {
    return this.#done.has(topic, partition, offset)
  }

  /**
   * A record that an earlier process may have sent. True = it is counted now.
   * @param isCapped it was to be parked because it was replayed too often
   * @throws what writing it down throws
   */
  async resolve(entry: ChunkEntry, isCapped: boolean, signal: AbortSignal): Promise<boolean> {
    const resolution = this.#delivery?.resolutions.get(formatAddress(entry))
    if (resolution === undefined || resolution.kind === 'absent') return false
    if (resolution.kind === 'found') {
      const {target} = resolution
      const isParked = target.topic === this.#parking
      const reason = isCapped ? {...BEFORE, byPolicy: true, message: capReason(entry.attempt)} : BEFORE
      const outcome: RecordOutcome = isParked
        ? {state: 'parked', entry, reason, target}
        : {state: 'replayed', entry, target}
      this.#state.outcome(outcome)
      if (!isParked) this.#budget.take(target)
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

  #count({source, state, target, reason}: RunEntry): void {
    if (state === 'replayed' && target !== null) {
      this.#state.replayedBefore(target)
      this.#budget.take(target)
    } else if (state === 'parked') {
      this.#state.park(source, {...BEFORE, byPolicy: isCapReason(reason)})
    } else if (state === 'failed') {
      const error = new RecordError('failed before the run was resumed', {code: 'E_FAILED_BEFORE'})
      this.#state.fail(source, 'failed', error)
    } else return
    this.#done.add(source.topic, source.partition, source.offset)
  }
}
