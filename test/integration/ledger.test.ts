import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import {systemClock as clock} from '../../src/lib/clock.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import type {TransactionSession} from '../../src/lib/kafka/ports.ts'
import {claimPartitions, endRun, takeOver} from '../../src/lib/replay/ledger/claims.ts'
import {ensureLedger} from '../../src/lib/replay/ledger/ensure-ledger.ts'
import {ledgerPartition} from '../../src/lib/replay/ledger/layout.ts'
import {transactionalIdOf} from '../../src/lib/replay/ledger/names.ts'
import {LedgerReader, listRuns, readLedger} from '../../src/lib/replay/ledger/read-ledger.ts'
import {ledgerRetention} from '../../src/lib/replay/ledger/retention.ts'
import type {LedgerOutcome, LedgerTopic} from '../../src/lib/replay/ledger/types.ts'
import type {Blocker} from '../../src/lib/replay/ledger/wait-stable.ts'
import {commitLedger, LedgerScribe, writeLedger} from '../../src/lib/replay/ledger/writer.ts'
import {connectPlain} from '../support/kafka-client.ts'
import {unique} from '../support/sandbox.ts'
import {addressOf, outcomeOf, partitionOf, recordOf, REF} from '../unit/replay/ledger/support.ts'

const bootstrapServers = inject('bootstrapServers')
let one: KafkaCluster
let two: KafkaCluster

beforeAll(async () => {
  one = await connectPlain(bootstrapServers)
  two = await connectPlain(bootstrapServers)
})

afterAll(async () => {
  await one.close()
  await two.close()
})

function make(cluster: KafkaCluster, name: string, create = true): Promise<LedgerTopic> {
  return ensureLedger({cluster, clock}, {name, create, deliveryTimeoutMs: 20_000})
}

function openRun(cluster: KafkaCluster, transactionalId: string): Promise<TransactionSession> {
  return cluster.writer.openTransactional({
    transactionalId,
    compression: 'lz4',
    deliveryTimeoutMs: 20_000,
    transactionTimeoutMs: 15_000,
  })
}

const author = (run: string) => ({run, by: 'ada'})

/** Ids like those of runs, new for every test run: transactional ids outlive a test. */
const newRun = (): string => unique('r')

describe('a ledger topic on a broker', () => {
  test('is made, found again, and takes a run with its entries', async () => {
    const name = unique('ledger')
    await expect(make(one, name, false)).rejects.toMatchObject({code: 'E_NO_LEDGER'})
    const [ledger, again] = await Promise.all([make(one, name), make(two, name)])
    expect(ledger).toEqual(again)
    expect(ledger).toMatchObject({partitions: 12, maxMessageBytes: 1_048_588})
    expect(await ledgerRetention({ledger: one, dlq: one}, name, [name])).toEqual({refuse: null, unknown: null})

    const run = newRun()
    const scribe = new LedgerScribe(clock, author(run))
    await using session = await openRun(one, transactionalIdOf(run))
    // More than one batch: 5,000 entries are about 2 MB.
    const outcomes = Array.from({length: 5000}, (_, offset) => outcomeOf(BigInt(offset)))
    await commitLedger(session, ledger, scribe.entries(outcomes), {clock})
    session.begin()
    await writeLedger(session, ledger, scribe.entries([outcomeOf(5000n)]), {clock})
    await session.abort()
    const {index, unreadable} = await readLedger({cluster: two, clock}, ledger, ['orders-dlq'])
    expect([index.size, unreadable]).toEqual([5000, 0])
    expect(index.handled(recordOf(4999n), REF)).toMatchObject({state: 'replayed', run, stale: false})
    expect(index.handled(recordOf(5000n), REF)).toBeNull()
  })

  test('entries behind the open transaction of another are waited for', async () => {
    const ledger = await make(one, unique('ledger'))
    const foreignId = unique('foreign')
    await using foreign = await openRun(two, foreignId)
    foreign.begin()
    const other = new LedgerScribe(clock, author(newRun()))
    await writeLedger(foreign, ledger, other.entries([outcomeOf(1n)]), {clock})
    const run = newRun()
    await using session = await openRun(one, transactionalIdOf(run))
    await commitLedger(session, ledger, new LedgerScribe(clock, author(run)).entries([outcomeOf(2n)]), {clock})

    await expect(readLedger({cluster: one, clock}, ledger, ['orders-dlq'], {waitMs: 300})).rejects.toMatchObject({
      code: 'E_LEDGER_BUSY',
      exitCode: 5,
      context: {producerId: `${foreign.producerId}`, transactionalId: foreignId},
    })
    const waits: Blocker[] = []
    const ended = Promise.withResolvers<void>()
    const onWait = (blocker: Blocker): void => {
      waits.push(blocker)
      foreign.commit().then(ended.resolve, ended.reject)
    }
    const {index} = await readLedger({cluster: one, clock}, ledger, ['orders-dlq'], {onWait})
    await ended.promise
    expect(index.handled(recordOf(2n), REF)).toMatchObject({run})
    expect(index.handled(recordOf(1n), REF)).not.toBeNull()
    expect(waits).toMatchObject([{transactionalId: foreignId, waitMs: 35_000}])
  })

  test('of two runs that start together one goes on, ten times', async () => {
    const ledger = await make(one, unique('ledger'))
    const wanted = [partitionOf('orders-dlq', 0), partitionOf('orders-dlq', 1), partitionOf('payments-dlq', 0)]
    for (let round = 0; round < 10; round++) {
      const runs = [newRun(), newRun()]
      const tries = await Promise.allSettled(
        runs.map(async (run, index) => {
          const cluster = index === 0 ? one : two
          await using session = await openRun(cluster, transactionalIdOf(run))
          const reader = new LedgerReader({cluster, clock}, ledger)
          await claimPartitions({session, reader, clock}, author(run), wanted)
          return run
        }),
      )
      const winners = tries.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []))
      const losers = tries.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
      expect(winners).toHaveLength(1)
      expect(losers).toMatchObject([{code: 'E_CLAIMED', exitCode: 6, context: {run: winners[0], by: 'ada'}}])
      await using ending = await openRun(one, transactionalIdOf(winners[0] ?? ''))
      const status = {state: 'completed', reason: null, counts: {replayed: round}} as const
      await endRun({session: ending, ledger, clock}, author(winners[0] ?? ''), {partitions: wanted, status})
    }
    const runs = await listRuns({cluster: one, clock}, ledger)
    expect(runs.map(({status}) => status?.state)).toEqual(Array.from({length: 10}, () => 'completed'))
  })

  test('a run that is taken over is fenced, what it had open is gone, and what it did is seen', async () => {
    const ledger = await make(one, unique('ledger'))
    const wanted = [partitionOf()]
    const [old, next] = [newRun(), newRun()]
    await using session = await openRun(one, transactionalIdOf(old))
    const scribe = new LedgerScribe(clock, author(old))
    await claimPartitions(
      {session, reader: new LedgerReader({cluster: one, clock}, ledger), clock},
      author(old),
      wanted,
    )
    await commitLedger(session, ledger, scribe.entries([outcomeOf(1n)]), {clock})
    session.begin()
    await writeLedger(session, ledger, scribe.entries([outcomeOf(2n)]), {clock})

    const transaction = {compression: 'lz4', deliveryTimeoutMs: 20_000, transactionTimeoutMs: 15_000} as const
    const ended = await takeOver({cluster: two, clock, transaction}, ledger, old, author(next))
    expect(ended.map(({run}) => run)).toEqual([old])
    await expect(session.commit()).rejects.toMatchObject({code: 'E_FENCED'})
    await using mine = await openRun(two, transactionalIdOf(next))
    const reader = new LedgerReader({cluster: two, clock}, ledger)
    await claimPartitions({session: mine, reader, clock}, author(next), wanted)
    const states = [1n, 2n].map(offset => reader.contents.index.stateInRun(old, addressOf(offset)))
    expect(states).toEqual(['replayed', null])
    await reader.catchUp([ledgerPartition(ledger, old)])
    expect(reader.contents.run(old).status).toMatchObject({state: 'taken-over', reason: `taken over by ${next}`})
  })

  test('a ledger that was compacted reads the same', async () => {
    const name = unique('ledger')
    await one.admin.createTopic({
      name,
      partitions: 1,
      replicationFactor: -1,
      configs: {
        'cleanup.policy': 'compact',
        'min.cleanable.dirty.ratio': '0.001',
        'segment.ms': '100',
        'min.compaction.lag.ms': '0',
        'max.compaction.lag.ms': '100',
      },
    })
    const ledger = await make(one, name)
    const run = newRun()
    const scribe = new LedgerScribe(clock, author(run))
    await using session = await openRun(one, transactionalIdOf(run))
    const put = (over: Partial<LedgerOutcome>): Promise<void> =>
      commitLedger(session, ledger, scribe.entries([outcomeOf(1n, over)]), {clock})
    await put({state: 'sending', target: null, scanFrom: 5n})
    let records = 0
    const deadline = clock.monotonic() + 90_000
    do {
      await put({})
      await clock.sleep(250)
      const contents = await readLedger({cluster: two, clock}, ledger, null)
      expect(contents.index.stateInRun(run, addressOf(1n))).toBe('replayed')
      const shrunk = contents.records < records
      records = contents.records
      if (shrunk) break
    } while (clock.monotonic() < deadline)
    // The log lost records, and the layout at its beginning is still found.
    expect(clock.monotonic()).toBeLessThan(deadline)
    expect(await make(two, name, false)).toMatchObject({partitions: 1})
  })
})
