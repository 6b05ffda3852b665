import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest'
import {AuthError, KafkaError, RecordError} from '../../../src/lib/errors.ts'
import type {Cluster} from '../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import type {Chunk} from '../../../src/lib/replay/chunk.ts'
import {Chunk as FilledChunk} from '../../../src/lib/replay/chunk.ts'
import type {Delivery} from '../../../src/lib/replay/delivery.ts'
import type {LedgerCopy} from '../../../src/lib/replay/ledger-copy.ts'
import {takeOver} from '../../../src/lib/replay/ledger/claims.ts'
import {ensureLedger} from '../../../src/lib/replay/ledger/ensure-ledger.ts'
import {transactionalIdOf} from '../../../src/lib/replay/ledger/names.ts'
import {readLedger} from '../../../src/lib/replay/ledger/read-ledger.ts'
import {PURGEABLE_STATES} from '../../../src/lib/replay/ledger/types.ts'
import type {LedgerTopic} from '../../../src/lib/replay/ledger/types.ts'
import {lookAtLedger} from '../../../src/lib/replay/look-at-ledger.ts'
import {OutgoingFactory} from '../../../src/lib/replay/outgoing.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {PlanInput} from '../../../src/lib/replay/plan-input.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import type {ReplayResult} from '../../../src/lib/replay/result.ts'
import {runReplay} from '../../../src/lib/replay/run-replay.ts'
import {openTopicDelivery} from '../../../src/lib/replay/topic-delivery.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {FakeBroker} from './ledger/fake-broker.ts'
import {RUN_A, RUN_B} from './ledger/support.ts'
import {archiveOf, closeArchives, connectSet, deadLetter, header, inputFor, NOW} from './support.ts'

const NAME = 'kdlq-ledger'
const TRANSACTION = {compression: 'none', deliveryTimeoutMs: 1000, transactionTimeoutMs: 15_000} as const
let broker: FakeBroker
let clock: FakeClock
let cluster: Cluster
let ledger: LedgerTopic
let plan: ReplayPlan
let notes: string[]
let lost: string[]

beforeEach(async () => {
  broker = new FakeBroker()
  broker.addTopic('orders', 6)
  cluster = broker.cluster()
  clock = new FakeClock({now: NOW, auto: true})
  ledger = await ensureLedger({cluster, clock}, {name: NAME, create: true, deliveryTimeoutMs: 1000})
  const source = await archiveOf([deadLetter(0), deadLetter(1), deadLetter(2)])
  const input = await inputFor(source, {ledger: {kind: 'topic', name: NAME}})
  plan = (await planReplay({source, target: cluster, clock}, input)).plan
  notes = []
  lost = []
})

afterEach(closeArchives)

interface Options {
  readonly resume?: boolean
  readonly copy?: LedgerCopy | null
}

async function open({resume = false, copy = null}: Options = {}): Promise<Delivery> {
  return openTopicDelivery(
    {
      target: cluster,
      clock,
      ledger,
      copy,
      onNote: text => void notes.push(text),
      onLost: error => void lost.push(error.code),
    },
    {author: {run: RUN_A, by: 'ada'}, plan, reason: null, version: '1', deliveryTimeoutMs: 1000, resume},
  )
}

/** One dead letter on its way. */
function chunkOf(offset: number): Chunk {
  const record = deadLetter(offset)
  const chunk = new FilledChunk()
  const factory = new OutgoingFactory({headers: plan.headers, timestamp: 'original', run: RUN_A})
  const entry = {
    topic: record.topic,
    partition: 0,
    offset: record.offset,
    attempt: 1,
    origin: null,
    sha256: Buffer.alloc(32, offset),
  }
  chunk.add({topic: 'orders', partition: 3}, entry, null, factory.prepare(record, {dialect: 'connect'}, 0), 0n)
  return chunk
}

const inTarget = (): number => broker.entries('orders', 3).length

async function statesInLedger(): Promise<readonly string[]> {
  const {index} = await readLedger({cluster, clock}, ledger, ['orders-dlq'])
  return [...index.entriesOfRun(RUN_A)].map(({source, state}) => `${source.offset} ${state}`)
}

describe('at-least-once on a ledger topic', () => {
  test('sends without a transaction and notes in transactions of its own', async () => {
    await using delivery = await open()
    const outcomes = await delivery.writer.write(chunkOf(0))
    expect(outcomes.map(({state}) => state)).toEqual(['replayed'])
    expect(broker.entries('orders', 3)[0]?.transaction).toBeNull()
    expect(await statesInLedger()).toEqual(['0 replayed'])
    expect(notes).toEqual([])
    await delivery.end({state: 'completed', reason: null, counts: {}})
  })

  test('is fenced by a second process of the run before it sends its next chunk', async () => {
    await using first = await open()
    await first.writer.write(chunkOf(0))
    await using second = await open({resume: true})
    await expect(first.writer.write(chunkOf(1))).rejects.toMatchObject({code: 'E_FENCED'})
    expect(inTarget()).toBe(1)
    expect((await second.writer.write(chunkOf(1))).map(({state}) => state)).toEqual(['replayed'])
    expect(inTarget()).toBe(2)
  })

  test('is fenced by a take-over before it sends its next chunk', async () => {
    await using delivery = await open()
    await takeOver({cluster, clock, transaction: TRANSACTION}, ledger, RUN_A, {run: RUN_B, by: 'bob'})
    await expect(delivery.writer.write(chunkOf(0))).rejects.toMatchObject({code: 'E_FENCED'})
    expect(inTarget()).toBe(0)
    expect(await statesInLedger()).toEqual([])
  })

  test('without the right to the transactional id works all the same, and says once that nothing fences it', async () => {
    broker.gate = async request => {
      const code = 'E_TRANSACTIONAL_ID_AUTHORIZATION_FAILED'
      if (request === 'openTransactional') throw new AuthError('not authorized', {code})
    }
    await using delivery = await open()
    await delivery.writer.write(chunkOf(0))
    await delivery.writer.write(chunkOf(1))
    await delivery.end({state: 'completed', reason: null, counts: {}})
    expect(await statesInLedger()).toEqual(['0 replayed', '1 replayed'])
    expect(notes).toEqual([
      `no right to transactional id ${transactionalIdOf(RUN_A)}: a take-over or a second process of this run cannot stop this one`,
    ])
  })

  test('opens a lost session again and writes its entries, the records once', async () => {
    await using delivery = await open()
    let failures = 1
    broker.gate = async request => {
      if (request === 'committed' && failures-- > 0) {
        throw new KafkaError('it took too long', {code: 'E_TRANSACTION_TIMED_OUT'})
      }
    }
    await delivery.writer.write(chunkOf(0))
    expect(lost).toEqual(['E_TRANSACTION_TIMED_OUT'])
    expect(inTarget()).toBe(1)
    expect(await statesInLedger()).toEqual(['0 replayed'])
  })

  test('stops when sessions are lost again and again, before anything is sent', async () => {
    await using delivery = await open()
    broker.gate = async request => {
      if (request === 'committed') throw new KafkaError('it took too long', {code: 'E_TRANSACTION_TIMED_OUT'})
    }
    await expect(delivery.writer.write(chunkOf(0))).rejects.toMatchObject({code: 'E_TRANSACTION_TIMED_OUT'})
    expect(inTarget()).toBe(0)
    broker.gate = async () => undefined
  })
})

describe('the copy on the source cluster', () => {
  test('is completed when a run is resumed, not when it begins', async () => {
    const completed: (readonly string[])[] = []
    const copy: LedgerCopy = {
      write: async () => undefined,
      complete: async (_, topics) => void completed.push(topics),
      [Symbol.asyncDispose]: async () => undefined,
    }
    await using first = await open({copy})
    expect(completed).toEqual([])
    await first.writer.write(chunkOf(0))
    await using _ = await open({copy, resume: true})
    expect(completed).toEqual([['orders-dlq']])
  })
})

describe('dead letters that stay where they are', () => {
  const capped = (offset: number): KafkaRecord =>
    deadLetter(offset, {
      headers: [
        header('kdlq.replay', '{"run":"r-0","attempt":3,"deadLetter":"orders-dlq:0:9"}'),
        ...connectSet('orders', 3, 1000 + offset),
      ],
    })

  /** Plan and execute, as a person would do it again and again. */
  async function replay(
    run: string,
    records: readonly KafkaRecord[],
    over: {-readonly [name in keyof PlanInput]?: PlanInput[name]} = {},
  ): Promise<ReplayResult> {
    const source = await archiveOf(records)
    const input = await inputFor(source, {ledger: {kind: 'topic', name: NAME}, handled: 'hide', ...over})
    const {view} = await lookAtLedger(
      {source, target: cluster, clock},
      {ledger: {kind: 'topic', name: NAME}, isNewNormal: false, ranges: input.selection.ranges, takeOver: null},
    )
    const planned = await planReplay({source, target: cluster, clock, ledger: view}, input)
    const author = {run, by: 'ada'}
    const common = {plan: planned.plan, deliveryTimeoutMs: 1000}
    const openDelivery = async (): Promise<Delivery> =>
      openTopicDelivery(
        {target: cluster, clock, ledger, copy: null},
        {...common, author, reason: null, version: '1', resume: false},
      )
    const outcome = await runReplay(
      {source, target: cluster, clock, openDelivery},
      {...common, run, maxFailed: null, maxDurationMs: null},
    )
    expect(outcome.error).toBeNull()
    return outcome.result
  }

  const letters = (count: number): KafkaRecord[] => Array.from({length: count}, (_, offset) => capped(offset))

  test.each(['exactly-once', 'at-least-once'] as const)(
    '[BR-68] a batch of nothing else is noted, and the next run starts after it (%s)',
    async delivery => {
      const first = await replay(RUN_A, letters(1500), {delivery})
      expect(first.counts).toMatchObject({selected: 1500, held: 1500, replayed: 0, skipped: 0})
      const second = await replay(RUN_B, [...letters(1500), deadLetter(1500)], {delivery})
      expect(second.counts).toMatchObject({selected: 1501, held: 0, skipped: 1500, replayed: 1})
      expect(inTarget()).toBe(1)
    },
  )

  test('[CR-15] are held, never dropped, and their origin is in the ledger', async () => {
    const {counts} = await replay(RUN_A, [capped(0), deadLetter(1)], {order: 'origin'})
    expect(counts).toMatchObject({selected: 2, held: 1, replayed: 1, discarded: 0})
    expect(inTarget()).toBe(1)
    const entries = broker.topics.get(NAME)?.logs.flatMap(log => log.entries) ?? []
    const held = entries.map(({value}) => value?.toString() ?? '').find(text => text.includes('"state":"held"'))
    expect(JSON.parse(held ?? '{}')).toMatchObject({
      state: 'held',
      run: RUN_A,
      origin: {topic: 'orders', partition: 3, offset: '1000'},
      target: null,
      attempt: 3,
      reason: 'attempt-cap: replayed 3 times',
    })
    expect(PURGEABLE_STATES.has('held')).toBe(false)
  })

  test('a record that could not be made ready is failed in the ledger, and a later run sends it', async () => {
    const real = Object.getOwnPropertyDescriptor(OutgoingFactory.prototype, 'prepare')
      ?.value as OutgoingFactory['prepare']
    let plans = 3
    const spy = vi.spyOn(OutgoingFactory.prototype, 'prepare').mockImplementation(function (
      this: OutgoingFactory,
      ...args
    ) {
      if (plans-- <= 0 && args[0].offset === 1n) throw new RecordError('no such field', {code: 'E_EDIT'})
      return real.apply(this, args)
    })
    const records = [deadLetter(0), deadLetter(1), deadLetter(2)]
    expect((await replay(RUN_A, records)).counts).toMatchObject({replayed: 2, failed: 1})
    expect(await statesInLedger()).toEqual(['0 replayed', '2 replayed', '1 failed'])
    spy.mockRestore()
    expect((await replay(RUN_B, records)).counts).toMatchObject({replayed: 1, skipped: 2})
  })

  test('go when the cap is raised or allowed later', async () => {
    expect((await replay(RUN_A, letters(2))).counts).toMatchObject({held: 2})
    expect((await replay(RUN_B, letters(1), {maxAttempts: 4})).counts).toMatchObject({replayed: 1})
    const allowed = await replay(`${RUN_B.slice(0, -1)}C`, letters(2), {allow: ['attempt-cap']})
    expect(allowed.counts).toMatchObject({replayed: 1, skipped: 1})
  })
})
