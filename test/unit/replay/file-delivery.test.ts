import {appendFile, mkdtemp, readFile, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {openArchive} from '../../../src/lib/kafka/archive/archive-cluster.ts'
import {KafkaError} from '../../../src/lib/errors.ts'
import type {Cluster} from '../../../src/lib/kafka/ports.ts'
import {archiveTarget} from '../../../src/lib/cli/replay-target.ts'
import type {Delivery} from '../../../src/lib/replay/delivery.ts'
import {openFileDelivery} from '../../../src/lib/replay/file-delivery.ts'
import {findRun, listRunSummaries} from '../../../src/lib/replay/find-runs.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {ReplayOutcome} from '../../../src/lib/replay/result.ts'
import {runReplay} from '../../../src/lib/replay/run-replay.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {archiveOf, closeArchives, deadLetter, FakeTarget, header, inputFor, NOW} from './support.ts'

const RUN = 'r-01ARYZ6S410000000000000000'
const OTHER = 'r-01ARYZ6S410000000000000001'
const lock = {self: {pid: 1, host: 'h', stamp: null}, isRunning: () => false}
const clock = new FakeClock({now: NOW, auto: true})
let dir = ''

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kdlq-file-'))
})

afterEach(async () => {
  await closeArchives()
  await rm(dir, {recursive: true})
})

/** A killed process writes nothing more, and says nothing. */
class Killed extends Error {}

interface World {
  readonly source: Cluster
  readonly target: () => Cluster
  readonly plan: ReplayPlan
  readonly kind: 'archive' | 'file'
  readonly path: string
}

async function archiveWorld(
  count: number,
  over: {readonly parkingTopic?: string; readonly capped?: readonly number[]} = {},
): Promise<World> {
  const {parkingTopic = null, capped = []} = over
  const provenance = header('kdlq.replay', '{"run":"r-0","attempt":3,"deadLetter":"orders-dlq:0:9"}')
  const source = await archiveOf(
    Array.from({length: count}, (_, offset) => {
      const letter = deadLetter(offset)
      return capped.includes(offset) ? {...letter, headers: [provenance, ...letter.headers]} : letter
    }),
  )
  const path = join(dir, 'out')
  const target = (): Cluster => archiveTarget(path, async () => openArchive(path, {create: true}))
  const ledger = {kind: 'archive'} as const
  const input = await inputFor(source, {delivery: 'exactly-once', ledger, handled: 'hide', rate: 20, parkingTopic})
  const {plan} = await planReplay({source, target: target(), clock}, input)
  return {source, target, plan, kind: 'archive', path}
}

/** Run; a kill happens in the middle of the given chunk. */
async function run(
  {source, target: makeTarget, plan, kind, path}: World,
  {name = RUN, resume = false, kill = null as (() => Promise<void>) | null, takeOver = null as string | null} = {},
): Promise<ReplayOutcome> {
  const target = makeTarget()
  let chunks = 0
  const openDelivery = async (): Promise<Delivery> => {
    const delivery = await openFileDelivery(
      {target, clock, lock},
      {
        ledger: {kind, path},
        author: {run: name, by: 'ann'},
        plan,
        reason: 'why',
        version: '0',
        deliveryTimeoutMs: 1000,
        resume,
        takeOver,
      },
    )
    if (kill === null) return delivery
    const {writer} = delivery
    const killed: Delivery['writer'] = {
      write: async (chunk, options) => {
        if (++chunks < 3) return writer.write(chunk, options)
        await kill()
        throw new Killed('killed')
      },
      [Symbol.asyncDispose]: async () => undefined,
    }
    return {
      writer: killed,
      view: delivery.view,
      before: delivery.before,
      resolutions: delivery.resolutions,
      settle: async () => undefined,
      hold: async () => undefined,
      end: async () => undefined,
      [Symbol.asyncDispose]: async () => delivery[Symbol.asyncDispose](),
    }
  }
  const input = {run: name, plan, maxFailed: null, maxDurationMs: null, deliveryTimeoutMs: 1000}
  const outcome = await runReplay({source, target, clock, openDelivery}, input)
  await target.close()
  return outcome
}

const lines = async (path: string, topic = 'orders'): Promise<string[]> => {
  const text = await readFile(join(path, `${topic}.ndjson`), 'utf8')
  return text.split('\n').filter(line => line !== '')
}

describe('an archive with its ledger', () => {
  test('a resumed run writes no more than its plan shows, what was written before included', async () => {
    const there = await archiveWorld(12)
    await run(there, {kill: async () => undefined})
    const before = (await lines(there.path)).length
    expect(before).toBeGreaterThan(0)
    const shown = {...there.plan, targets: there.plan.targets.map(target => ({...target, count: before + 3}))}
    const {result} = await run({...there, plan: shown}, {resume: true})
    expect(result.counts).toMatchObject({replayed: before + 3, failed: 12 - before - 3})
    expect(await lines(there.path)).toHaveLength(before + 3)
  })

  test('a chunk that was killed half written is cut off by resume; each record is there once', async () => {
    const there = await archiveWorld(12)
    const torn = '{"topic":"orders","partition":3,"offset":"2","val'
    await run(there, {
      kill: async () => appendFile(join(there.path, 'orders.ndjson'), `{"topic":"orders","partition":3}\n${torn}`),
    })
    const killedAt = (await lines(there.path)).length - 2
    expect(killedAt).toBeGreaterThan(0)
    expect(killedAt).toBeLessThan(12)
    const {result, error} = await run(there, {resume: true})
    expect(error).toBeNull()
    expect(result.counts).toMatchObject({selected: 12, replayed: 12})
    expect(result.metrics.replayedBefore).toBe(killedAt)
    expect(new Set((await lines(there.path)).map(line => (JSON.parse(line) as {key: string}).key)).size).toBe(12)
    expect(await lines(there.path)).toHaveLength(12)
  })

  test('parked records lie in a file of the archive; a killed chunk of them is cut off too', async () => {
    const capped = [0, 3, 4, 7, 9]
    const there = await archiveWorld(12, {parkingTopic: 'parking', capped})
    await run(there, {
      kill: async () => {
        await appendFile(join(there.path, 'parking.ndjson'), '{"topic":"parking","partition":0,"off')
      },
    })
    const {result, error} = await run(there, {resume: true})
    expect(error).toBeNull()
    expect(result.counts).toMatchObject({selected: 12, replayed: 7, parked: 5, failed: 0})
    expect(result.parking).toEqual({topic: 'parking', failed: 0, policy: 5})
    const keys = (await lines(there.path, 'parking')).map(line => (JSON.parse(line) as {key: string}).key)
    expect(keys).toEqual(capped.map(offset => `k-${offset}`))
    expect(await lines(there.path)).toHaveLength(7)
    const path = join(there.path, 'kdlq-ledger.ndjson')
    expect(await findRun({kind: 'file', path}, RUN, clock)).toMatchObject({
      parked: {failed: 0, policy: 5},
      summary: {counts: {parked: 5}},
    })
  })

  test('a run that was killed stands in the way of another one until it is taken over', async () => {
    const there = await archiveWorld(8)
    await run(there, {kill: async () => undefined})
    await expect(run(there, {name: OTHER})).rejects.toMatchObject({code: 'E_CLAIMED', context: {run: RUN}})
    const {result} = await run(there, {name: OTHER, takeOver: RUN})
    expect(result.counts.skipped).toBeGreaterThan(0)
    expect(await lines(there.path)).toHaveLength(8)
    const path = join(there.path, 'kdlq-ledger.ndjson')
    const runs = await listRunSummaries({kind: 'file', path}, clock)
    expect(runs.map(({run: id, state}) => [id, state])).toEqual([
      [OTHER, 'completed'],
      [RUN, 'taken-over'],
    ])
    expect((await findRun({kind: 'file', path}, OTHER, clock)).document.plan).toEqual(there.plan)
    await expect(findRun({kind: 'file', path}, 'r-01ARYZ6S410000000000000009', clock)).rejects.toMatchObject({
      code: 'E_NO_RUN',
    })
  })
})

describe('at least once with a ledger file', () => {
  const fileWorld = async (parkingTopic: string | null = null): Promise<World & {readonly fake: FakeTarget}> => {
    const source = await archiveOf([0, 1, 2].map(offset => deadLetter(offset)))
    const fake = new FakeTarget({orders: {partitions: 6}, parking: {partitions: 1}})
    fake.reader.offsets = async queries =>
      queries.map(({topic, partition}) => ({topic, partition, offset: 7n, error: null}))
    const path = join(dir, 'ledger.ndjson')
    const {plan} = await planReplay(
      {source, target: fake, clock},
      await inputFor(source, {ledger: {kind: 'file', path}, handled: 'hide', parkingTopic}),
    )
    return {source, target: () => fake, fake, plan, kind: 'file', path}
  }

  test('[CR-12] the entry is written before the send and completed after', async () => {
    const there = await fileWorld()
    const seen: string[] = []
    there.fake.before = async () => {
      seen.push(await readFile(there.path, 'utf8'))
    }
    const {result} = await run(there)
    expect(result.counts.replayed).toBe(3)
    const stated = (text: string, state: string): number =>
      text.split(new RegExp(String.raw`state\W+${state}\b`)).length - 1
    expect(stated(seen[0] ?? '', 'sending')).toBe(3)
    expect(stated(seen[0] ?? '', 'replayed')).toBe(0)
    expect(stated(await readFile(there.path, 'utf8'), 'replayed')).toBe(3)
  })

  test('what the target refused is announced for the parking topic, parked, and told by runs', async () => {
    const there = await fileWorld('parking')
    there.fake.answer = ({topic}, records) =>
      topic === 'orders' && records.some(({value}) => String(value) === 'v-1')
        ? {error: new KafkaError('no', {code: 'E_INVALID_RECORD'}), recordErrors: []}
        : null
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 2, parked: 1, failed: 0})
    const found = await findRun({kind: 'file', path: there.path}, RUN, clock)
    expect(found).toMatchObject({
      parked: {failed: 1, policy: 0},
      summary: {counts: {replayed: 2, parked: 1}, metrics: {'total-record-failures': 1}},
    })
    const entries = (await readFile(there.path, 'utf8')).split('\n').filter(line => line.includes('orders-dlq:0:1|'))
    const parsed = entries.map(line => (JSON.parse(line) as {value: {state: string; target: {topic: string}}}).value)
    expect(parsed.map(({state, target}) => [state, target.topic])).toEqual([
      ['sending', 'orders'],
      ['sending', 'parking'],
      ['parked', 'parking'],
    ])
  })
})
