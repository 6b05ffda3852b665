import {beforeEach, describe, expect, test} from 'vitest'
import {RefusedError, UnreachableError} from '../../../../src/lib/errors.ts'
import type {TransactionSession} from '../../../../src/lib/kafka/ports.ts'
import {claimPartitions, endRun, foreignClaims, holderOf, takeOver} from '../../../../src/lib/replay/ledger/claims.ts'
import type {ClaimDeps} from '../../../../src/lib/replay/ledger/claims.ts'
import {ledgerPartition} from '../../../../src/lib/replay/ledger/layout.ts'
import {transactionalIdOf} from '../../../../src/lib/replay/ledger/names.ts'
import {LedgerReader} from '../../../../src/lib/replay/ledger/read-ledger.ts'
import {commitLedger, LedgerScribe} from '../../../../src/lib/replay/ledger/writer.ts'
import {FakeClock} from '../../../support/fake-clock.ts'
import {FakeBroker} from './fake-broker.ts'
import {LEDGER, outcomeOf, partitionOf, recordOf, REF, RUN_A, RUN_B} from './support.ts'

const TRANSACTION = {compression: 'none', deliveryTimeoutMs: 1000, transactionTimeoutMs: 15_000} as const
const WANTED = [partitionOf('orders-dlq', 0), partitionOf('orders-dlq', 1)]
const A = {run: RUN_A, by: 'ada'}
const B = {run: RUN_B, by: 'bob'}
let broker: FakeBroker
let clock: FakeClock

beforeEach(() => {
  broker = new FakeBroker()
  broker.addTopic(LEDGER.name, 12, {'cleanup.policy': 'compact'})
  clock = new FakeClock({auto: true})
})

async function start(run: string): Promise<ClaimDeps & {session: TransactionSession; reader: LedgerReader}> {
  const cluster = broker.cluster()
  const session = await cluster.writer.openTransactional({...TRANSACTION, transactionalId: transactionalIdOf(run)})
  return {session, reader: new LedgerReader({cluster, clock}, LEDGER), clock}
}

async function liveClaims(): Promise<readonly string[]> {
  const {reader} = await start('reader')
  await reader.catchUp([ledgerPartition(LEDGER, 'orders-dlq')])
  return reader.contents.claims.map(({run, source}) => `${run} ${source.topic}:${source.partition}`)
}

describe('claims', () => {
  test('the first run holds, the second refuses, names it and leaves no claim', async () => {
    await claimPartitions(await start(RUN_A), A, WANTED)
    await clock.sleep(125_000)
    const error: unknown = await claimPartitions(await start(RUN_B), B, WANTED).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(RefusedError)
    expect(error).toMatchObject({
      code: 'E_CLAIMED',
      exitCode: 6,
      message: `orders-dlq:0 is claimed by run ${RUN_A} of ada, 2 min ago`,
      context: {
        run: RUN_A,
        by: 'ada',
        ageMs: 125_000,
        partitions: ['orders-dlq:0', 'orders-dlq:1'],
        ledger: LEDGER.name,
      },
    })
    expect((error as RefusedError).hints.join('\n')).toContain(`kdlq resume ${RUN_A}`)
    expect((error as RefusedError).hints.join('\n')).toContain(`--take-over ${RUN_A}`)
    expect(await liveClaims()).toEqual([`${RUN_A} orders-dlq:0`, `${RUN_A} orders-dlq:1`])
  })

  test('other partitions of the topic are free', async () => {
    await claimPartitions(await start(RUN_A), A, [partitionOf('orders-dlq', 0)])
    await claimPartitions(await start(RUN_B), B, [partitionOf('orders-dlq', 1)])
    await expect(claimPartitions(await start('r-third'), {run: 'r-third', by: null}, WANTED)).rejects.toThrow(
      'orders-dlq:0',
    )
  })

  test('a recreated topic is another one', async () => {
    await claimPartitions(await start(RUN_A), A, WANTED)
    const recreated = partitionOf('orders-dlq', 0, {...REF, topicId: 'BBBBBBBBBBBBBBBBBBBBBB'})
    await expect(claimPartitions(await start(RUN_B), B, [recreated])).resolves.toBeUndefined()
  })

  test('end with the run; the next one then sees what it did', async () => {
    const first = await start(RUN_A)
    await claimPartitions(first, A, WANTED)
    const second = await start(RUN_B)
    await second.reader.catchUp([ledgerPartition(LEDGER, 'orders-dlq')])
    await commitLedger(first.session, LEDGER, new LedgerScribe(clock, A).entries([outcomeOf(7n)]), {clock})
    const status = {state: 'completed', reason: null, counts: {replayed: 1}} as const
    await endRun({...first, ledger: LEDGER}, A, {partitions: WANTED, status})
    expect(second.reader.contents.index.handled(recordOf(7n), REF)).toBeNull()
    await claimPartitions(second, B, WANTED)
    expect(second.reader.contents.index.handled(recordOf(7n), REF)).toMatchObject({run: RUN_A})
  })

  test('a resumed run keeps its claims as they are', async () => {
    await claimPartitions(await start(RUN_A), A, WANTED)
    const before = broker.entries(LEDGER.name, ledgerPartition(LEDGER, 'orders-dlq')).length
    await claimPartitions(await start(RUN_A), A, WANTED)
    expect(broker.entries(LEDGER.name, ledgerPartition(LEDGER, 'orders-dlq'))).toHaveLength(before)
  })

  test('are withdrawn when the claim cannot be finished', async () => {
    const deps = await start(RUN_A)
    broker.gate = async request => {
      if (request === 'committed') {
        broker.gate = async next => {
          if (next !== 'offsets') return
          broker.gate = async () => undefined
          throw new UnreachableError('gone')
        }
      }
    }
    await expect(claimPartitions(deps, A, WANTED)).rejects.toThrow('gone')
    expect(await liveClaims()).toEqual([])
  })

  test('work without transactions too', async () => {
    const cluster = broker.cluster()
    const session = await cluster.writer.open({compression: 'none', transactionalId: null, deliveryTimeoutMs: 1})
    await claimPartitions({session, reader: new LedgerReader({cluster, clock}, LEDGER), clock}, A, WANTED)
    await expect(claimPartitions(await start(RUN_B), B, WANTED)).rejects.toMatchObject({code: 'E_CLAIMED'})
  })

  test('of others are told while planning, in the order of the ledger', async () => {
    const {reader, ...deps} = await start(RUN_A)
    await claimPartitions({...deps, reader}, A, WANTED)
    expect(foreignClaims(reader.contents.claims, WANTED, RUN_B).map(({run}) => run)).toEqual([RUN_A, RUN_A])
    expect(foreignClaims(reader.contents.claims, WANTED, RUN_A)).toEqual([])
    expect(holderOf(reader.contents.claims, partitionOf('orders-dlq', 1))).toMatchObject({run: RUN_A})
    expect(holderOf(reader.contents.claims, partitionOf('orders-dlq', 2))).toBeNull()
  })
})

describe('taking over', () => {
  test('fences the other run for good, ends its claims and says so', async () => {
    const first = await start(RUN_A)
    await claimPartitions(first, A, WANTED)
    first.session.begin()
    const ended = await takeOver({cluster: broker.cluster(), clock, transaction: TRANSACTION}, LEDGER, RUN_A, B)
    expect(ended.map(({run, source}) => `${run} ${source.partition}`)).toEqual([`${RUN_A} 0`, `${RUN_A} 1`])
    const late = commitLedger(first.session, LEDGER, new LedgerScribe(clock, A).entries([outcomeOf(9n)]), {clock})
    await expect(late).rejects.toMatchObject({code: 'E_FENCED'})
    const second = await start(RUN_B)
    await claimPartitions(second, B, WANTED)
    await second.reader.catchUp([ledgerPartition(LEDGER, RUN_A)])
    expect(second.reader.contents.run(RUN_A).status).toMatchObject({
      state: 'taken-over',
      reason: `taken over by ${RUN_B}`,
      by: 'bob',
    })
    expect(second.reader.contents.index.size).toBe(0)
  })

  test('what the other run had open is aborted, what it had committed is seen', async () => {
    const first = await start(RUN_A)
    await claimPartitions(first, A, WANTED)
    const scribe = new LedgerScribe(clock, A)
    await commitLedger(first.session, LEDGER, scribe.entries([outcomeOf(1n)]), {clock})
    first.session.begin()
    await first.session.produce([])
    await takeOver({cluster: broker.cluster(), clock, transaction: TRANSACTION}, LEDGER, RUN_A, B)
    const second = await start(RUN_B)
    await claimPartitions(second, B, WANTED)
    expect(second.reader.contents.index.handled(recordOf(1n), REF)).toMatchObject({run: RUN_A})
  })

  test('a run that claims nothing has nothing to give', async () => {
    await expect(
      takeOver({cluster: broker.cluster(), clock, transaction: TRANSACTION}, LEDGER, RUN_A, B),
    ).resolves.toEqual([])
  })
})
