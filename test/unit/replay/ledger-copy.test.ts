import {beforeEach, describe, expect, test} from 'vitest'
import type {KdlqError} from '../../../src/lib/errors.ts'
import type {LedgerCopy} from '../../../src/lib/replay/ledger-copy.ts'
import {openLedgerCopy} from '../../../src/lib/replay/ledger-copy.ts'
import {ensureLedger} from '../../../src/lib/replay/ledger/ensure-ledger.ts'
import {readLedger} from '../../../src/lib/replay/ledger/read-ledger.ts'
import type {LedgerOutcome, LedgerTopic} from '../../../src/lib/replay/ledger/types.ts'
import {LedgerScribe, writeLedger} from '../../../src/lib/replay/ledger/writer.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {FakeBroker} from './ledger/fake-broker.ts'
import {addressOf, outcomeOf, partitionOf, recordOf, REF, RUN_A, RUN_B} from './ledger/support.ts'

const NAME = 'kdlq-ledger'
const TOPICS = ['orders-dlq']
const AUTHOR = {run: RUN_A, by: 'ada'}
const clock = new FakeClock({auto: true})
const home = new FakeBroker()
const away = new FakeBroker()
let ledger: LedgerTopic
let failures: KdlqError[]

beforeEach(async () => {
  for (const broker of [home, away]) {
    broker.topics.clear()
    broker.gate = async () => undefined
  }
  failures = []
  const make = async (broker: FakeBroker, id: string): Promise<LedgerTopic> =>
    ensureLedger({cluster: broker.cluster(id), clock}, {name: NAME, create: true, deliveryTimeoutMs: 1000})
  await make(home, 'home')
  ledger = await make(away, 'away')
})

/** An entry as the target's ledger has it. */
const awayOutcome = (offset: bigint, over: Partial<LedgerOutcome> = {}): LedgerOutcome =>
  outcomeOf(offset, {source: addressOf(offset, partitionOf('orders-dlq', 0, {...REF, clusterId: 'home'})), ...over})

async function commitAway(run: string, ...outcomes: LedgerOutcome[]): Promise<void> {
  const session = await away.cluster('away').writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 1000,
  })
  await writeLedger(session, ledger, new LedgerScribe(clock, {run, by: 'ada'}).entries(outcomes), {clock})
}

async function openCopy(): Promise<LedgerCopy> {
  const deps = {
    source: home.cluster('home'),
    target: away.cluster('away'),
    clock,
    onFailed: (error: KdlqError) => void failures.push(error),
  }
  const copy = await openLedgerCopy(deps, NAME, AUTHOR, {deliveryTimeoutMs: 1000})
  if (copy === null) throw new Error('there is no copy')
  return copy
}

/** State and target cluster of each entry at home. */
async function atHome(): Promise<readonly string[]> {
  const source = home.cluster('home')
  const topic = await ensureLedger({cluster: source, clock}, {name: NAME, create: false, deliveryTimeoutMs: 1000})
  const {index} = await readLedger({cluster: source, clock}, topic, TOPICS)
  return [...index.entriesOfRun(RUN_A)].map(
    ({source: {offset, clusterId}, state, target}) =>
      `${offset} ${state} ${clusterId ?? 'here'} ${target?.clusterId ?? '-'}:${target?.offset ?? '-'}`,
  )
}

const recordsAtHome = (): number =>
  (home.topics.get(NAME)?.logs ?? []).reduce((sum, {entries}) => sum + entries.length, 0)

describe('the copy of a ledger, when a run is resumed', () => {
  test('gets what was committed on the target and not copied before the kill', async () => {
    const copy = await openCopy()
    await copy.write([awayOutcome(1n)])
    await commitAway(RUN_A, awayOutcome(1n), awayOutcome(2n), awayOutcome(3n, {state: 'failed', target: null}))
    await commitAway(RUN_B, awayOutcome(9n))
    await copy.complete(ledger, TOPICS)
    expect(await atHome()).toEqual(['1 replayed here away:2001', '2 replayed here away:2002', '3 failed here -:-'])
    expect(failures).toEqual([])
  })

  test('makes the copied records handled there, with their checksum', async () => {
    await commitAway(RUN_A, awayOutcome(2n))
    await (await openCopy()).complete(ledger, TOPICS)
    const source = home.cluster('home')
    const topic = await ensureLedger({cluster: source, clock}, {name: NAME, create: false, deliveryTimeoutMs: 1000})
    const {index} = await readLedger({cluster: source, clock}, topic, TOPICS)
    expect(index.handled(recordOf(2n), REF)).toMatchObject({state: 'replayed', run: RUN_A, stale: false})
  })

  test('is written once: what is there already is not written again', async () => {
    await commitAway(RUN_A, awayOutcome(1n), awayOutcome(2n))
    await (await openCopy()).complete(ledger, TOPICS)
    const before = recordsAtHome()
    await (await openCopy()).complete(ledger, TOPICS)
    expect(recordsAtHome()).toBe(before)
  })

  test('does not get what is only announced', async () => {
    await commitAway(RUN_A, awayOutcome(1n, {state: 'sending', scanFrom: 5n}))
    await (await openCopy()).complete(ledger, TOPICS)
    expect(await atHome()).toEqual([])
  })

  test('that cannot be written is told once and does not stop the run', async () => {
    await commitAway(RUN_A, awayOutcome(1n))
    const copy = await openCopy()
    home.topics.delete(NAME)
    await copy.complete(ledger, TOPICS)
    await copy.write([awayOutcome(1n)])
    expect(failures).toHaveLength(1)
  })
})
