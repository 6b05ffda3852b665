import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import {startKafka} from '../../sandbox/kafka.ts'
import {ensureLibs} from '../../sandbox/libs.ts'
import {consoleConsume} from '../../sandbox/tools.ts'
import {systemClock as clock} from '../../src/lib/clock.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import type {TransactionSession} from '../../src/lib/kafka/ports.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {ensureLedger} from '../../src/lib/replay/ledger/ensure-ledger.ts'
import {ledgerPartition} from '../../src/lib/replay/ledger/layout.ts'
import {killRepeatedly, planKills, tell, tellKills, testRandom} from '../support/delivery-kills.ts'
import type {KilledRun} from '../support/delivery-kills.ts'
import {freshMachine, runKdlq, startKdlq, runIdIn} from '../support/delivery-process.ts'
import type {Ended, KdlqProcess} from '../support/delivery-process.ts'
import {
  CommittedRecords,
  committedValues,
  deliveryWorld,
  expectEachOnce,
  rawEntries,
} from '../support/delivery-world.ts'
import {TARGET_PARTITIONS} from '../support/delivery-world.ts'
import type {DeliveryWorld} from '../support/delivery-world.ts'
import {connectPlain} from '../support/kafka-client.ts'
import {eventually, unique} from '../support/sandbox.ts'

const bootstrapServers = inject('bootstrapServers')
const RECORDS = 6000
const RATE = ['--rate', '3000/s', '--create-ledger']
let cluster: KafkaCluster

beforeAll(async () => {
  cluster = await connectPlain(bootstrapServers)
})

afterAll(async () => cluster.close())

async function expectDone(world: DeliveryWorld, {last}: KilledRun): Promise<void> {
  expect(last).toMatchObject({code: 0})
  const counts = {selected: world.records, replayed: world.records}
  expect(JSON.parse(last.stdout)).toMatchObject({result: {counts}})
  const libs = await ensureLibs('4.4.0')
  const read = {bootstrapServers: world.bootstrapServers, topic: world.origin, count: world.records}
  await expectEachOnce(world, await consoleConsume(libs, read))
}

describe('killed and resumed', () => {
  /** Somebody else writes to the ledger partition of the dead letters and does not end the transaction. */
  async function foreigner(world: DeliveryWorld, transactionTimeoutMs: number): Promise<TransactionSession> {
    const session = await cluster.writer.openTransactional({
      transactionalId: unique('foreign'),
      compression: 'none',
      deliveryTimeoutMs: 20_000,
      transactionTimeoutMs,
    })
    const partition = ledgerPartition({partitions: 12}, world.dlq)
    const records = new RecordBatchBuilder()
    records.append({timestamp: 0n, key: Buffer.from('not|ours'), value: Buffer.from('x'), headers: []})
    session.begin()
    const [written] = await session.produce([{topic: world.ledger, partition, records}])
    expect(written?.error).toBeNull()
    return session
  }

  test('behind a foreign transaction in its ledger partition: it waits, sends nothing meanwhile, and nothing twice', async () => {
    const name = 'foreign transaction'
    const world = await deliveryWorld(cluster, bootstrapServers, RECORDS)
    const endings = ['commit', 'abort', 'time out'] as const
    const sessions: TransactionSession[] = []
    const killed = await killRepeatedly(world, {
      kills: planKills(endings.length, RECORDS, testRandom(name)),
      replay: ['replay', world.dlq, ...RATE, ...world.ledgerFlags],
      async between(_run, number) {
        sessions.push(await foreigner(world, endings[number - 1] === 'time out' ? 8000 : 60_000))
      },
      async resumed(kdlq, number) {
        const [session, ending] = [sessions.at(-1), endings[number - 1]]
        await eventually('it says that it waits', async () =>
          /waiting up to .* open transaction of foreign-/.test(kdlq.stderr) ? true : null,
        )
        const seen = new CommittedRecords(world)
        const before = await seen.look()
        if (ending === 'time out') return
        // Long enough for several chunks, if it did not wait.
        await new Promise(resolve => setTimeout(resolve, 400))
        expect(await seen.look()).toBe(before)
        expect(kdlq.isRunning).toBe(true)
        await (ending === 'commit' ? session?.commit() : session?.abort())
      },
    })
    tellKills(name, killed)
    await Promise.all(sessions.map(async session => session.close()))
    await expectDone(world, killed)
    expect(sessions).toHaveLength(endings.length)
  })

  test('on machines that know nothing of the run, it goes on from the ledger alone', async () => {
    const name = 'other machines'
    const world = await deliveryWorld(cluster, bootstrapServers, RECORDS)
    const killed = await killRepeatedly(world, {
      kills: planKills(4, RECORDS, testRandom(name)),
      replay: ['replay', world.dlq, ...RATE, ...world.ledgerFlags],
      machine: freshMachine,
    })
    tellKills(name, killed)
    await expectDone(world, killed)
    expect(killed.kills).toHaveLength(4)
  })

  test('at the moment of its claims, a run can be resumed like any other', async () => {
    const world = await deliveryWorld(cluster, bootstrapServers, 300)
    const {ledger: name, dlq, ledgerFlags} = world
    const ledger = await ensureLedger({cluster, clock}, {name, create: true, deliveryTimeoutMs: 20_000})
    const place = {topic: name, partition: ledgerPartition(ledger, dlq), at: 'last-stable'} as const
    const end = async (): Promise<bigint> => (await cluster.reader.offsets([place]))[0]?.offset ?? 0n
    const before = await end()
    const kdlq = startKdlq(bootstrapServers, ['replay', dlq, '--yes', ...RATE, ...ledgerFlags])
    while ((await end()) === before) expect(kdlq.isRunning).toBe(true)
    kdlq.signal('SIGKILL')
    await kdlq.ended
    // Killed before it could say its name: the ledger knows it.
    const listed = await runKdlq(bootstrapServers, 0, ['runs', '--json', ...ledgerFlags])
    const {runs} = (JSON.parse(listed.stdout) as {result: {runs: {run: string}[]}}).result
    expect(runs).toHaveLength(1)
    const run = runs[0]?.run ?? ''
    const last = await runKdlq(bootstrapServers, 0, ['resume', run, '--json', ...ledgerFlags])
    await expectDone(world, {run, kills: [], last, aborted: 0, waits: []})
  })

  /** The last word of the ledger about each dead letter. */
  async function lastStates(world: DeliveryWorld): Promise<ReadonlyMap<string, string>> {
    return new Map((await rawEntries(world)).map(({source, state}) => [source, state]))
  }

  /** Dead letters without a copy in the target, and those with several. */
  async function copies(world: DeliveryWorld): Promise<{readonly lost: string[]; readonly twice: string[]}> {
    const letters = [...(await committedValues(world, world.dlq, 3))]
    const values = (await committedValues(world, world.origin, TARGET_PARTITIONS)).values()
    const counts = new Map([...Map.groupBy(values, value => value)].map(([value, group]) => [value, group.length]))
    const those = (wanted: (count: number) => boolean): string[] =>
      letters.filter(([, value]) => wanted(counts.get(value) ?? 0)).map(([address]) => address)
    return {lost: those(count => count === 0), twice: those(count => count > 1)}
  }

  function unknownIn({stdout}: Ended): ReadonlySet<string> {
    const {result} = JSON.parse(stdout) as {
      result: {counts: Record<string, number>; failures: {address: string; state: string}[]}
    }
    const unknown = result.failures.filter(({state}) => state === 'unknown').map(({address}) => address)
    expect(unknown.length).toBe(result.counts['unknown'])
    return new Set(unknown)
  }

  test('with at-least-once what was being sent is looked for in the target: nothing is lost or there twice', async () => {
    const name = 'at-least-once'
    const world = await deliveryWorld(cluster, bootstrapServers, RECORDS)
    const sending: number[] = []
    const killed = await killRepeatedly(world, {
      kills: planKills(5, RECORDS, testRandom(name)).map((plan, index) =>
        index % 2 === 0 ? {...plan, when: 'open'} : plan,
      ),
      transactional: false,
      replay: ['replay', world.dlq, '--delivery', 'at-least-once', ...RATE, ...world.ledgerFlags],
      async between() {
        sending.push([...(await lastStates(world)).values()].filter(state => state === 'sending').length)
      },
    })
    tellKills(name, killed)
    tell(`${name}: being sent at the kills: ${sending.join(', ')}`)
    expect(Math.max(...sending)).toBeGreaterThan(0)
    expect(unknownIn(killed.last).size).toBe(0)
    expect(await copies(world)).toEqual({lost: [], twice: []})
    await expectDone(world, killed)
  })

  test('with at-least-once and no provenance, what may be there twice is listed, and sent again only when told', async () => {
    const name = 'at-least-once without provenance'
    const world = await deliveryWorld(cluster, bootstrapServers, RECORDS)
    // What a kill leaves unknown is not sent again: the later moments have to be within reach without it.
    const plans = planKills(3, RECORDS / 2, testRandom(name)).map(plan => ({...plan, when: 'open'}) as const)
    const killed = await killRepeatedly(world, {
      kills: plans,
      transactional: false,
      replay: ['replay', world.dlq, '--delivery', 'at-least-once', '--no-provenance', ...RATE, ...world.ledgerFlags],
    })
    tellKills(name, killed)
    const unknown = unknownIn(killed.last)
    const before = await copies(world)
    tell(`${name}: ${unknown.size} unknown, of these ${before.lost.length} not in the target`)
    expect(unknown.size).toBeGreaterThan(0)
    expect(killed.last.code).toBe(3)
    expect(before.lost.filter(address => !unknown.has(address))).toEqual([])
    expect(before.twice).toEqual([])
    const resend = ['resume', killed.run, '--resend-unknown', '--json', ...world.ledgerFlags]
    const last = await runKdlq(bootstrapServers, 0, resend)
    expect(unknownIn(last).size).toBe(0)
    const after = await copies(world)
    expect(after.lost).toEqual([])
    expect(after.twice.filter(address => !unknown.has(address))).toEqual([])
    expect(after.twice).toHaveLength(unknown.size - before.lost.length)
    expect([...(await lastStates(world)).values()].filter(state => state !== 'replayed')).toEqual([])
  })
})

test('a broker that restarts in the middle of a run, and between a kill and its resume: each record once', async () => {
  await using kafka = await startKafka({version: '4.4.0', dir: join(inject('kafkaDir'), 'delivery-restart')})
  await using own = await connectPlain(kafka.bootstrapServers)
  const world = await deliveryWorld(own, kafka.bootstrapServers, RECORDS)
  const seen = new CommittedRecords(world)
  const replay = ['replay', world.dlq, '--yes', '--json', ...RATE, ...world.ledgerFlags]
  const reach = async (kdlq: KdlqProcess, count: number): Promise<void> => {
    await eventually(`${count} committed`, async () => {
      if (!kdlq.isRunning) throw new Error(`it ended: ${JSON.stringify(await kdlq.ended)}`)
      return (await seen.look()) >= count ? true : null
    })
  }
  const first = startKdlq(kafka.bootstrapServers, replay)
  await reach(first, 500)
  first.signal('SIGKILL')
  await kafka.restart()
  const run = runIdIn((await first.ended).stderr)
  const resume = ['resume', run, '--json', ...world.ledgerFlags]
  const second = startKdlq(kafka.bootstrapServers, resume)
  await reach(second, (await seen.look()) + 500)
  await kafka.restart()
  const ended = await second.ended
  tell(`broker restart: the run that lived through it ended with ${ended.code}, ${await seen.look()} committed`)
  expect([0, 3, 5]).toContain(ended.code)
  const last = ended.code === 0 ? ended : await runKdlq(kafka.bootstrapServers, 0, resume)
  await expectDone(world, {run, kills: [], last, aborted: seen.aborted, waits: []})
}, 240_000)
