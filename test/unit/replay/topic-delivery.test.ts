import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {AuthError, KafkaError} from '../../../src/lib/errors.ts'
import type {Cluster} from '../../../src/lib/kafka/ports.ts'
import type {Chunk} from '../../../src/lib/replay/chunk.ts'
import {Chunk as FilledChunk} from '../../../src/lib/replay/chunk.ts'
import type {Delivery} from '../../../src/lib/replay/delivery.ts'
import type {LedgerCopy} from '../../../src/lib/replay/ledger-copy.ts'
import {takeOver} from '../../../src/lib/replay/ledger/claims.ts'
import {ensureLedger} from '../../../src/lib/replay/ledger/ensure-ledger.ts'
import {transactionalIdOf} from '../../../src/lib/replay/ledger/names.ts'
import {readLedger} from '../../../src/lib/replay/ledger/read-ledger.ts'
import type {LedgerTopic} from '../../../src/lib/replay/ledger/types.ts'
import {OutgoingFactory} from '../../../src/lib/replay/outgoing.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {openTopicDelivery} from '../../../src/lib/replay/topic-delivery.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {FakeBroker} from './ledger/fake-broker.ts'
import {RUN_A, RUN_B} from './ledger/support.ts'
import {archiveOf, closeArchives, deadLetter, inputFor, NOW} from './support.ts'

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
