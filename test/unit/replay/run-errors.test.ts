import {afterEach, describe, expect, test, vi} from 'vitest'
import {RetriableException} from '../../../src/lib/connect-engine/errors.ts'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import {BugError, InterruptedError, KafkaError, RecordError, UnreachableError} from '../../../src/lib/errors.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {OutgoingFactory} from '../../../src/lib/replay/outgoing.ts'
import {closeArchives, connectSet, deadLetter, type FakeTarget, header, NOW} from './support.ts'
import {RUN, PARKING, type World, errors, world} from './run-world.ts'

afterEach(async () => {
  vi.restoreAllMocks()
  await closeArchives()
})

const letters = (count: number): KafkaRecord[] => Array.from({length: count}, (_, offset) => deadLetter(offset))

/** A target that refuses these values, but not in the parking topic. */
const refuses =
  (values: readonly string[], code = 'E_MESSAGE_TOO_LARGE'): FakeTarget['answer'] =>
  ({topic}, records) =>
    topic !== PARKING && records.some(({value}) => values.includes(String(value)))
      ? {error: new KafkaError('the target said no', {code}), recordErrors: []}
      : null

const inTopic = ({target}: World, name: string): readonly KafkaRecord[] =>
  target.written.filter(({topic}) => topic === name)

describe('a record that its target refuses', () => {
  test('goes to the parking topic as it is, with one more set of context headers that tells of the replay', async () => {
    const hostile = deadLetter(0, {
      key: Buffer.of(0xff, 0),
      value: Buffer.from('big'),
      headers: [header('trace', 'abc'), header('trace', null), ...connectSet('orders', 3, 1000), header('', '')],
    })
    const there = await world([hostile, deadLetter(1)], {parkingTopic: PARKING})
    there.target.answer = refuses(['big'])
    const {result, error} = await there.run()
    expect(error).toBeNull()
    expect(result.counts).toMatchObject({selected: 2, replayed: 1, parked: 1, failed: 0})
    expect(result.parking).toEqual({topic: PARKING, failed: 1, policy: 0})
    expect(result.failures).toEqual([
      {address: 'orders-dlq:0:0', state: 'parked', code: 'E_MESSAGE_TOO_LARGE', message: 'the target said no'},
    ])
    const [parked] = inTopic(there, PARKING)
    if (parked === undefined) throw new Error('nothing was parked')
    expect([parked.key, parked.value, parked.timestamp]).toEqual([hostile.key, hostile.value, hostile.timestamp])
    expect(parked.headers.slice(0, hostile.headers.length)).toEqual(hostile.headers)
    const added = parked.headers.slice(hostile.headers.length)
    expect(added.map(({name, value}) => [String(name).replace('__connect.errors.', ''), String(value)])).toEqual([
      ['topic', 'orders-dlq'],
      ['partition', '0'],
      ['offset', '0'],
      ['connector.name', RUN],
      ['task.id', '0'],
      ['stage', 'KAFKA_PRODUCE'],
      ['class.name', 'kdlq.replay.Producer'],
      ['exception.class.name', 'org.apache.kafka.common.errors.RecordTooLargeException'],
      ['exception.message', 'the target said no'],
      ['exception.stacktrace', 'org.apache.kafka.common.errors.RecordTooLargeException: the target said no\n'],
    ])
    expect(decodeFailure(parked)).toMatchObject({
      dialect: 'connect',
      hops: 2,
      origin: {topic: 'orders', partition: 3, offset: '1000'},
      last: {topic: 'orders-dlq', partition: 0, offset: '0'},
      connector: RUN,
      stage: 'KAFKA_PRODUCE',
    })
    expect(result.metrics).toMatchObject({
      'total-record-failures': 1,
      'total-record-errors': 0,
      'total-records-skipped': 0,
      'total-retries': 0,
      'total-errors-logged': 0,
      'deadletterqueue-produce-requests': 1,
      'deadletterqueue-produce-failures': 0,
      'last-error-timestamp': NOW,
    })
  })

  test('is failed without a parking topic, and counted by the engine all the same', async () => {
    const there = await world(letters(3))
    there.target.answer = refuses(['v-1'])
    const {result} = await there.run()
    expect(result.counts).toMatchObject({replayed: 2, parked: 0, failed: 1})
    expect(result.parking).toBeNull()
    expect(result.metrics).toMatchObject({'total-record-failures': 1, 'deadletterqueue-produce-requests': 0})
  })

  test('is failed, and said to be, when its copy is refused too', async () => {
    const there = await world(letters(3), {parkingTopic: PARKING})
    there.target.answer = (_, records) =>
      records.some(({value}) => String(value) === 'v-1')
        ? {error: new KafkaError('too large', {code: 'E_MESSAGE_TOO_LARGE'}), recordErrors: []}
        : null
    const {result} = await there.run()
    expect(result.counts).toMatchObject({replayed: 2, parked: 0, failed: 1})
    expect(result.failures).toEqual([
      {
        address: 'orders-dlq:0:1',
        state: 'failed',
        code: 'E_NOT_PARKED',
        message: 'too large; and could not be parked: too large',
      },
    ])
    expect(result.metrics).toMatchObject({
      'deadletterqueue-produce-requests': 1,
      'deadletterqueue-produce-failures': 1,
    })
  })

  test('is good, and not parked, when there was nobody to ask', async () => {
    const records = [0, 1].map(offset => deadLetter(offset, {headers: connectSet('orders', offset, offset)}))
    const there = await world(records, {parkingTopic: PARKING})
    there.target.answer = ({partition}) =>
      partition === 0 ? {error: new UnreachableError('no leader', {code: 'E_NOT_WRITTEN'}), recordErrors: []} : null
    const {result} = await there.run()
    expect(result.counts).toMatchObject({replayed: 1, parked: 0, failed: 1})
    expect(inTopic(there, PARKING)).toEqual([])
    expect(result.metrics).toMatchObject({'total-record-failures': 1, 'deadletterqueue-produce-requests': 0})
  })

  test('what may have been written is not parked', async () => {
    const there = await world(letters(2), {parkingTopic: PARKING})
    there.target.answer = () => ({error: new KafkaError('silence', {code: 'E_OUTCOME_UNKNOWN'}), recordErrors: []})
    const {result} = await there.run()
    expect(result.counts).toMatchObject({unknown: 2, parked: 0})
    expect(there.target.written).toEqual([])
  })

  test('a thousand of them go by key, the ones without one spread, none twice', async () => {
    const count = 1000
    const records = Array.from({length: count}, (_, offset) =>
      deadLetter(offset, {
        key: offset % 2 === 0 ? null : Buffer.from(`k-${offset % 10}`),
        value: Buffer.alloc(4000, 'x'),
      }),
    )
    const there = await world(records, {parkingTopic: PARKING})
    there.target.answer = ({topic}) =>
      topic === PARKING ? null : {error: new KafkaError('no', {code: 'E_POLICY_VIOLATION'}), recordErrors: []}
    const {result} = await there.run()
    expect(result.counts).toMatchObject({parked: count})
    const parked = inTopic(there, PARKING)
    const offsets = parked.map(({headers}) =>
      String(headers.findLast(({name}) => String(name).endsWith('.offset'))?.value),
    )
    expect(new Set(offsets).size).toBe(count)
    expect(parked).toHaveLength(count)
    const byKey = Map.groupBy(parked, ({key}) => String(key))
    for (const [key, group] of byKey) {
      expect(new Set(group.map(({partition}) => partition)).size).toBe(key === 'null' ? 3 : 1)
    }
    expect(result.failures).toHaveLength(1000)
  })

  test('keeps its time unless the parking topic would delete or refuse it', async () => {
    const old = deadLetter(0, {timestamp: 1_600_000_000_000n})
    for (const [configs, time] of [
      [{}, 1_600_000_000_000n],
      [{'retention.ms': '86400000'}, BigInt(NOW)],
      [{'message.timestamp.before.max.ms': '1000'}, BigInt(NOW)],
    ] as const) {
      const there = await world([old], {parkingTopic: PARKING}, {[PARKING]: {partitions: 1, configs}})
      there.target.answer = refuses(['v-0'])
      await there.run()
      expect(inTopic(there, PARKING)[0]?.timestamp).toBe(time)
    }
  })
})

describe('errors.tolerance', () => {
  test('none stops behind the chunk with the first failure; what failed is parked all the same', async () => {
    const there = await world(letters(200), {
      rate: 100,
      parkingTopic: PARKING,
      errors: errors({tolerance: 'none'}),
    })
    there.target.answer = refuses(['v-3'])
    const {result, error} = await there.run()
    expect(error).toBeNull()
    expect(result.counts).toMatchObject({replayed: 9, parked: 1, failed: 0})
    expect(result.stopped).toEqual({reason: 'errors-tolerance', remaining: 190, settled: true})
    expect(result.metrics).toMatchObject({'total-record-failures': 1, 'total-record-errors': 1})
  })

  test('none without a parking topic leaves it failed', async () => {
    const there = await world(letters(200), {rate: 100, errors: errors({tolerance: 'none'})})
    there.target.answer = refuses(['v-3'])
    const {result} = await there.run()
    expect(result.counts).toMatchObject({replayed: 9, failed: 1})
    expect(result.stopped).toMatchObject({reason: 'errors-tolerance'})
  })

  test('--max-failed counts parked records too', async () => {
    const there = await world(letters(100), {rate: 100, parkingTopic: PARKING})
    there.target.answer = refuses(letters(100).map(({value}) => String(value)))
    const {result} = await there.run({maxFailed: 15})
    expect(result.counts).toMatchObject({parked: 20, failed: 0})
    expect(result.stopped).toMatchObject({reason: 'max-failed', remaining: 80})
  })
})

describe('the stage TRANSFORMATION', () => {
  /** The header policy of the run (not of the plan) fails on these offsets, so many times each. */
  function failing(offsets: readonly number[], times: number, error: () => Error): void {
    const calls = new Map<bigint, number>()
    const real = Object.getOwnPropertyDescriptor(OutgoingFactory.prototype, 'prepare')
      ?.value as OutgoingFactory['prepare']
    vi.spyOn(OutgoingFactory.prototype, 'prepare').mockImplementation(function (this: OutgoingFactory, ...args) {
      const {offset} = args[0]
      const seen = (calls.get(offset) ?? 0) + 1
      calls.set(offset, seen)
      if (offsets.includes(Number(offset)) && seen <= times) throw error()
      return real.apply(this, args)
    })
  }

  test('is tried again as errors.retry.timeout says, and nothing collected waits for it', async () => {
    const there = await world(letters(5), {errors: errors({retryTimeoutMs: '6000'})})
    failing([2], 3, () => new RetriableException('not yet'))
    const {result} = await there.run()
    expect(result.counts).toMatchObject({replayed: 5, failed: 0})
    expect(there.clock.sleeps).toEqual([300, 600, 1200])
    expect(there.target.calls.map(([call]) => call?.records)).toEqual([2, 3])
    expect(result.metrics).toMatchObject({'total-record-failures': 3, 'total-retries': 3, 'total-record-errors': 0})
  })

  test('parks what is given up, with its own stage and class', async () => {
    const there = await world(letters(5), {parkingTopic: PARKING, errors: errors({retryTimeoutMs: '600'})})
    failing([1, 4], Infinity, () => new RetriableException('never'))
    const {result} = await there.run()
    expect(result.counts).toMatchObject({replayed: 3, parked: 2, failed: 0})
    expect(result.failures).toMatchObject([
      {address: 'orders-dlq:0:1', state: 'parked', message: 'never'},
      {address: 'orders-dlq:0:4', state: 'parked'},
    ])
    const [parked] = inTopic(there, PARKING)
    expect(parked === undefined ? null : decodeFailure(parked)).toMatchObject({
      stage: 'TRANSFORMATION',
      component: 'kdlq.replay.Transformation',
      exception: {class: 'org.apache.kafka.connect.errors.RetriableException', message: 'never'},
    })
    // Two records, three attempts each, the last one counted twice (P4x).
    expect(result.metrics).toMatchObject({
      'total-record-failures': 8,
      'total-record-errors': 2,
      'total-records-skipped': 2,
      'total-retries': 4,
    })
  })

  test('fails the record without a parking topic; the others go', async () => {
    const there = await world(letters(5))
    failing([0], Infinity, () => new RecordError('no such field', {code: 'E_EDIT'}))
    const {result} = await there.run()
    expect(result.counts).toMatchObject({replayed: 4, failed: 1})
    expect(result.failures).toEqual([
      {address: 'orders-dlq:0:0', state: 'failed', code: 'E_EDIT', message: 'no such field'},
    ])
  })

  test.each([null, PARKING])('with tolerance none sends what was collected before it, and stops (%s)', async topic => {
    const there = await world(letters(5), {parkingTopic: topic, errors: errors({tolerance: 'none'})})
    failing([3], Infinity, () => new RecordError('no such field'))
    const {result} = await there.run()
    const parts = topic === null ? {parked: 0, failed: 1} : {parked: 1, failed: 0}
    expect(result.counts).toMatchObject({replayed: 3, ...parts})
    expect(result.stopped).toEqual({reason: 'errors-tolerance', remaining: 1, settled: true})
  })

  test('a bug of ours is no failure of a record: it ends the run', async () => {
    const there = await world(letters(5), {parkingTopic: PARKING})
    failing([3], Infinity, () => new BugError('impossible'))
    const {result, error} = await there.run()
    expect(error).toMatchObject({exitCode: 70})
    expect(result.counts).toMatchObject({parked: 0, failed: 0})
    expect(result.stopped).toMatchObject({reason: 'error'})
  })

  test('a signal ends the wait between two attempts at once; the record was not reached', async () => {
    const there = await world(letters(3), {parkingTopic: PARKING, errors: errors({retryTimeoutMs: '-1'})}, {}, false)
    failing([1], Infinity, () => new RetriableException('never'))
    const controller = new AbortController()
    const running = there.run({}, controller.signal)
    await vi.waitFor(() => expect(there.clock.sleeps).toEqual([300]))
    controller.abort(new InterruptedError('SIGTERM'))
    const {result, error} = await running
    expect(error).toMatchObject({exitCode: 143})
    expect(result.counts).toMatchObject({replayed: 1, parked: 0, failed: 0})
    expect(result.stopped).toMatchObject({reason: 'signal', remaining: 2})
    expect(there.clock.waiting).toBe(0)
  })
})

describe('the log', () => {
  test('says what failed where in the words of Connect, the address only when asked', async () => {
    for (const [over, part] of [
      [{log: true}, ''],
      [
        {log: true, logIncludeMessages: true},
        `, where consumed record is {topic='orders-dlq', partition=0, offset=1, timestamp=${NOW - 60_000}, timestampType=CreateTime}`,
      ],
    ] as const) {
      const there = await world(letters(3), {errors: errors(over)})
      there.target.answer = refuses(['v-1'], 'E_INVALID_RECORD')
      const {result} = await there.run()
      expect(there.logged.map(({message}) => message)).toEqual([
        `Error encountered in task ${RUN}-0. Executing stage 'KAFKA_PRODUCE' with class 'kdlq.replay.Producer'${part}.`,
      ])
      expect(there.logged[0]?.error).toMatchObject({className: 'org.apache.kafka.common.InvalidRecordException'})
      expect(result.metrics).toMatchObject({'total-errors-logged': 1})
    }
  })

  test('is silent unless the plan says so', async () => {
    const there = await world(letters(3), {parkingTopic: PARKING, errors: errors({logIncludeMessages: true})})
    there.target.answer = refuses(['v-1'])
    await there.run()
    expect(there.logged).toEqual([])
  })
})

describe('records at the cap', () => {
  const capped = (offset: number): KafkaRecord =>
    deadLetter(offset, {
      headers: [
        header('kdlq.replay', '{"run":"r-0","attempt":3,"deadLetter":"orders-dlq:0:9"}'),
        ...connectSet('orders', 3, 1000 + offset),
      ],
    })

  test('[CR-15] are parked by policy: no failure, no metric, and the plan shows them', async () => {
    const there = await world([capped(0), deadLetter(1), capped(2)], {parkingTopic: PARKING})
    expect(there.plan.counts).toEqual({selected: 3, toReplay: 1, skipped: 0, held: 0, parked: 2, refused: 0})
    const {result} = await there.run()
    expect(result.counts).toMatchObject({replayed: 1, parked: 2, held: 0})
    expect(result.parking).toEqual({topic: PARKING, failed: 0, policy: 2})
    expect(result.failures).toEqual([])
    expect(result.metrics).toMatchObject({'total-record-failures': 0, 'deadletterqueue-produce-requests': 0})
    const [parked] = inTopic(there, PARKING)
    expect(parked === undefined ? null : decodeFailure(parked)).toMatchObject({
      hops: 2,
      last: {topic: 'orders-dlq', partition: 0, offset: '0'},
      component: 'kdlq.replay.AttemptCap',
      exception: {message: 'attempt-cap: replayed 3 times'},
    })
  })

  test('are held without a parking topic', async () => {
    const there = await world([capped(0)])
    expect(there.plan.counts).toMatchObject({held: 1, parked: 0})
    expect((await there.run()).result.counts).toMatchObject({held: 1, parked: 0})
  })

  test('a run of nothing else writes to the parking topic alone', async () => {
    const there = await world([capped(0)], {parkingTopic: PARKING})
    expect((await there.run()).result.counts).toMatchObject({parked: 1, replayed: 0})
    expect(there.target.written.map(({topic}) => topic)).toEqual([PARKING])
  })
})
