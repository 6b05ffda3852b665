import fc from 'fast-check'
import {afterEach, expect, test} from 'vitest'
import {BugError, KafkaError} from '../../src/lib/errors.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import type {Delivery} from '../../src/lib/replay/delivery.ts'
import {ensureLedger} from '../../src/lib/replay/ledger/ensure-ledger.ts'
import type {LedgerTopic} from '../../src/lib/replay/ledger/types.ts'
import {planReplay} from '../../src/lib/replay/plan-replay.ts'
import type {ReplayPlan} from '../../src/lib/replay/plan.ts'
import type {ReplayResult} from '../../src/lib/replay/result.ts'
import {runReplay} from '../../src/lib/replay/run-replay.ts'
import {openTopicDelivery} from '../../src/lib/replay/topic-delivery.ts'
import {FakeClock} from '../support/fake-clock.ts'
import {FakeBroker} from '../unit/replay/ledger/fake-broker.ts'
import {RUN_A} from '../unit/replay/ledger/support.ts'
import {archiveOf, closeArchives, connectSet, deadLetter, header, inputFor, NOW} from '../unit/replay/support.ts'

afterEach(closeArchives)

const LEDGER = 'kdlq-ledger'
const PARKING = 'parking'

/** What becomes of one dead letter: its target takes it, refuses it, refuses its copy too; or it was replayed too often. */
const fates = fc.constantFrom('good', 'good', 'refused', 'nowhere', 'capped')
type Fate = 'good' | 'refused' | 'nowhere' | 'capped'

const toLetter = (fate: Fate, offset: number): KafkaRecord =>
  deadLetter(offset, {
    value: Buffer.from(`${fate} ${offset}`),
    headers: [
      ...(fate === 'capped' ? [header('kdlq.replay', '{"run":"r-0","attempt":3,"deadLetter":"orders-dlq:0:9"}')] : []),
      ...connectSet('orders', offset % 3, offset),
    ],
  })

/** A broker that refuses by what is in a value; the copies say in their headers where they are. */
function brokerThatRefuses(): FakeBroker {
  const broker = new FakeBroker()
  broker.addTopic('orders', 3)
  broker.addTopic(PARKING, 2)
  broker.refuse = records => {
    const isBad = ({topic, value}: KafkaRecord): boolean =>
      topic !== LEDGER &&
      (String(value).startsWith('nowhere') || (topic === 'orders' && String(value).startsWith('refused')))
    return records.some(isBad) ? new KafkaError('no', {code: 'E_INVALID_RECORD'}) : null
  }
  return broker
}

/** Values that read_committed readers see. */
function committed(broker: FakeBroker, topic: string, partitions: number): readonly string[] {
  return Array.from({length: partitions}, (_, partition) => broker.entries(topic, partition))
    .flat()
    .filter(({transaction}) => transaction === null || transaction.state === 'committed')
    .map(({value}) => String(value))
}

interface Machine {
  readonly broker: FakeBroker
  readonly source: Awaited<ReturnType<typeof archiveOf>>
  readonly clock: FakeClock
  readonly ledger: LedgerTopic
  readonly plan: ReplayPlan
}

/** One process of the run. @returns null when it did not come to begin */
async function process({broker, source, clock, ledger, plan}: Machine, resume: boolean): Promise<ReplayResult | null> {
  const target = broker.cluster()
  const openDelivery = async (): Promise<Delivery> =>
    openTopicDelivery(
      {target, clock, ledger, copy: null},
      {author: {run: RUN_A, by: null}, plan, reason: null, version: '1', deliveryTimeoutMs: 1000, resume},
    )
  const input = {run: RUN_A, plan, maxFailed: null, maxDurationMs: null, deliveryTimeoutMs: 1000}
  try {
    return (await runReplay({source, target, clock, openDelivery}, input)).result
  } catch {
    return null
  }
}

test('a run that is killed anywhere and resumed leaves each record exactly once: in its target, or parked, or failed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fates, {minLength: 1, maxLength: 12}),
      fc.constantFrom('exactly-once' as const, 'at-least-once' as const),
      fc.constantFrom(null, 3, 1000),
      fc.integer({min: 1, max: 40}),
      async (drawn, delivery, rate, killAt) => {
        const broker = brokerThatRefuses()
        const clock = new FakeClock({now: NOW, auto: true})
        const source = await archiveOf(drawn.map(toLetter))
        const ledger = await ensureLedger(
          {cluster: broker.cluster(), clock},
          {name: LEDGER, create: true, deliveryTimeoutMs: 1000},
        )
        const input = await inputFor(source, {
          delivery,
          rate,
          ledger: {kind: 'topic', name: LEDGER},
          parkingTopic: PARKING,
        })
        const {plan} = await planReplay({source, target: broker.cluster(), clock}, input)
        const machine = {broker, source, clock, ledger, plan}
        let requests = 0
        broker.gate = async () => {
          if (++requests >= killAt) throw new BugError('killed')
        }
        const first = await process(machine, false)
        broker.gate = async () => undefined
        // A process that did not write its record down cannot be resumed: begin again.
        const last = first !== null && first.stopped === null ? first : await process(machine, first !== null)
        expect(last?.stopped).toBeNull()
        const wanted = (...fate: readonly Fate[]): string[] =>
          drawn.flatMap((one, offset) => (fate.includes(one) ? [`${one} ${offset}`] : [])).toSorted()
        expect(committed(broker, 'orders', 3).toSorted()).toEqual(wanted('good'))
        expect(committed(broker, PARKING, 2).toSorted()).toEqual(wanted('refused', 'capped'))
        expect(last?.counts).toMatchObject({
          selected: drawn.length,
          replayed: wanted('good').length,
          parked: wanted('refused', 'capped').length,
          failed: wanted('nowhere').length,
          unknown: 0,
        })
        expect(last?.parking).toMatchObject({failed: wanted('refused').length, policy: wanted('capped').length})
      },
    ),
    {numRuns: 25},
  )
})
