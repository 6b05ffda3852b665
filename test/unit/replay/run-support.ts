import {DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import {expect} from 'vitest'
import type {Cluster} from '../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {PlanInput} from '../../../src/lib/replay/plan-input.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {runReplay} from '../../../src/lib/replay/run-replay.ts'
import type {RunInput} from '../../../src/lib/replay/run-input.ts'
import type {ReplayOutcome} from '../../../src/lib/replay/result.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {FakeTarget, NOW, archiveOf, deadLetter, inputFor} from './support.ts'

export const RUN = 'r-01ARYZ6S410000000000000000'
export const NO_PROVENANCE = {...DEFAULT_HEADER_POLICY, provenance: false}
export type Writable<T> = {-readonly [name in keyof T]?: T[name]}

export interface World {
  readonly source: Cluster
  readonly target: FakeTarget
  readonly clock: FakeClock
  readonly plan: ReplayPlan
}

export async function world(
  records: readonly KafkaRecord[],
  over: Writable<PlanInput> = {},
  options: {readonly auto?: boolean; readonly target?: FakeTarget} = {},
): Promise<World> {
  const source = await archiveOf(records)
  const target = options.target ?? new FakeTarget({orders: {partitions: 6}})
  const clock = new FakeClock({now: NOW, auto: options.auto ?? true})
  const {plan} = await planReplay({source, target, clock}, await inputFor(source, over))
  return {source, target, clock, plan}
}

export async function run(world: World, over: Writable<RunInput> = {}, signal?: AbortSignal): Promise<ReplayOutcome> {
  const input = {run: RUN, plan: world.plan, maxFailed: null, maxDurationMs: null, deliveryTimeoutMs: 30_000, ...over}
  const outcome = await runReplay(world, input, {signal})
  const {selected, cameBack: _, ...parts} = outcome.result.counts
  expect(Object.values(parts).reduce((sum, count) => sum + count, 0)).toBe(selected)
  expect(selected + (outcome.result.stopped?.remaining ?? 0)).toBe(world.plan.counts.selected)
  return outcome
}

export const letters = (count: number): KafkaRecord[] => Array.from({length: count}, (_, offset) => deadLetter(offset))
