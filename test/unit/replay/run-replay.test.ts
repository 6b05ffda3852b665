import {afterEach, describe, expect, test, vi} from 'vitest'
import {InterruptedError, KafkaError} from '../../../src/lib/errors.ts'
import type {Cluster} from '../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import {parseProvenance} from '../../../src/lib/replay/provenance.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {PlanInput} from '../../../src/lib/replay/plan-input.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {SETTLE_MS} from '../../../src/lib/replay/in-flight.ts'
import {verifyPlan} from '../../../src/lib/replay/verify-plan.ts'
import {runReplay} from '../../../src/lib/replay/run-replay.ts'
import type {RunInput} from '../../../src/lib/replay/run-input.ts'
import type {ReplayOutcome} from '../../../src/lib/replay/result.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {archiveOf, closeArchives, connectSet, deadLetter, FakeTarget, header, inputFor, NOW} from './support.ts'

afterEach(closeArchives)

const RUN = 'r-01ARYZ6S410000000000000000'
const NO_PROVENANCE = {...DEFAULT_HEADER_POLICY, provenance: false}
type Writable<T> = {-readonly [name in keyof T]?: T[name]}

interface World {
  readonly source: Cluster
  readonly target: FakeTarget
  readonly clock: FakeClock
  readonly plan: ReplayPlan
}

async function world(
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

async function run(world: World, over: Writable<RunInput> = {}, signal?: AbortSignal): Promise<ReplayOutcome> {
  const input = {run: RUN, plan: world.plan, maxFailed: null, maxDurationMs: null, deliveryTimeoutMs: 30_000, ...over}
  const outcome = await runReplay(world, input, {signal})
  const {selected, cameBack: _, ...parts} = outcome.result.counts
  expect(Object.values(parts).reduce((sum, count) => sum + count, 0)).toBe(selected)
  expect(selected + (outcome.result.stopped?.remaining ?? 0)).toBe(world.plan.counts.selected)
  return outcome
}

const letters = (count: number): KafkaRecord[] => Array.from({length: count}, (_, offset) => deadLetter(offset))

describe('a replayed record', () => {
  const hostile = deadLetter(0, {
    key: Buffer.of(0),
    value: Buffer.from([0x0a, 0x00, 0xff, 0x0a]),
    headers: [
      header('a', '1'),
      header('b', null),
      header('a', ''),
      {name: Buffer.of(0xff, 0xfe), value: Buffer.of(0x80)},
      ...connectSet('orders', 3, 7),
      header('', 'no name'),
      header('type', 'order.v2'),
    ],
  })

  test('[BR-53] [BR-21] [BR-23] [BR-33] [BR-64] without provenance is the original, byte for byte', async () => {
    const there = await world([hostile], {headers: NO_PROVENANCE})
    const {result} = await run(there)
    expect(result.counts).toMatchObject({selected: 1, replayed: 1})
    const [written] = there.target.written
    expect(written?.key).toEqual(hostile.key)
    expect(written?.value).toEqual(hostile.value)
    expect(written?.timestamp).toBe(hostile.timestamp)
    expect(written?.partition).toBe(3)
    expect(written?.headers).toEqual([
      ...hostile.headers.slice(0, 4),
      header('', 'no name'),
      header('type', 'order.v2'),
    ])
  })

  test('[BR-31] [BR-32] [BR-62] [BR-63] [BR-77] foreign headers are bytes: kept, not decoded, not counted as failure', async () => {
    const foreign = [
      {name: Buffer.from('kafka_replyPartition'), value: Buffer.of(0, 0, 0, 1)},
      header('testHeader', 'SGVhZGVyVmFsdWU='),
      {name: Buffer.from('__value_schema_id'), value: Buffer.from('0102030405060708090a0b0c0d0e0f10', 'hex')},
      {name: Buffer.from('large-message'), value: Buffer.of(0xff, 0x00)},
      {name: Buffer.from('amqp'), value: Buffer.of(0xa1, 0xff)},
    ]
    const there = await world([deadLetter(0, {headers: [...connectSet('orders', 3, 1), ...foreign]})], {
      headers: NO_PROVENANCE,
    })
    await run(there)
    expect(there.target.written[0]?.headers).toEqual(foreign)
  })

  test('with provenance differs by exactly that header', async () => {
    const there = await world([hostile])
    await run(there)
    const headers = there.target.written[0]?.headers ?? []
    expect(headers).toHaveLength(7)
    expect(parseProvenance(headers.at(-1)?.value ?? null)).toEqual({run: RUN, attempt: 1, deadLetter: 'orders-dlq:0:0'})
  })

  test('a second replay replaces the provenance and counts on', async () => {
    const before = header('kdlq.replay', '{"run":"r-0","attempt":4,"deadLetter":"orders-dlq:0:9"}')
    const there = await world([deadLetter(0, {headers: [before, ...connectSet('orders', 3, 1)]})], {maxAttempts: 5})
    await run(there)
    const [only, ...others] = there.target.written[0]?.headers ?? []
    expect(others).toEqual([])
    expect(parseProvenance(only?.value ?? null)?.attempt).toBe(5)
  })

  test.each([
    ['null key', {key: null}],
    ['empty key and value', {key: Buffer.alloc(0), value: Buffer.alloc(0)}],
    ['tombstone', {value: null}],
    ['text null', {value: Buffer.from('null')}],
    ['1 MiB value', {value: Buffer.alloc(1024 * 1024, 'x')}],
  ])('[BR-56] keeps: %s', async (_, over) => {
    const record = deadLetter(0, over)
    const there = await world([record], {allow: ['tombstone'], headers: NO_PROVENANCE})
    await run(there)
    expect(there.target.written[0]?.key).toEqual(record.key)
    expect(there.target.written[0]?.value).toEqual(record.value)
  })

  test('[BR-65] one record and a hundred of it come out the same', async () => {
    const many = await world(
      Array.from({length: 100}, (_, offset) => ({
        ...hostile,
        offset: BigInt(offset),
        headers: [...hostile.headers.slice(0, 4), ...connectSet('orders', 3, offset)],
      })),
      {headers: NO_PROVENANCE},
    )
    await run(many)
    expect(many.target.written).toHaveLength(100)
    for (const written of many.target.written) {
      expect([written.key, written.value, written.headers]).toEqual([
        hostile.key,
        hostile.value,
        hostile.headers.slice(0, 4),
      ])
    }
  })

  test('--keep-header, --drop-header and --set-header decide in the order drop, set, keep, strip', async () => {
    const headers = {
      ...NO_PROVENANCE,
      keep: ['__connect.errors.stage', '__connect.errors.topic'],
      drop: ['b', '__connect.errors.topic'],
      set: [{name: 'a', value: 'mine'}],
    }
    const there = await world([hostile], {headers})
    await run(there)
    expect(there.target.written[0]?.headers.map(({name}) => name.toString())).toEqual([
      Buffer.of(0xff, 0xfe).toString(),
      '__connect.errors.stage',
      '',
      'type',
      'a',
    ])
  })

  test('--timestamp now carries the time of its token', async () => {
    const there = await world(letters(120), {timestamp: 'now', rate: 500})
    await run(there)
    const times = there.target.written.map(({timestamp}) => Number(timestamp) - NOW)
    expect(new Set(times)).toEqual(new Set([0, 100, 200]))
    expect(times.filter(time => time === 0)).toHaveLength(50)
  })
})

describe('pace and order', () => {
  test('a chunk is what the rate allows at once, and no token is waited for inside it', async () => {
    const there = await world(letters(120), {rate: 500})
    const {result} = await run(there)
    expect(there.target.calls.map(batches => batches.reduce((sum, {records}) => sum + records, 0))).toEqual([
      50, 50, 20,
    ])
    expect(there.clock.sleeps).toEqual([100, 100])
    expect(result.metrics).toMatchObject({chunks: 3, recordsReplayed: 120, throttledMs: 200})
  })

  test('one record a minute is sent at once and alone, not behind the next wait', async () => {
    const there = await world(letters(3), {rate: 1 / 60}, {auto: false})
    const running = run(there)
    await vi.waitFor(() => expect(there.target.written).toHaveLength(1))
    await there.clock.advance(60_000)
    await vi.waitFor(() => expect(there.target.written).toHaveLength(2))
    await there.clock.advance(60_000)
    const {result} = await running
    expect(result.counts.replayed).toBe(3)
  })

  test('keeps the order of the dead letter topic within a target partition; one call holds several partitions', async () => {
    const records = Array.from({length: 60}, (_, offset) =>
      deadLetter(offset, {headers: connectSet('orders', offset % 3, offset)}),
    )
    const there = await world(records)
    await run(there)
    expect(there.target.calls).toHaveLength(1)
    for (const partition of [0, 1, 2]) {
      const keys = there.target.written
        .filter(written => written.partition === partition)
        .map(({key}) => key?.toString())
      expect(keys).toEqual(records.filter((_, index) => index % 3 === partition).map(({key}) => key?.toString()))
    }
  })

  test('a batch stays below max.message.bytes of its target', async () => {
    const target = new FakeTarget({orders: {partitions: 6, configs: {'max.message.bytes': '4000'}}})
    const there = await world(
      Array.from({length: 20}, (_, offset) => deadLetter(offset, {value: Buffer.alloc(1000)})),
      {},
      {target},
    )
    const {result} = await run(there)
    expect(result.counts.replayed).toBe(20)
    expect(Math.max(...target.calls.flat().map(({records}) => records))).toBe(3)
  })
})

describe('what fails', () => {
  const tooLarge = (value: string) => (_: unknown, records: readonly KafkaRecord[]) =>
    records.some(record => record.value?.toString() === value)
      ? {error: new KafkaError('too large', {code: 'E_MESSAGE_TOO_LARGE'}), recordErrors: []}
      : null

  test('[CR-17] [CR-06] a refused batch is split until the bad record is alone; the good ones go, in order', async () => {
    const there = await world(letters(40))
    there.target.answer = tooLarge('v-17')
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 39, failed: 1})
    expect(result.failures).toEqual([
      {address: 'orders-dlq:0:17', state: 'failed', code: 'E_MESSAGE_TOO_LARGE', message: 'too large'},
    ])
    expect(there.target.written.map(({value}) => value?.toString())).toEqual(
      letters(40)
        .map(({value}) => value?.toString())
        .filter(value => value !== 'v-17'),
    )
  })

  test('records that the broker names are taken out at once', async () => {
    const there = await world(letters(10))
    there.target.answer = (_, records) => {
      const recordErrors = records.flatMap((record, index) =>
        ['v-2', 'v-9'].includes(String(record.value)) ? [{index, message: 'bad\n schema'}] : [],
      )
      return recordErrors.length === 0
        ? null
        : {error: new KafkaError('refused', {code: 'E_INVALID_RECORD'}), recordErrors}
    }
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 8, failed: 2})
    expect(result.failures.map(({address, message}) => [address, message])).toEqual([
      ['orders-dlq:0:2', 'refused: bad schema'],
      ['orders-dlq:0:9', 'refused: bad schema'],
    ])
    // one refused call, then the two runs of good ones
    expect(there.target.calls.map(call => call.map(({records}) => records))).toEqual([[10], [2], [6]])
  })

  test('[BR-78] a record that is refused alone is not sent again', async () => {
    const there = await world(letters(1))
    there.target.answer = () => ({error: new KafkaError('no schema', {code: 'E_INVALID_RECORD'}), recordErrors: []})
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 0, failed: 1})
    expect(there.target.calls).toHaveLength(1)
  })

  test('positions outside the batch are not believed', async () => {
    const there = await world(letters(2))
    there.target.answer = (_, records) =>
      records.length > 1
        ? {error: new KafkaError('refused', {code: 'E_INVALID_RECORD'}), recordErrors: [{index: 99, message: null}]}
        : null
    expect((await run(there)).result.counts.replayed).toBe(2)
  })

  test('an error that no record is to blame for fails its partition; the others go on', async () => {
    const records = Array.from({length: 20}, (_, offset) =>
      deadLetter(offset, {headers: connectSet('orders', offset % 2, offset)}),
    )
    const there = await world(records)
    there.target.answer = ({partition}) =>
      partition === 0
        ? {error: new KafkaError('no leader', {code: 'E_NOT_LEADER_OR_FOLLOWER'}), recordErrors: []}
        : null
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 10, failed: 10})
    expect(there.target.calls).toHaveLength(1)
    expect(result.targets).toEqual([{topic: 'orders', partition: 1, count: 10}])
  })

  test('[BR-67] what may have been written is unknown, listed, and never counted as replayed', async () => {
    const records = Array.from({length: 4}, (_, offset) =>
      deadLetter(offset, {headers: connectSet('orders', offset % 2, offset)}),
    )
    const there = await world(records)
    there.target.answer = ({partition}) =>
      partition === 1 ? {error: new KafkaError('not known', {code: 'E_OUTCOME_UNKNOWN'}), recordErrors: []} : null
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 2, unknown: 2, failed: 0})
    expect(result.failures.map(({address, state}) => [address, state])).toEqual([
      ['orders-dlq:0:1', 'unknown'],
      ['orders-dlq:0:3', 'unknown'],
    ])
  })

  test('a target of which nothing is known any more ends the run', async () => {
    const there = await world(letters(500), {rate: 500})
    there.target.answer = () => ({error: new KafkaError('not known', {code: 'E_OUTCOME_UNKNOWN'}), recordErrors: []})
    const {result, error} = await run(there)
    expect(result.stopped).toMatchObject({reason: 'target-unreachable', settled: true})
    expect(result.counts.unknown).toBe(50)
    expect(error).toMatchObject({code: 'E_OUTCOME_UNKNOWN', exitCode: 5})
  })

  test('a target that takes nothing any more ends the run too, its records are failed', async () => {
    const there = await world(letters(500), {rate: 500})
    there.target.answer = () => ({error: new KafkaError('timeout', {code: 'E_NOT_WRITTEN'}), recordErrors: []})
    const {result, error} = await run(there)
    expect(result.stopped).toMatchObject({reason: 'target-unreachable', remaining: 450})
    expect(result.counts.failed).toBe(50)
    expect(error).toMatchObject({code: 'E_NOT_WRITTEN', exitCode: 5})
  })

  test('--max-failed stops after the chunk that passed it', async () => {
    const there = await world(letters(200), {rate: 100})
    there.target.answer = () => ({
      error: new KafkaError('no', {code: 'E_TOPIC_AUTHORIZATION_FAILED'}),
      recordErrors: [],
    })
    const {result} = await run(there, {maxFailed: 15})
    expect(result.stopped).toMatchObject({reason: 'max-failed', remaining: 180})
    expect(result.counts.failed).toBe(20)
  })

  test('--errors-tolerance none stops at the first failed record', async () => {
    const there = await world(letters(200), {rate: 100})
    there.target.answer = tooLarge('v-3')
    const {result} = await run(there, {maxFailed: 0})
    expect(result.counts).toMatchObject({replayed: 9, failed: 1})
    expect(result.stopped?.reason).toBe('max-failed')
  })

  test('a writer that throws leaves its chunk unknown and the rest unsent', async () => {
    const there = await world(letters(100), {rate: 500})
    there.target.before = async () => {
      throw new KafkaError('connection reset', {code: 'E_NETWORK'})
    }
    const {result, error} = await run(there)
    expect(result.counts).toMatchObject({replayed: 0, unknown: 50})
    expect(result.stopped).toMatchObject({reason: 'error', remaining: 50})
    expect(error).toMatchObject({code: 'E_NETWORK'})
  })
})

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
