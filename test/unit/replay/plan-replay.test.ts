import {readFileSync} from 'node:fs'
import {afterEach, describe, expect, test} from 'vitest'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {CHECKS} from '../../../src/lib/replay/checks.ts'
import {DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {PlanInput} from '../../../src/lib/replay/plan-input.ts'
import {validatePlan} from '../../../src/lib/replay/plan-validate.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {
  archiveAt,
  archiveOf,
  closeArchives,
  connectSet,
  deadLetter,
  FakeTarget,
  header,
  inputFor,
  NOW,
} from './support.ts'
import type {FakeTopic} from './support.ts'

afterEach(closeArchives)

const ORDERS: Readonly<Record<string, FakeTopic>> = {orders: {partitions: 6}}

async function planOf(
  records: readonly KafkaRecord[],
  over: {-readonly [name in keyof PlanInput]?: PlanInput[name]} = {},
  topics: Readonly<Record<string, FakeTopic>> = ORDERS,
): Promise<ReplayPlan> {
  const source = await archiveOf(records)
  const target = new FakeTarget(topics)
  const {plan} = await planReplay({source, target, clock: new FakeClock({now: NOW})}, await inputFor(source, over))
  expect(target.opened).toBe(0)
  expect(plan.counts.toReplay + plan.counts.skipped + plan.counts.refused).toBe(plan.counts.selected)
  // What is planned is what can be read again.
  expect(validatePlan(JSON.parse(JSON.stringify(plan)))).toEqual(plan)
  return plan
}

const check = (plan: ReplayPlan, id: string) => plan.checks.find(result => result.id === id)

describe('planReplay', () => {
  test('names what goes where, in which kinds, and what happens to the headers', async () => {
    const plan = await planOf([deadLetter(0), deadLetter(1), deadLetter(2, {headers: connectSet('orders', 5, 7)})])
    expect(plan.counts).toEqual({selected: 3, toReplay: 3, skipped: 0, held: 0, parked: 0, refused: 0})
    expect(plan.targets.map(({topic, partition, count}) => [topic, partition, count])).toEqual([
      ['orders', 3, 2],
      ['orders', 5, 1],
    ])
    expect(plan.fingerprints.map(({count}) => count)).toEqual([3])
    expect(plan.checks.map(({id}) => id)).toEqual(CHECKS.map(({id}) => id))
    expect(plan.checks.every(({level}) => level === 'ok')).toBe(true)
    expect(plan.samples[0]?.address).toBe('orders-dlq:0:0')
    expect(plan.samples[0]?.target).toBe('orders:3')
    expect(plan.samples[0]?.after).toEqual(['trace', 'kdlq.replay'])
    expect(plan.samples[0]?.removed).toHaveLength(10)
    expect(plan.samples[0]?.added).toEqual(['kdlq.replay'])
    expect(plan.source.ranges).toEqual([
      {topic: 'orders-dlq', topicId: null, partition: 0, from: '0', to: '3', fromTime: null, toTime: null, selected: 3},
    ])
  })

  test('[BR-09] the target partition is the origin partition, never that of the dead letter topic', async () => {
    const plan = await planOf([deadLetter(0, {headers: connectSet('orders', 11, 7)})], {}, {orders: {partitions: 12}})
    expect(plan.targets).toMatchObject([{topic: 'orders', partition: 11, count: 1}])
  })

  test('[BR-08] [CR-10] a dead letter topic of another width changes nothing about the target', async () => {
    const narrow = deadLetter(0, {partition: 1, headers: connectSet('orders', 5, 7)})
    const wide = deadLetter(0, {partition: 6, headers: connectSet('orders', 2, 9)})
    const plan = await planOf([narrow, wide])
    expect(plan.targets.map(({partition}) => partition)).toEqual([2, 5])
  })

  test('[BR-10] an origin partition that is gone refuses before anything is sent and names the records', async () => {
    const records = [deadLetter(0), deadLetter(1, {headers: connectSet('orders', 9, 4)})]
    const refused = await planOf(records, {}, {orders: {partitions: 4}})
    expect(refused.counts).toEqual({selected: 2, toReplay: 1, skipped: 0, held: 0, parked: 0, refused: 1})
    expect(check(refused, 'target-partition')).toMatchObject({
      level: 'refuse',
      count: 1,
      addresses: ['orders-dlq:0:1'],
      detail: 'orders has 4 partitions, no partition 9',
    })
    const target = {topic: '{origin.topic}', partitionRule: 'origin', partitionFallback: 'key'} as const
    const allowed = await planOf(records, {target}, {orders: {partitions: 4}})
    expect(allowed.counts.toReplay).toBe(2)
  })

  test('[BR-17] [BR-71] records without origin refuse; with --target-topic and the key rule they go', async () => {
    const records = [deadLetter(0, {headers: [header('trace', 'x')]}), deadLetter(1)]
    const refused = await planOf(records)
    expect(check(refused, 'no-origin')).toMatchObject({level: 'refuse', count: 1, addresses: ['orders-dlq:0:0']})
    const target = {topic: 'orders', partitionRule: 'key', partitionFallback: null} as const
    expect((await planOf(records, {target})).counts).toMatchObject({toReplay: 2, refused: 0})
    expect((await planOf(records, {skip: ['no-origin']})).counts).toMatchObject({
      toReplay: 1,
      skipped: 1,
      held: 0,
      refused: 0,
    })
  })

  test('an illegal origin topic refuses and is never looked up', async () => {
    const plan = await planOf([deadLetter(0, {headers: connectSet('or/ders', 0, 1)})])
    expect(check(plan, 'illegal-topic')).toMatchObject({level: 'refuse', count: 1})
    expect(plan.target.topics).toEqual([])
  })

  test('a target that does not exist refuses', async () => {
    const plan = await planOf([deadLetter(0)], {}, {})
    expect(check(plan, 'target-missing')).toMatchObject({level: 'refuse', count: 1, detail: 'no topic orders'})
  })

  test('[BR-58] a tombstone needs consent; with it, it is planned as one', async () => {
    const records = [deadLetter(0, {value: null}), deadLetter(1, {value: Buffer.from('null')})]
    const refused = await planOf(records)
    expect(check(refused, 'tombstone')).toMatchObject({level: 'refuse', count: 1, addresses: ['orders-dlq:0:0']})
    const allowed = await planOf(records, {allow: ['tombstone']})
    expect(check(allowed, 'tombstone')).toMatchObject({level: 'allowed', count: 1})
    expect(allowed.counts.toReplay).toBe(2)
    const skipped = await planOf(records, {skip: ['tombstone']})
    expect(check(skipped, 'tombstone')).toMatchObject({level: 'skipped', count: 1})
    expect(skipped.counts).toEqual({selected: 2, toReplay: 1, skipped: 1, held: 0, parked: 0, refused: 0})
  })

  test('[BR-04] size is checked after the headers were stripped, and both numbers are told', async () => {
    const stack = header('__connect.errors.exception.stacktrace', 's'.repeat(2000))
    const headers = [...connectSet('orders', 3, 1), stack]
    const topics = {orders: {partitions: 6, configs: {'max.message.bytes': '1048'}}}
    const fits = await planOf([deadLetter(0, {headers})], {}, topics)
    expect(fits.counts.toReplay).toBe(1)
    const large = await planOf([deadLetter(0, {headers, value: Buffer.alloc(1000)})], {}, topics)
    expect(check(large, 'record-size')?.level).toBe('refuse')
    expect(check(large, 'record-size')?.detail).toMatch(/^1\d{3} bytes \(3\d{3} as dead letter\), target takes 1048$/)
  })

  test('a kept timestamp older than the retention of the target refuses; --timestamp now does not', async () => {
    const topics = {orders: {partitions: 6, configs: {'retention.ms': '3600000', 'cleanup.policy': 'compact,delete'}}}
    const old = [deadLetter(0, {timestamp: BigInt(NOW - 3_600_001)}), deadLetter(1)]
    const refused = await planOf(old, {}, topics)
    expect(check(refused, 'timestamp-retention')).toMatchObject({level: 'refuse', addresses: ['orders-dlq:0:0']})
    expect((await planOf(old, {timestamp: 'now'}, topics)).counts.refused).toBe(0)
    const compacted = {orders: {partitions: 6, configs: {'retention.ms': '3600000', 'cleanup.policy': 'compact'}}}
    expect((await planOf(old, {}, compacted)).counts.refused).toBe(0)
    const forEver = {orders: {partitions: 6, configs: {'retention.ms': '-1', 'cleanup.policy': 'delete'}}}
    expect((await planOf(old, {}, forEver)).counts.refused).toBe(0)
  })

  test('a time too far ahead of the broker refuses', async () => {
    const topics = {orders: {partitions: 6, configs: {'message.timestamp.after.max.ms': '3600000'}}}
    const plan = await planOf([deadLetter(0, {timestamp: BigInt(NOW + 7_200_000)})], {}, topics)
    expect(check(plan, 'timestamp-range')).toMatchObject({level: 'refuse', count: 1})
  })

  test('[BR-51] a LogAppendTime target is told about: it keeps no original time', async () => {
    const topics = {orders: {partitions: 6, configs: {'message.timestamp.type': 'LogAppendTime', 'retention.ms': '1'}}}
    const plan = await planOf([deadLetter(0)], {}, topics)
    expect(check(plan, 'log-append-time')).toMatchObject({level: 'warn', count: 1})
    expect(plan.counts.refused).toBe(0)
  })

  test('a lost time is said, and the time of sending is used', async () => {
    const plan = await planOf([deadLetter(0, {timestamp: null, timestampType: 'NoTimestampType'})])
    expect(check(plan, 'timestamp-lost')).toMatchObject({level: 'warn', count: 1})
    expect(plan.samples[0]?.timestamp).toBeNull()
  })

  test('a target that is read by the run, or named like a dead letter topic, refuses', async () => {
    const records = [deadLetter(0, {headers: connectSet('orders-retry', 3, 1)})]
    const plan = await planOf(records, {}, {'orders-retry': {partitions: 6}})
    expect(check(plan, 'target-is-dlq')).toMatchObject({level: 'refuse', count: 1})
    const allowed = await planOf(records, {allow: ['target-is-dlq']}, {'orders-retry': {partitions: 6}})
    expect(allowed.counts.toReplay).toBe(1)
    const source = await archiveOf([deadLetter(0, {topic: 'orders', headers: connectSet('orders', 0, 1)})])
    const target = new FakeTarget(ORDERS, source.description.clusterId ?? '')
    const same = await planReplay({source, target, clock: new FakeClock()}, await inputFor(source))
    expect(check(same.plan, 'target-is-dlq')?.detail).toBe('orders is the topic being read')
  })

  test('origin coordinates from different failures refuse', async () => {
    const headers = [header('__connect.errors.topic', 'customers'), ...connectSet('orders', 3, 1)]
    const plan = await planOf([deadLetter(0, {headers})], {}, {...ORDERS, customers: {partitions: 6}})
    expect(check(plan, 'ragged-origin')).toMatchObject({level: 'refuse', count: 1})
  })

  test('a skipped record refuses nothing, whatever else is wrong with it', async () => {
    const plan = await planOf([deadLetter(0, {value: null, headers: []}), deadLetter(1)], {skip: ['tombstone']})
    expect(plan.counts).toEqual({selected: 2, toReplay: 1, skipped: 1, held: 0, parked: 0, refused: 0})
    expect(plan.checks.some(({level}) => level === 'refuse')).toBe(false)
  })

  test('at most 20 addresses are named, those that refuse', async () => {
    const plan = await planOf(Array.from({length: 50}, (_, offset) => deadLetter(offset, {value: null})))
    expect(check(plan, 'tombstone')).toMatchObject({count: 50})
    expect(check(plan, 'tombstone')?.addresses).toHaveLength(20)
  })

  test('a configuration that cannot be read leaves checks unknown, with the reason', async () => {
    const {KafkaError} = await import('../../../src/lib/errors.ts')
    const plan = await planOf(
      [deadLetter(0)],
      {},
      {orders: {partitions: 6, configError: new KafkaError('not allowed')}},
    )
    expect(check(plan, 'record-size')).toMatchObject({level: 'unknown', detail: 'orders: not allowed'})
    expect(plan.counts.toReplay).toBe(1)
  })
})

describe('copies of one origin', () => {
  const copies = [0, 1, 2].map(offset =>
    deadLetter(offset, {key: Buffer.from('k'), value: Buffer.from('v'), headers: connectSet('orders', 3, 77)}),
  )

  test('[BR-14] only the newest is sent, the others are counted', async () => {
    const plan = await planOf([...copies, deadLetter(3)])
    expect(plan.counts).toEqual({selected: 4, toReplay: 2, skipped: 2, held: 0, parked: 0, refused: 0})
    expect(plan.source.exclude).toEqual([{topic: 'orders-dlq', partition: 0, offsets: ['0-1']}])
    expect(check(plan, 'duplicate-origin')).toMatchObject({level: 'left-out', count: 2})
    expect(plan.targets).toMatchObject([{partition: 3, count: 2}])
    // What is shown is a record that goes out.
    expect(plan.samples[0]?.address).toBe('orders-dlq:0:2')
  })

  test('the newest is the one with the highest time, also across partitions', async () => {
    const late = deadLetter(0, {...copies[0], timestamp: BigInt(NOW)})
    const early = deadLetter(0, {...copies[0], partition: 1, timestamp: BigInt(NOW - 5)})
    const plan = await planOf([late, early])
    expect(plan.source.exclude).toEqual([{topic: 'orders-dlq', partition: 1, offsets: ['0']}])
  })

  test('copies that differ refuse; allowed all go, skipped the older ones stay', async () => {
    const other = deadLetter(5, {key: Buffer.from('k'), value: Buffer.from('w'), headers: connectSet('orders', 3, 77)})
    const records = [copies[0] ?? other, other]
    expect((await planOf(records)).counts).toMatchObject({refused: 1, toReplay: 1})
    expect((await planOf(records, {allow: ['duplicate-origin']})).counts).toMatchObject({toReplay: 2, skipped: 0})
    const skipped = await planOf(records, {skip: ['duplicate-origin']})
    expect(skipped.counts).toMatchObject({toReplay: 1, skipped: 1})
    expect(skipped.source.exclude).toEqual([{topic: 'orders-dlq', partition: 0, offsets: ['0']}])
  })
})

describe('what a plan means', () => {
  const records = Array.from({length: 10}, (_, offset) =>
    deadLetter(offset, {timestamp: BigInt(NOW - 1000 + ((offset * 7) % 10))}),
  )

  test('a limit ends the ranges behind the last record that is meant', async () => {
    const source = await archiveOf([...records, deadLetter(0, {partition: 1})])
    const input = await inputFor(source)
    const {plan} = await planReplay(
      {source, target: new FakeTarget(ORDERS), clock: new FakeClock({now: NOW})},
      {...input, selection: {...input.selection, limit: 4}},
    )
    expect(plan.counts.selected).toBe(4)
    expect(plan.source.ranges).toMatchObject([{partition: 0, from: '0', to: '4', selected: 4}])
  })

  test('a tail becomes a list of what is meant', async () => {
    const source = await archiveOf(records)
    const input = await inputFor(source)
    const {plan} = await planReplay(
      {source, target: new FakeTarget(ORDERS), clock: new FakeClock({now: NOW})},
      {...input, selection: {...input.selection, tail: 3}},
    )
    expect(plan.counts.selected).toBe(3)
    // times are (offset * 7) mod 10: 9, 8 and 7 belong to offsets 7, 4 and 1
    expect(plan.source.include).toEqual([{topic: 'orders-dlq', partition: 0, offsets: ['1', '4', '7']}])
  })

  test('filters are kept as they were typed', async () => {
    const source = await archiveOf([deadLetter(0), deadLetter(1)])
    const input = await inputFor(source)
    const filters = {include: {key: ['k-1']}, exclude: {}}
    const {plan} = await planReplay(
      {source, target: new FakeTarget(ORDERS), clock: new FakeClock({now: NOW})},
      {...input, selection: {...input.selection, filters}},
    )
    expect(plan.counts.selected).toBe(1)
    expect(plan.source.filters).toEqual(filters)
  })

  test('[BR-34] the policy names what is removed: a listed header goes, tracing stays', async () => {
    const headers = [header('__op-cluster', 'a'), header('traceparent', 't'), ...connectSet('orders', 3, 1)]
    const plan = await planOf([deadLetter(0, {headers})], {headers: {...DEFAULT_HEADER_POLICY, drop: ['__op-*']}})
    expect(plan.samples[0]?.removed).toContain('__op-cluster')
    expect(plan.samples[0]?.after).toEqual(['traceparent', 'kdlq.replay'])
  })

  test('an unknown check is a wrong use, with the nearest name', async () => {
    await expect(planOf([deadLetter(0)], {allow: ['tombstones']})).rejects.toMatchObject({
      exitCode: 2,
      code: 'E_UNKNOWN_CHECK',
      hints: ["did you mean 'tombstone'?", expect.stringContaining('checks: pointer')],
    })
    await expect(planOf([deadLetter(0)], {allow: ['pointer']})).rejects.toMatchObject({code: 'E_CHECK_NOT_ALLOWABLE'})
    await expect(planOf([deadLetter(0)], {allow: ['tombstone'], skip: ['tombstone']})).rejects.toMatchObject({
      exitCode: 2,
    })
  })
})

describe('real dead letters', () => {
  const SOURCES: Readonly<Record<string, FakeTopic>> = {
    orders: {partitions: 6},
    payments: {partitions: 6},
    invoices: {partitions: 6},
  }

  test('four copies of one poison record are one record to send', async () => {
    const source = await archiveAt('examples/invoices-dlq.ndjson')
    const {plan} = await planReplay(
      {source, target: new FakeTarget(SOURCES), clock: new FakeClock({now: NOW})},
      await inputFor(source),
    )
    expect(plan.counts).toEqual({selected: 4, toReplay: 1, skipped: 3, held: 0, parked: 0, refused: 0})
  })

  test('every dead letter of orders-dlq is accounted for, per origin partition', async () => {
    const lines = readFileSync('examples/orders-dlq.ndjson', 'utf8').trimEnd().split('\n')
    const source = await archiveAt('examples/orders-dlq.ndjson')
    const {plan, scanned} = await planReplay(
      {source, target: new FakeTarget(SOURCES), clock: new FakeClock({now: NOW})},
      await inputFor(source, {allow: ['tombstone']}),
    )
    expect(plan.counts.selected).toBe(lines.length)
    expect(scanned.every(({complete}) => complete)).toBe(true)
    expect(plan.targets.reduce((sum, {count}) => sum + count, 0)).toBe(plan.counts.toReplay)
  })

  test('dead letters without context headers have no origin', async () => {
    const source = await archiveAt('examples/clickstream-dlq.ndjson')
    const {plan} = await planReplay(
      {source, target: new FakeTarget(SOURCES), clock: new FakeClock({now: NOW})},
      await inputFor(source),
    )
    expect(check(plan, 'no-origin')).toMatchObject({level: 'refuse', count: 40})
  })
})

describe('the parking topic of a plan', () => {
  const TOPICS: Readonly<Record<string, FakeTopic>> = {...ORDERS, parking: {partitions: 2}}

  test('is in it, with what the plan learned about it', async () => {
    const plan = await planOf([deadLetter(0)], {parkingTopic: 'parking'}, TOPICS)
    expect(plan.parking).toMatchObject({topic: 'parking', partitions: 2})
    expect(check(plan, 'parking')?.level).toBe('ok')
    expect(check(plan, 'parking-copy')?.level).toBe('ok')
  })

  test.each([
    ['that does not exist', 'nowhere', 'does not exist'],
    ['that is a target', 'orders', 'is a target of this run'],
    ['that is the ledger', 'kdlq-ledger', 'is the ledger of this run'],
    ["that is one of Kafka's own", '__consumer_offsets', 'is a topic of Kafka itself'],
  ])('%s refuses the run', async (_, parkingTopic, detail) => {
    const ledger = {kind: 'topic', name: 'kdlq-ledger'} as const
    const topics = {...TOPICS, 'kdlq-ledger': {partitions: 12}, __consumer_offsets: {partitions: 50}}
    const plan = await planOf([deadLetter(0)], {parkingTopic, ledger}, topics)
    expect(check(plan, 'parking')).toMatchObject({level: 'refuse', count: 1, detail, addresses: [parkingTopic]})
  })

  test('that is read refuses the run where source and target are one cluster', async () => {
    const source = await archiveOf([deadLetter(0)])
    const clock = new FakeClock({now: NOW})
    const input = await inputFor(source, {parkingTopic: 'orders-dlq'})
    const {plan} = await planReplay({source, target: source, clock}, input)
    expect(check(plan, 'parking')).toMatchObject({level: 'refuse', detail: 'is read by this run'})
  })

  test('cannot be allowed', async () => {
    await expect(planOf([deadLetter(0)], {allow: ['parking']}, TOPICS)).rejects.toThrow('cannot be allowed')
  })

  test('too small for the copies, or compacted, is said', async () => {
    const small = {...TOPICS, parking: {partitions: 2, configs: {'max.message.bytes': '2000'}}}
    const records = [deadLetter(0), deadLetter(1, {value: Buffer.alloc(1000, 'x')})]
    const plan = await planOf(records, {parkingTopic: 'parking'}, small)
    expect(check(plan, 'parking-copy')).toMatchObject({level: 'warn', count: 1, addresses: ['orders-dlq:0:1']})
    expect(check(plan, 'parking-copy')?.detail).toContain('parking takes 2000')
    const compacted = {...TOPICS, parking: {partitions: 2, configs: {'cleanup.policy': 'compact'}}}
    const other = await planOf([deadLetter(0)], {parkingTopic: 'parking'}, compacted)
    expect(check(other, 'parking-copy')).toMatchObject({level: 'warn', addresses: ['parking']})
  })
})
