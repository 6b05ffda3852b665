import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import type {LogEvent} from '../../../src/lib/connect-engine/reporter.ts'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import {InterruptedError} from '../../../src/lib/errors.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {decodeTexts} from '../../../src/lib/replay/plan-decoding.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {PlanInput} from '../../../src/lib/replay/plan-input.ts'
import {validatePlan} from '../../../src/lib/replay/plan-validate.ts'
import {DEFAULT_ERRORS} from '../../../src/lib/replay/plan.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import type {ReplayOutcome} from '../../../src/lib/replay/result.ts'
import type {RunInput} from '../../../src/lib/replay/run-input.ts'
import {runReplay} from '../../../src/lib/replay/run-replay.ts'
import {asksForPayload} from '../../../src/lib/select/filter-spec.ts'
import {
  createDecoders,
  createRegistryStore,
  type Decoders,
  parseDecodeFormats,
  parseRegistryUrls,
} from '../../../src/lib/serde/index.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {startStubRegistry, type StubRegistry} from '../../support/stub-registry.ts'
import {archiveOf, closeArchives, deadLetter, FakeTarget, inputFor, NOW} from './support.ts'

const PARKING = 'orders-parking'
const SEAT = '{"type":"record","name":"Seat","fields":[{"name":"row","type":"int"}]}'
const NO_FILTERS = {include: {}, exclude: {}}

let registry: StubRegistry
beforeEach(async () => {
  registry = await startStubRegistry()
  registry.ids.set(7, {schema: SEAT})
})
afterEach(async () => {
  await registry[Symbol.asyncDispose]()
  await closeArchives()
})

/** A row as Avro, in the frame of schema `id`. */
const seat = (row: number, id = 7): Buffer => Buffer.from([0, 0, 0, 0, id, row * 2])
const letter = (offset: number, value: Buffer | null): KafkaRecord => deadLetter(offset, {value})

async function decodersFor(
  decode: NonNullable<PlanInput['decode']>,
  clock: FakeClock,
  withRegistry = true,
): Promise<Decoders> {
  const config = {urls: parseRegistryUrls([registry.url], 'url'), authorization: () => null, tls: null, timeoutMs: 5000}
  const store = createRegistryStore(withRegistry ? config : null, {clock})
  const readFile = async (): Promise<string> => SEAT
  return createDecoders({store, readFile}, parseDecodeFormats(decodeTexts(decode)))
}

interface World {
  readonly target: FakeTarget
  readonly clock: FakeClock
  readonly plan: ReplayPlan
  readonly logged: LogEvent[]
  run(options?: {
    readonly plan?: ReplayPlan
    readonly input?: Partial<RunInput>
    readonly decoders?: Decoders | null
    readonly signal?: AbortSignal
  }): Promise<ReplayOutcome>
}

async function world(
  records: readonly KafkaRecord[],
  decode: NonNullable<PlanInput['decode']>,
  over: {-readonly [name in keyof PlanInput]?: PlanInput[name]} = {},
  where: string | null = null,
): Promise<World> {
  const source = await archiveOf(records)
  const target = new FakeTarget({orders: {partitions: 6}, [PARKING]: {partitions: 3}})
  const clock = new FakeClock({now: NOW, auto: true})
  const base = await inputFor(source, {...over, decode})
  const filters = where === null ? NO_FILTERS : {include: {where: [where]}, exclude: {}}
  const input = {...base, selection: {...base.selection, filters}}
  const {plan} = await planReplay({source, target, clock, decoders: await decodersFor(decode, clock)}, input)
  const logged: LogEvent[] = []
  return {
    target,
    clock,
    plan,
    logged,
    async run(options = {}) {
      const decoders = options.decoders === undefined ? await decodersFor(decode, clock) : options.decoders
      const onErrorLogged = (event: LogEvent): void => void logged.push(event)
      return runReplay(
        {source, target, clock, onErrorLogged, decoders},
        {
          run: 'r-01ARYZ6S410000000000000000',
          plan: options.plan ?? plan,
          maxFailed: null,
          maxDurationMs: null,
          deliveryTimeoutMs: 30_000,
          ...options.input,
        },
        {signal: options.signal},
      )
    },
  }
}

const sent = ({target}: World, topic = 'orders'): readonly KafkaRecord[] =>
  target.written.filter(record => record.topic === topic)
const checkOf = ({checks}: ReplayPlan): ReplayPlan['checks'][number] | undefined =>
  checks.find(({id}) => id === 'schema')

describe('a plan that decodes', () => {
  const mixed = [letter(0, seat(1)), letter(1, seat(2).subarray(0, 5)), letter(2, seat(3)), letter(3, Buffer.from('x'))]

  test('counts what cannot be decoded as asked, names it, and says what to do', async () => {
    const {plan} = await world(mixed, {value: 'avro'})
    expect(checkOf(plan)).toMatchObject({
      level: 'warn',
      count: 2,
      addresses: ['orders-dlq:0:1', 'orders-dlq:0:3'],
      hint: expect.stringContaining('--skip schema') as string,
    })
    expect(checkOf(plan)?.detail).toMatch(/^value cannot be read as avro at byte 5, reading row: /)
    expect(plan.counts).toMatchObject({selected: 4, toReplay: 4})
    expect(plan.decode).toEqual({value: 'avro', registry: true})
    expect(registry.requests.filter(path => path === '/schemas/ids/7')).toHaveLength(1)
    expect(validatePlan(JSON.parse(JSON.stringify(plan)))).toEqual(plan)
    expect(JSON.stringify(plan)).not.toContain(registry.url)
  })

  test('leaves them out with --skip schema, and the run does too', async () => {
    const there = await world(mixed, {value: 'avro'}, {skip: ['schema'], parkingTopic: PARKING})
    expect(there.plan.counts).toMatchObject({toReplay: 2, skipped: 2})
    const {result, error} = await there.run()
    expect(error).toBeNull()
    expect(result.counts).toMatchObject({replayed: 2, skipped: 2, parked: 0, failed: 0})
    expect(result.metrics['total-record-failures']).toBe(0)
  })

  test('does not ask for a key that nobody asked for, and lets nulls be nulls', async () => {
    const {plan} = await world([deadLetter(0, {key: seat(1, 9), value: null})], {value: 'avro'}, {allow: ['tombstone']})
    expect(checkOf(plan)).toMatchObject({level: 'ok', count: 0})
    expect(registry.requests).toEqual([])
  })

  test('says unknown, not found, when the registry does not answer', async () => {
    registry.mood = 500
    const {plan} = await world([letter(0, seat(1))], {value: 'avro'})
    expect(checkOf(plan)).toMatchObject({level: 'unknown', count: 0, addresses: []})
  })

  test('needs no registry where none was asked', async () => {
    const {plan} = await world([letter(0, Buffer.from('{}'))], {value: 'json', key: 'text'})
    expect(plan.decode).toEqual({key: 'text', value: 'json', registry: false})
  })

  test.each([
    [{value: 'avroo', registry: true}, 'decode.value'],
    [{value: 'avro'}, 'decode.registry'],
    [{url: 'http://registry', registry: true}, 'decode.url'],
  ])('a plan file with %j is refused at its place', async (decode, at) => {
    const {plan} = await world([letter(0, seat(1))], {value: 'avro'})
    expect(() => validatePlan({...plan, decode})).toThrow(at)
  })
})

describe('a run that decodes', () => {
  test('parks what cannot be decoded at VALUE_CONVERTER, as a DataException, and sends the rest', async () => {
    const records = [letter(0, seat(1)), letter(1, seat(2).subarray(0, 5)), letter(2, seat(3))]
    const errors = {...DEFAULT_ERRORS, log: true}
    const there = await world(records, {value: 'avro'}, {parkingTopic: PARKING, errors})
    const {result, error} = await there.run()
    expect(error).toBeNull()
    expect(result.counts).toMatchObject({selected: 3, replayed: 2, parked: 1, failed: 0})
    expect(result.failures).toMatchObject([{address: 'orders-dlq:0:1', state: 'parked', code: 'E_DECODE'}])
    expect(sent(there).map(({value}) => value)).toEqual([seat(1), seat(3)])
    const [parked] = sent(there, PARKING)
    if (parked === undefined) throw new Error('nothing was parked')
    expect(parked.value).toEqual(records[1]?.value)
    expect(decodeFailure(parked)).toMatchObject({
      hops: 2,
      stage: 'VALUE_CONVERTER',
      exception: {class: 'org.apache.kafka.connect.errors.DataException'},
    })
    expect(there.logged).toHaveLength(1)
    expect(result.metrics).toMatchObject({'total-record-failures': 1, 'total-records-skipped': 1, 'total-retries': 0})
  })

  test('fails at KEY_CONVERTER before the value is looked at', async () => {
    const there = await world(
      [deadLetter(0, {key: Buffer.from('abc'), value: Buffer.from('{')})],
      {
        key: 'int64',
        value: 'json',
      },
      {parkingTopic: PARKING},
    )
    await there.run()
    expect(sent(there, PARKING).map(record => decodeFailure(record).stage)).toEqual(['KEY_CONVERTER'])
  })

  test('stops at the first one with --errors-tolerance none', async () => {
    const records = [letter(0, seat(1)), letter(1, Buffer.from('x')), letter(2, seat(3))]
    const there = await world(records, {value: 'avro'}, {errors: {...DEFAULT_ERRORS, tolerance: 'none'}})
    const {result} = await there.run()
    expect(result.stopped).toMatchObject({reason: 'errors-tolerance', remaining: 1})
    expect(result.counts).toMatchObject({replayed: 1, failed: 1})
  })

  test('tries again while the registry fails, with everything before it sent, and sends when it answers', async () => {
    registry.ids.set(8, {schema: SEAT})
    const errors = {...DEFAULT_ERRORS, retryTimeoutMs: '60000'}
    const there = await world([letter(0, seat(1)), letter(1, seat(2, 8))], {value: 'avro'}, {errors})
    const decoders = await decodersFor({value: 'avro'}, there.clock)
    await decoders.prepare({key: null, value: seat(1), headers: []})
    const asked = registry.requests.length
    Object.defineProperty(registry, 'mood', {get: () => (registry.requests.length < asked + 3 ? 500 : 'answer')})
    const {result, error} = await there.run({decoders})
    expect(error).toBeNull()
    expect(result.counts).toMatchObject({replayed: 2, failed: 0})
    expect(result.metrics).toMatchObject({'total-record-failures': 2, 'total-retries': 2})
    expect(there.target.calls.map(([batch]) => batch?.records)).toEqual([1, 1])
  })

  test.each(['reset', 500] as const)(
    'gives up when the time for retries is over: the record failed, with a RetriableException: %s',
    async mood => {
      const errors = {...DEFAULT_ERRORS, retryTimeoutMs: '1000'}
      const there = await world([letter(0, seat(1))], {value: 'avro'}, {errors, parkingTopic: PARKING})
      registry.mood = mood
      const {result} = await there.run()
      expect(result.counts).toMatchObject({replayed: 0, parked: 1})
      expect(result.failures).toMatchObject([{code: 'E_REGISTRY'}])
      expect(result.metrics['total-retries']).toBeGreaterThan(0)
      expect(sent(there, PARKING).map(record => decodeFailure(record).exception?.class)).toEqual([
        'org.apache.kafka.connect.errors.RetriableException',
      ])
    },
  )

  test.each(['none', 'an unknown id', 401] as const)(
    '[BR-78] never tries a deterministic failure again: %s',
    async kind => {
      const errors = {...DEFAULT_ERRORS, retryTimeoutMs: '-1'}
      const value = kind === 'none' ? Buffer.from('x') : seat(1, kind === 401 ? 7 : 99)
      const there = await world([letter(0, value)], {value: 'avro'}, {errors})
      if (kind === 401) registry.mood = 401
      const {result} = await there.run()
      expect(result.counts).toMatchObject({replayed: 0, failed: 1})
      expect(result.failures).toMatchObject([{code: 'E_DECODE'}])
      expect(result.metrics['total-retries']).toBe(0)
    },
  )

  test('without decoders is refused before anything is opened', async () => {
    const there = await world([letter(0, seat(1))], {value: 'avro'})
    await expect(there.run({decoders: null})).rejects.toMatchObject({code: 'E_NO_DECODERS'})
    expect(there.target.opened).toBe(0)
  })
})

describe('--where on decoded values', () => {
  const rows = [1, 2, 3, 4].map((row, offset) => letter(offset, seat(row)))

  test('chooses the same records in plan and run', async () => {
    const there = await world(rows, {}, {}, 'value.row > 2.0')
    expect(there.plan.decode).toEqual({registry: true})
    expect(there.plan.counts).toMatchObject({selected: 2, toReplay: 2})
    expect(checkOf(there.plan)).toMatchObject({level: 'ok'})
    const {result} = await there.run()
    expect(result.counts).toMatchObject({selected: 2, replayed: 2, gone: 0})
    expect(sent(there).map(({value}) => value)).toEqual([seat(3), seat(4)])
  })

  test('does not match what cannot be decoded, which is no failure', async () => {
    const there = await world([...rows, letter(4, seat(3, 99)), letter(5, Buffer.from('x'))], {}, {}, 'value.row > 2.0')
    const {result} = await there.run()
    expect(result.counts).toMatchObject({selected: 2, replayed: 2, failed: 0})
  })

  test('a registry that is gone in the run ends it, nothing counts as gone', async () => {
    const there = await world(rows, {}, {errors: {...DEFAULT_ERRORS, retryTimeoutMs: '1000'}}, 'value.row > 2.0')
    registry.mood = 'reset'
    const {result, error} = await there.run()
    expect(error).toMatchObject({code: 'E_REGISTRY', exitCode: 5})
    expect(result.stopped).toMatchObject({reason: 'error', remaining: 2})
    expect(result.counts).toMatchObject({gone: 0, replayed: 0})
  })

  test('a signal ends the wait for a registry, however long it may be tried', async () => {
    const there = await world(rows, {}, {errors: {...DEFAULT_ERRORS, retryTimeoutMs: '-1'}}, 'value.row > 2.0')
    const asked = registry.requests.length
    const stop = new AbortController()
    Object.defineProperty(registry, 'mood', {
      get: () => {
        if (registry.requests.length >= asked + 3) stop.abort(new InterruptedError('SIGINT'))
        return 'reset'
      },
    })
    const {result} = await there.run({signal: stop.signal})
    expect(result.stopped).toMatchObject({reason: 'signal', remaining: 2})
  })

  test.each([
    ['value.row > 2.0', true],
    ['has(key.id) || key == "7"', true],
    ['headers.exists(h, h.name == "trace" && h . value == "abc")', false],
    ['failure.stage == "TASK_PUT"', false],
  ])('%s looks into a payload: %s', (where, asks) => {
    expect(asksForPayload({include: {where: [where]}, exclude: {}})).toBe(asks)
    expect(asksForPayload({include: {}, exclude: {where: [where]}})).toBe(asks)
  })

  test('a plan of an older version reads JSON and text as it did', async () => {
    const json = [letter(0, Buffer.from('{"row":1}')), letter(1, Buffer.from('{"row":3}')), letter(2, seat(3))]
    const there = await world(json, {}, {}, 'value.row > 2.0')
    const {decode: _, ...old} = there.plan
    const counts = {...old.counts, selected: 1, toReplay: 1}
    const {result} = await there.run({plan: {...old, counts}, decoders: null})
    expect(result.counts).toMatchObject({replayed: 1})
    expect(sent(there).map(({value}) => String(value))).toEqual(['{"row":3}'])
  })
})
