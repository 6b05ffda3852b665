import {expect} from 'vitest'
import type {LogEvent} from '../../../src/lib/connect-engine/reporter.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {PlanInput} from '../../../src/lib/replay/plan-input.ts'
import {DEFAULT_ERRORS} from '../../../src/lib/replay/plan.ts'
import type {PlanErrors, ReplayPlan} from '../../../src/lib/replay/plan.ts'
import type {ReplayOutcome} from '../../../src/lib/replay/result.ts'
import type {RunInput} from '../../../src/lib/replay/run-input.ts'
import {runReplay} from '../../../src/lib/replay/run-replay.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {archiveOf, FakeTarget, inputFor, NOW} from './support.ts'
import type {FakeTopic} from './support.ts'

/** Id of the runs. */
export const RUN = 'r-01ARYZ6S410000000000000000'
/** The parking topic. */
export const PARKING = 'orders-parking'
type Writable<T> = {-readonly [name in keyof T]?: T[name]}

/** Two clusters, a plan between them, and what was logged. */
export interface World {
  readonly target: FakeTarget
  readonly clock: FakeClock
  readonly plan: ReplayPlan
  readonly logged: LogEvent[]
  run(over?: Writable<RunInput>, signal?: AbortSignal): Promise<ReplayOutcome>
}

export const errors = (over: Partial<PlanErrors>): PlanErrors => ({...DEFAULT_ERRORS, ...over})

/** A plan over dead letters, and a target that takes everything unless told otherwise. */
export async function world(
  records: readonly KafkaRecord[],
  over: Writable<PlanInput> = {},
  topics: Readonly<Record<string, FakeTopic>> = {},
  auto = true,
): Promise<World> {
  const source = await archiveOf(records)
  const target = new FakeTarget({orders: {partitions: 6}, [PARKING]: {partitions: 3}, ...topics})
  const clock = new FakeClock({now: NOW, auto})
  const {plan} = await planReplay({source, target, clock}, await inputFor(source, over))
  const logged: LogEvent[] = []
  return {
    target,
    clock,
    plan,
    logged,
    async run(options = {}, signal) {
      const input = {run: RUN, plan, maxFailed: null, maxDurationMs: null, deliveryTimeoutMs: 30_000, ...options}
      const onErrorLogged = (event: LogEvent): void => void logged.push(event)
      const outcome = await runReplay({source, target, clock, onErrorLogged}, input, {signal})
      const {selected, cameBack: _, ...parts} = outcome.result.counts
      expect(Object.values(parts).reduce((sum, count) => sum + count, 0)).toBe(selected)
      expect(selected + (outcome.result.stopped?.remaining ?? 0)).toBe(plan.counts.selected)
      return outcome
    },
  }
}
