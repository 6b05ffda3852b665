import {afterEach, describe, expect, test} from 'vitest'
import type {Cluster} from '../../../src/lib/kafka/ports.ts'
import {LedgerIndex} from '../../../src/lib/replay/ledger/index-table.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import {provenanceHeader} from '../../../src/lib/replay/provenance.ts'
import {resolveSending} from '../../../src/lib/replay/resolve-sending.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {archiveOf, closeArchives, deadLetter, FakeTarget, inputFor, NOW} from './support.ts'

afterEach(closeArchives)

const RUN = 'r-01ARYZ6S410000000000000000'

/** A target whose partition 3 holds the record of dead letter 0, sent by this run, and one of another run. */
async function target(): Promise<Cluster> {
  const sent = (offset: number, run: string, letter: string) =>
    deadLetter(offset, {
      topic: 'orders',
      partition: 3,
      headers: [provenanceHeader({run, attempt: 1, deadLetter: letter})],
    })
  return archiveOf([
    sent(4, 'r-other', 'orders-dlq:0:1'),
    sent(5, RUN, 'orders-dlq:0:0'),
    sent(6, 'r-other', 'orders-dlq:0:1'),
  ])
}

/** Dead letters 0 and 1 were about to be sent. */
function sending(scanFrom: bigint | null): LedgerIndex {
  const index = new LedgerIndex()
  for (const offset of [0n, 1n]) {
    index.add({
      source: {clusterId: null, topicId: null, topic: 'orders-dlq', partition: 0, offset},
      state: 'sending',
      origin: null,
      target: {topic: 'orders', partition: 3, offset: null, clusterId: null},
      sha256: Buffer.alloc(32),
      attempt: 1,
      reason: null,
      scanFrom,
      run: RUN,
      by: null,
      at: BigInt(NOW),
    })
  }
  return index
}

async function planOf(
  over: Parameters<typeof inputFor>[1] = {},
  configs: Record<string, string> = {},
): Promise<ReplayPlan> {
  const source = await archiveOf([deadLetter(0), deadLetter(1)])
  const orders = new FakeTarget({orders: {partitions: 6, configs}})
  return (await planReplay({source, target: orders, clock: new FakeClock({now: NOW})}, await inputFor(source, over)))
    .plan
}

const kinds = async (plan: ReplayPlan, scanFrom: bigint | null): Promise<Record<string, string>> => {
  const resolved = await resolveSending(await target(), sending(scanFrom), {run: RUN, plan})
  return Object.fromEntries([...resolved].map(([address, {kind}]) => [address, kind]))
}

describe('records that a killed run was about to send', () => {
  test('are found by the provenance header of this run; what is not there was never written', async () => {
    const plan = await planOf()
    expect(await kinds(plan, 4n)).toEqual({'orders-dlq:0:0': 'found', 'orders-dlq:0:1': 'absent'})
    const resolved = await resolveSending(await target(), sending(4n), {run: RUN, plan})
    expect(resolved.get('orders-dlq:0:0')).toEqual({
      kind: 'found',
      target: {topic: 'orders', partition: 3, offset: 5n},
    })
  })

  test('stay unknown where the target has lost what was written since, unless they are found', async () => {
    expect(await kinds(await planOf(), 2n)).toEqual({'orders-dlq:0:0': 'found', 'orders-dlq:0:1': 'unknown'})
  })

  test('stay unknown in a compacted target, unless they are found', async () => {
    const plan = await planOf({}, {'cleanup.policy': 'compact'})
    expect(await kinds(plan, 4n)).toEqual({'orders-dlq:0:0': 'found', 'orders-dlq:0:1': 'unknown'})
  })

  test('stay unknown without the header, and where no start is known', async () => {
    const {headers} = await planOf()
    const unknown = {'orders-dlq:0:0': 'unknown', 'orders-dlq:0:1': 'unknown'}
    expect(await kinds(await planOf({headers: {...headers, provenance: false}}), 4n)).toEqual(unknown)
    expect(await kinds(await planOf(), null)).toEqual(unknown)
  })

  test('without any, the target is not read', async () => {
    const orders = new FakeTarget({orders: {partitions: 6}})
    expect((await resolveSending(orders, new LedgerIndex(), {run: RUN, plan: await planOf()})).size).toBe(0)
  })
})
