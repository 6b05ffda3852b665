import {afterEach, describe, expect, test, vi} from 'vitest'
import {InterruptedError} from '../../../src/lib/errors.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {SETTLE_MS} from '../../../src/lib/replay/in-flight.ts'
import {verifyPlan} from '../../../src/lib/replay/verify-plan.ts'
import {runReplay} from '../../../src/lib/replay/run-replay.ts'
import {FakeTarget, archiveOf, closeArchives, connectSet, deadLetter} from './support.ts'
import {RUN, letters, run, world} from './run-support.ts'

afterEach(closeArchives)

describe('what a plan is not executed on', () => {
  test('another source or target cluster', async () => {
    const there = await world(letters(1))
    const target = new FakeTarget({orders: {partitions: 6}}, 'another')
    await expect(run({...there, target})).rejects.toMatchObject({exitCode: 6, code: 'E_PLAN_CLUSTER'})
    expect(target.opened).toBe(0)
  })

  test('a target topic that was recreated, deleted or narrowed', async () => {
    const target = new FakeTarget({orders: {partitions: 6, id: 'first'}})
    const there = await world(letters(1), {}, {target})
    target.topics.set('orders', {partitions: 6, id: 'second'})
    await expect(run(there)).rejects.toMatchObject({exitCode: 6, code: 'E_PLAN_RECREATED'})
    target.topics.delete('orders')
    await expect(run(there)).rejects.toMatchObject({exitCode: 6})
    target.topics.set('orders', {partitions: 3, id: 'first'})
    await expect(run(there)).rejects.toMatchObject({exitCode: 6, code: 'E_PLAN_CHANGED'})
    expect(target.opened).toBe(0)
  })

  test('a topic that was widened matters only where the number decides', async () => {
    const byOrigin = await world(letters(1))
    byOrigin.target.topics.set('orders', {partitions: 12})
    expect((await run(byOrigin)).result.counts.replayed).toBe(1)
    const target = {topic: '{origin.topic}', partitionRule: 'key', partitionFallback: null} as const
    const byKey = await world(letters(1), {target})
    byKey.target.topics.set('orders', {partitions: 12})
    await expect(run(byKey)).rejects.toMatchObject({code: 'E_PLAN_CHANGED'})
  })

  test.each([
    ['a target', 'orders'],
    ['read', 'orders-dlq'],
    ['the ledger', 'kdlq-ledger'],
  ])('a plan changed by hand so that its parking topic is %s', async (_, topic) => {
    const target = new FakeTarget({
      orders: {partitions: 6},
      parking: {partitions: 6},
      'orders-dlq': {partitions: 6},
      'kdlq-ledger': {partitions: 6},
    })
    const there = await world(letters(1), {parkingTopic: 'parking'}, {target})
    const {parking} = there.plan
    if (parking === null) throw new Error('the plan parks nothing')
    const {kind, clusterId, name} = there.plan.target
    const source = {...there.plan.source, kind, clusterId, name}
    const ledger = {kind: 'topic', name: 'kdlq-ledger'} as const
    const plan = {...there.plan, source, ledger, parking: {...parking, topic}}
    await expect(verifyPlan({source: target, target}, plan)).rejects.toMatchObject({
      exitCode: 6,
      code: 'E_PLAN_CHANGED',
      message: expect.stringContaining(`parking topic ${topic} is`) as string,
    })
    expect(target.opened).toBe(0)
  })

  test('a plan changed by hand writes nothing that it does not show', async () => {
    const there = await world(letters(10))
    const {plan} = there
    const outcome = async (changed: ReplayPlan): Promise<Record<string, number>> => {
      const target = new FakeTarget({orders: {partitions: 6}})
      const input = {run: RUN, plan: changed, maxFailed: null, maxDurationMs: null, deliveryTimeoutMs: 30_000}
      const {result} = await runReplay({...there, target}, input)
      return {replayed: result.counts.replayed, failed: result.counts.failed}
    }
    expect(await outcome(plan)).toEqual({replayed: 10, failed: 0})
    const [shown] = plan.targets
    if (shown === undefined) throw new Error('no target')
    expect(await outcome({...plan, targets: [{...shown, count: 4}]})).toEqual({replayed: 4, failed: 6})
    expect(await outcome({...plan, targets: [{...shown, partition: 4}]})).toEqual({replayed: 0, failed: 10})
    expect(await outcome({...plan, targets: []})).toEqual({replayed: 0, failed: 10})
  })

  test('a plan that its own checks refuse', async () => {
    const there = await world([deadLetter(0, {value: null})])
    await expect(run(there)).rejects.toMatchObject({
      exitCode: 6,
      code: 'E_CHECKS_REFUSED',
      message: 'refused by check tombstone (1), nothing was written',
    })
    expect(there.target.opened).toBe(0)
  })

  test('[BR-74] a plan without records opens no producer and counts zero', async () => {
    const there = await world(letters(1))
    const plan = {
      ...there.plan,
      source: {...there.plan.source, ranges: []},
      counts: {selected: 0, toReplay: 0, skipped: 0, held: 0, parked: 0, refused: 0},
    }
    const {result} = await run({...there, plan})
    expect(result.counts.selected).toBe(0)
    expect(there.target.opened).toBe(0)
  })
})

describe('what was planned and is no longer there', () => {
  test('is gone', async () => {
    const there = await world(letters(5))
    const source = await archiveOf(letters(3))
    const planned = {...there.plan, source: {...there.plan.source, clusterId: source.description.clusterId}}
    const {result} = await run({...there, source, plan: planned})
    expect(result.counts).toMatchObject({selected: 5, replayed: 3, gone: 2})
  })

  test('older copies of one origin are skipped, as the plan says', async () => {
    const copies = [0, 1].map(offset =>
      deadLetter(offset, {key: null, value: Buffer.from('v'), headers: connectSet('orders', 3, 9)}),
    )
    const there = await world([...copies, deadLetter(2)])
    const {result} = await run(there)
    expect(result.counts).toMatchObject({selected: 3, replayed: 2, skipped: 1})
  })
})

describe('a run that is stopped', () => {
  test('[BR-69] settles the chunk in flight and says how many were done', async () => {
    const there = await world(letters(100), {rate: 1 / 60}, {auto: false})
    const controller = new AbortController()
    const running = run(there, {}, controller.signal)
    await vi.waitFor(() => expect(there.target.written).toHaveLength(1))
    controller.abort(new InterruptedError('SIGTERM'))
    const {result, error} = await running
    expect(result.counts).toMatchObject({selected: 1, replayed: 1})
    expect(result.stopped).toEqual({reason: 'signal', remaining: 99, settled: true})
    expect(error).toMatchObject({exitCode: 143})
    expect(there.target.closed).toBeGreaterThan(0)
  })

  test('a target that never answers gets 1.5 s; then its chunk is unknown, named, and the run returns', async () => {
    const there = await world(letters(100), {rate: 500}, {auto: false})
    const never = Promise.withResolvers<void>()
    there.target.before = () => never.promise
    const controller = new AbortController()
    const running = run(there, {}, controller.signal)
    await vi.waitFor(() => expect(there.target.calls).toHaveLength(1))
    controller.abort(new InterruptedError('SIGINT'))
    await vi.waitFor(() => expect(there.clock.sleeps).toContain(SETTLE_MS))
    await there.clock.advance(SETTLE_MS - 1)
    let returned = false
    const watched = running.then(outcome => {
      returned = true
      return outcome
    })
    await Promise.resolve()
    expect(returned).toBe(false)
    await there.clock.advance(1)
    const {result, error} = await watched
    expect(result.stopped).toEqual({reason: 'signal', remaining: 50, settled: false})
    expect(result.counts).toMatchObject({replayed: 0, unknown: 50})
    expect(result.failures[0]).toMatchObject({address: 'orders-dlq:0:0', state: 'unknown', code: 'E_UNSETTLED'})
    expect(error).toMatchObject({exitCode: 130})
    // What comes late is no longer counted.
    never.resolve()
    await Promise.resolve()
    expect(result.counts.replayed).toBe(0)
  })

  test('--max-duration ends it like a signal, without an error', async () => {
    const there = await world(letters(100), {rate: 10}, {auto: false})
    const running = run(there, {maxDurationMs: 250})
    await vi.waitFor(() => expect(there.target.written).toHaveLength(1))
    for (let step = 0; step < 5; step++) {
      await there.clock.advance(50)
      for (let turn = 0; turn < 50; turn++) await Promise.resolve()
    }
    const {result, error} = await running
    expect(result.stopped).toMatchObject({reason: 'max-duration', settled: true})
    expect(result.counts.replayed).toBeGreaterThanOrEqual(1)
    expect(error).toBeNull()
  })
})
