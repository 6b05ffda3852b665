import fc from 'fast-check'
import {expect, test} from 'vitest'
import {claimPartitions, endRun} from '../../src/lib/replay/ledger/claims.ts'
import {ledgerPartition} from '../../src/lib/replay/ledger/layout.ts'
import {LedgerReader} from '../../src/lib/replay/ledger/read-ledger.ts'
import {isKdlqError} from '../../src/lib/errors.ts'
import {FakeClock} from '../support/fake-clock.ts'
import {FakeBroker} from '../unit/replay/ledger/fake-broker.ts'
import {LEDGER, partitionOf} from '../unit/replay/ledger/support.ts'
import {runs} from '../support/runs.ts'

/** Topics whose entries lie in three different ledger partitions. */
const TOPICS = ['orders-dlq', 'a-dlq', 'b-dlq', 'c-dlq', 'd-dlq', 'e-dlq']
  .filter((topic, index, all) => {
    const at = ledgerPartition(LEDGER, topic)
    return all.findIndex(other => ledgerPartition(LEDGER, other) === at) === index
  })
  .slice(0, 3)
const PLACES = TOPICS.flatMap(topic => [partitionOf(topic, 0), partitionOf(topic, 1)])
const places = fc.shuffledSubarray(PLACES, {minLength: 1})

interface World {
  readonly broker: FakeBroker
  readonly clock: FakeClock
}

function world(scheduler: fc.Scheduler): World {
  const broker = new FakeBroker()
  broker.addTopic(LEDGER.name, 12, {'cleanup.policy': 'compact'})
  broker.gate = request => scheduler.schedule(Promise.resolve(), request)
  return {broker, clock: new FakeClock({auto: true})}
}

/** Claim, and when it holds: keep it, or end it. @returns what became of it */
async function claim({broker, clock}: World, run: string, wanted: typeof PLACES, ends: boolean): Promise<string> {
  const cluster = broker.cluster()
  const session = await cluster.writer.openTransactional({
    transactionalId: run,
    compression: 'none',
    deliveryTimeoutMs: 1000,
    transactionTimeoutMs: 15_000,
  })
  const reader = new LedgerReader({cluster, clock}, LEDGER, {waitMs: 1e9})
  try {
    await claimPartitions({session, reader, clock}, {run, by: null}, wanted)
    const status = {state: 'completed', reason: null, counts: {}} as const
    if (ends) await endRun({session, ledger: LEDGER, clock}, {run, by: null}, {partitions: wanted, status})
    return 'held'
  } catch (error) {
    if (!isKdlqError(error)) throw error
    return error.code
  }
}

test('whatever the interleaving, of two claimers of common partitions exactly one goes on', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), places, places, async (scheduler, first, second) => {
      const common = first.filter(place => second.includes(place))
      const state = world(scheduler)
      const both = Promise.all([claim(state, 'r-one', first, false), claim(state, 'r-two', second, false)])
      await scheduler.waitFor(both)
      const outcomes = (await both).toSorted()
      expect(outcomes).toEqual(common.length > 0 ? ['E_CLAIMED', 'held'] : ['held', 'held'])
      // Nothing is left of who lost.
      const reader = new LedgerReader({cluster: state.broker.cluster(), clock: state.clock}, LEDGER)
      state.broker.gate = async () => undefined
      await reader.catchUp(Array.from({length: 12}, (_, partition) => partition))
      const held = new Set(reader.contents.claims.map(({run}) => run))
      expect(held.size).toBe(common.length > 0 ? 1 : 2)
    }),
    {numRuns: runs(150)},
  )
})

test('of three claimers that stay at least one holds, and never two hold a common partition', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.tuple(places, places, places), async (scheduler, wanted) => {
      const state = world(scheduler)
      const all = Promise.all(wanted.map((own, index) => claim(state, `r-${index}`, own, false)))
      await scheduler.waitFor(all)
      const holders = (await all).flatMap((outcome, index) => (outcome === 'held' ? [wanted[index] ?? []] : []))
      expect(holders.length).toBeGreaterThan(0)
      const held = holders.flat()
      expect(new Set(held).size).toBe(held.length)
    }),
    {numRuns: runs(100)},
  )
})

test('claims that end leave nothing behind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), places, places, async (scheduler, first, second) => {
      const state = world(scheduler)
      const both = Promise.all([claim(state, 'r-one', first, true), claim(state, 'r-two', second, true)])
      await scheduler.waitFor(both)
      expect(await both).toContain('held')
      const reader = new LedgerReader({cluster: state.broker.cluster(), clock: state.clock}, LEDGER)
      state.broker.gate = async () => undefined
      await reader.catchUp(Array.from({length: 12}, (_, partition) => partition))
      expect(reader.contents.claims).toEqual([])
    }),
    {numRuns: runs(100)},
  )
})
