import {afterEach, describe, expect, test} from 'vitest'
import {freezeSelection} from '../../../src/lib/dead-letter/freeze.ts'
import type {Cluster, ReadRequest} from '../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {PlanInput} from '../../../src/lib/replay/plan-input.ts'
import type {CheckResult, ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {validatePlan} from '../../../src/lib/replay/plan-validate.ts'
import {parseProvenance} from '../../../src/lib/replay/provenance.ts'
import type {ReplayOutcome} from '../../../src/lib/replay/result.ts'
import {runReplay} from '../../../src/lib/replay/run-replay.ts'
import {selectAll} from '../../../src/lib/select/selection.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {archiveOf, closeArchives, connectSet, deadLetter, FakeTarget, header, inputFor, NOW} from './support.ts'

afterEach(closeArchives)

const RUN = 'r-01ARYZ6S410000000000000000'
type Over = {-readonly [name in keyof PlanInput]?: PlanInput[name]}

/** A pointer to an offset of partition 2 of `orders`, as a broker writes it for a share group (KIP-1191). */
function pointer(offset: number, over: Partial<KafkaRecord> = {}): KafkaRecord {
  return deadLetter(offset, {
    key: null,
    value: null,
    timestamp: BigInt(NOW - 1000),
    headers: [
      header('__dlq.errors.topic', 'orders'),
      header('__dlq.errors.partition', '2'),
      header('__dlq.errors.offset', String(offset)),
      header('__dlq.errors.group', 'g'),
      header('__dlq.errors.delivery.count', '5'),
      header('__dlq.errors.message', 'Offset delivery count exceeded the threshold.'),
    ],
    ...over,
  })
}

function original(offset: number, over: Partial<KafkaRecord> = {}): KafkaRecord {
  return {
    topic: 'orders',
    partition: 2,
    offset: BigInt(offset),
    timestamp: BigInt(NOW - 60_000),
    timestampType: 'CreateTime',
    key: Buffer.from(`k-${offset}`),
    value: Buffer.from(`v-${offset}`),
    headers: [header('trace', 'abc'), header('trace', null)],
    ...over,
  }
}

interface World {
  readonly source: Cluster
  readonly target: FakeTarget
  readonly clock: FakeClock
  readonly plan: ReplayPlan
}

/** A plan over the dead letters of an archive that holds `orders` too. */
async function world(records: readonly KafkaRecord[], over: Over = {}): Promise<World> {
  const source = await archiveOf(records)
  const target = new FakeTarget({orders: {partitions: 6}})
  const clock = new FakeClock({now: NOW, auto: true})
  const selection = await freezeSelection(source, selectAll([{kind: 'topic', topic: 'orders-dlq'}]), {
    clock,
    readBaseline: async () => [],
  })
  const input = await inputFor(source, {selection, fromOrigin: true, ...over})
  const {plan} = await planReplay({source, target, clock}, input)
  return {source, target, clock, plan}
}

async function run(there: Omit<World, 'plan'>, plan: ReplayPlan): Promise<ReplayOutcome['result']> {
  const {result} = await runReplay(there, {
    run: RUN,
    plan: validatePlan(JSON.parse(JSON.stringify(plan))),
    maxFailed: null,
    maxDurationMs: null,
    deliveryTimeoutMs: 30_000,
  })
  return result
}

/** What was found, by check. */
function found({checks}: ReplayPlan): Record<string, Pick<CheckResult, 'level' | 'count' | 'detail'>> {
  const told = checks.filter(({level}) => level !== 'ok')
  return Object.fromEntries(told.map(({id, level, count, detail}) => [id, {level, count, detail}]))
}

describe('a pointer', () => {
  test('[BR-13] is refused without --from-origin, and says how it can be replayed', async () => {
    const {plan, target} = await world([pointer(41), original(41)], {fromOrigin: false})
    const check = plan.checks.find(({id}) => id === 'pointer')
    expect(check).toMatchObject({level: 'refuse', count: 1})
    expect(check?.hint).toContain('--from-origin')
    expect(plan.fromOrigin).toBeUndefined()
    expect(target.written).toEqual([])
  })

  test('[BR-13] is replayed as the record at its origin: key, value, headers, time', async () => {
    const there = await world([pointer(41), original(41), original(42)])
    expect(found(there.plan)).toEqual({})
    expect(there.plan.fromOrigin).toEqual({topics: [{topic: 'orders', topicId: null}]})
    const result = await run(there, there.plan)
    expect(result.counts).toMatchObject({selected: 1, replayed: 1})
    const [written] = there.target.written
    const {key, value, timestamp, headers} = original(41)
    expect(written).toMatchObject({topic: 'orders', partition: 2, key, value, timestamp})
    expect(written?.headers.slice(0, -1)).toEqual(headers)
    expect(parseProvenance(written?.headers.at(-1)?.value ?? null)).toEqual({
      run: RUN,
      attempt: 1,
      deadLetter: 'orders-dlq:0:41',
    })
  })

  test('[BR-13] whose origin is gone is unrecoverable: refused, or left out, never sent', async () => {
    const records = [pointer(41), pointer(42), original(42), original(43)]
    const {plan} = await world(records)
    expect(plan.counts).toMatchObject({selected: 2, toReplay: 1, refused: 1})
    expect(found(plan)).toMatchObject({
      'origin-gone': {level: 'refuse', count: 1, detail: 'orders:2 begins at 42: the record was deleted'},
      pointer: {
        level: 'refuse',
        detail: 'unrecoverable: holds no payload, and orders:2 begins at 42: the record was deleted',
      },
    })
    const allowed = await world(records, {allow: ['origin-gone', 'tombstone']})
    expect(allowed.plan.counts.refused).toBe(1)
    const skipped = await world(records, {skip: ['origin-gone']})
    const result = await run(skipped, skipped.plan)
    expect(result.counts).toMatchObject({selected: 2, replayed: 1, skipped: 1})
    expect(skipped.target.written.map(({value}) => value?.toString())).toEqual(['v-42'])
  })

  test('[BR-13] whose origin goes away between plan and run counts as gone, and nothing is sent', async () => {
    const {plan, ...there} = await world([pointer(41), pointer(42), original(41), original(42)])
    const later = await archiveOf([pointer(41), pointer(42), original(42)])
    const source: Cluster = {...there.source, description: there.source.description, reader: later.reader}
    const result = await run({...there, source}, plan)
    expect(result.counts).toMatchObject({selected: 2, replayed: 1, gone: 1, failed: 0})
    expect(result.failures).toEqual([
      {
        address: 'orders-dlq:0:41',
        state: 'gone',
        code: 'E_ORIGIN_GONE',
        message: 'orders:2 begins at 42: the record was deleted',
      },
    ])
    expect(there.target.written.map(({value}) => value?.toString())).toEqual(['v-42'])
  })

  test('[BR-13] [BR-56] to a tombstone is a delete: asked for', async () => {
    const records = [pointer(41), original(41, {value: null})]
    expect(found((await world(records)).plan)).toMatchObject({tombstone: {level: 'refuse'}})
    const there = await world(records, {allow: ['tombstone']})
    await run(there, there.plan)
    expect(there.target.written).toMatchObject([{key: Buffer.from('k-41'), value: null}])
  })

  test('where another record stands now is refused', async () => {
    const records = [pointer(41), original(41, {timestamp: BigInt(NOW + 3_600_000)})]
    expect(found((await world(records)).plan)).toMatchObject({'origin-other': {level: 'refuse', count: 1}})
    const there = await world(records, {allow: ['origin-other']})
    await run(there, there.plan)
    expect(there.target.written).toMatchObject([{value: Buffer.from('v-41')}])
  })

  test('counts on from the mark that an earlier replay left on its origin', async () => {
    const mark = header('kdlq.replay', JSON.stringify({run: 'r-0', attempt: 2, deadLetter: 'orders-dlq:0:7'}))
    const there = await world([pointer(41), original(41, {headers: [header('a', '1'), mark]})])
    await run(there, there.plan)
    const [first, second, ...others] = there.target.written[0]?.headers ?? []
    expect(first).toEqual(header('a', '1'))
    expect(parseProvenance(second?.value ?? null)?.attempt).toBe(3)
    expect(others).toEqual([])
  })
})

describe('a copy that lost something', () => {
  const springSet = (offset: number) => {
    const int = (bytes: 4 | 8, value: number): Buffer => {
      const buffer = Buffer.alloc(bytes)
      if (bytes === 4) buffer.writeInt32BE(value)
      else buffer.writeBigInt64BE(BigInt(value))
      return buffer
    }
    return [
      header('kafka_dlt-exception-fqcn', 'org.springframework.kafka.listener.ListenerExecutionFailedException'),
      header('kafka_dlt-exception-message', 'Listener failed'),
      header('kafka_dlt-original-topic', 'orders'),
      header('kafka_dlt-original-partition', int(4, 2)),
      header('kafka_dlt-original-offset', int(8, offset)),
      header('kafka_dlt-original-timestamp', int(8, NOW - 60_000)),
      header('kafka_dlt-original-timestamp-type', 'CreateTime'),
    ]
  }

  test('[BR-80] serialised again is warned about, and the original bytes are sent', async () => {
    const copy = deadLetter(41, {
      key: Buffer.from('k-41'),
      value: Buffer.from('{"id": 41}'),
      headers: [header('trace', 'abc'), header('trace', null), ...springSet(41)],
    })
    const there = await world([copy, original(41, {value: Buffer.of(0, 0, 0, 0, 7, 82)})])
    expect(found(there.plan)).toEqual({
      'copy-differs': {level: 'warn', count: 1, detail: 'the copy is not the original in its value'},
    })
    await run(there, there.plan)
    expect(there.target.written).toMatchObject([{value: Buffer.of(0, 0, 0, 0, 7, 82)}])
  })

  test('[BR-11] without its value gets it from the source, never a tombstone', async () => {
    const empty = header('springDeserializerExceptionValue', Buffer.from([0xac, 0xed, 0, 5, 1]))
    const copy = deadLetter(41, {key: Buffer.from('k-41'), value: null, headers: [empty, ...springSet(41)]})
    const {plan} = await world([copy, original(41)], {fromOrigin: false})
    expect(plan.counts).toMatchObject({toReplay: 0, refused: 1})
    const there = await world([copy, original(41)])
    expect(there.plan.counts).toMatchObject({toReplay: 1, refused: 0})
    await run(there, there.plan)
    expect(there.target.written).toMatchObject([{value: Buffer.from('v-41')}])
  })

  test('goes as it is where the original is gone, when that is allowed', async () => {
    const copy = deadLetter(41, {headers: [header('trace', 'abc'), ...springSet(41)]})
    expect((await world([copy, original(42)])).plan.counts).toMatchObject({toReplay: 0, refused: 1})
    const there = await world([copy, original(42)], {
      allow: ['origin-gone'],
      headers: {...DEFAULT_HEADER_POLICY, provenance: false},
    })
    await run(there, there.plan)
    expect(there.target.written).toMatchObject([{value: copy.value, headers: [header('trace', 'abc')]}])
  })

  test('without an origin in its headers has none to fetch', async () => {
    const {plan} = await world([deadLetter(41, {headers: connectSet('orders', 2, 41).slice(0, 1)})])
    expect(found(plan)).toMatchObject({
      'origin-gone': {level: 'refuse', detail: 'the headers name no whole origin'},
    })
  })

  test('goes by the key of the original where the key decides', async () => {
    const rule = {topic: 'orders', partitionRule: 'key', partitionFallback: null} as const
    const by = async (key: Buffer | null) =>
      (await world([pointer(41), original(41, {key})], {target: rule})).plan.targets.map(({partition}) => partition)
    const partitions = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(key => by(Buffer.from(key))))
    expect(new Set(partitions.flat()).size).toBeGreaterThan(1)
  })
})

test('many pointers cost few reads, in plan and run, and keep the order of their origins', async () => {
  const count = 300
  const offsets = Array.from({length: count}, (_, index) => index)
  const archive = await archiveOf([
    ...offsets.map(offset => pointer(offset, {offset: BigInt(count - 1 - offset)})),
    ...offsets.map(offset => original(offset)),
  ])
  const reads: ReadRequest[] = []
  const source: Cluster = {
    ...archive,
    description: archive.description,
    reader: {
      topics: (names, options) => archive.reader.topics(names, options),
      offsets: (queries, options) => archive.reader.offsets(queries, options),
      read(request, options) {
        if (request.ranges.some(({topic}) => topic === 'orders')) reads.push(request)
        return archive.reader.read(request, options)
      },
    },
  }
  const target = new FakeTarget({orders: {partitions: 6}})
  const clock = new FakeClock({now: NOW, auto: true})
  const selection = await freezeSelection(source, selectAll([{kind: 'topic', topic: 'orders-dlq'}]), {
    clock,
    readBaseline: async () => [],
  })
  const input = await inputFor(source, {selection, fromOrigin: true, order: 'origin'})
  const {plan} = await planReplay({source, target, clock}, input)
  expect(reads.length).toBeLessThanOrEqual(6)
  const result = await run({source, target, clock}, plan)
  expect(reads.length).toBeLessThanOrEqual(12)
  expect(result.counts.replayed).toBe(count)
  expect(target.written.map(({value}) => value?.toString())).toEqual(offsets.map(offset => `v-${offset}`))
})
