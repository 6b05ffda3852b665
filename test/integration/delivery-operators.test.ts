import {join} from 'node:path'
import {stripVTControlCharacters} from 'node:util'
import {spawn} from '@lydell/node-pty'
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import {ensureLibs} from '../../sandbox/libs.ts'
import {consoleConsume} from '../../sandbox/tools.ts'
import {systemClock as clock} from '../../src/lib/clock.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import {claimPartitions} from '../../src/lib/replay/ledger/claims.ts'
import {ensureLedger} from '../../src/lib/replay/ledger/ensure-ledger.ts'
import {transactionalIdOf} from '../../src/lib/replay/ledger/names.ts'
import {LedgerReader} from '../../src/lib/replay/ledger/read-ledger.ts'
import {clusterState, deleteTopic} from '../support/delivery-cluster.ts'
import {tell} from '../support/delivery-kills.ts'
import {freshMachine, runIdIn, runKdlq, startKdlq} from '../support/delivery-process.ts'
import type {Ended} from '../support/delivery-process.ts'
import {
  CommittedRecords,
  createTopic,
  deliveryWorld,
  expectEachOnce,
  hasOpenTransaction,
} from '../support/delivery-world.ts'
import {rawEntries, TARGET_PARTITIONS, writeLetters} from '../support/delivery-world.ts'
import type {DeliveryWorld} from '../support/delivery-world.ts'
import {connectPlain} from '../support/kafka-client.ts'
import {eventually} from '../support/sandbox.ts'

const bootstrapServers = inject('bootstrapServers')
let cluster: KafkaCluster

beforeAll(async () => {
  cluster = await connectPlain(bootstrapServers)
})

afterAll(async () => cluster.close())

interface Document {
  readonly result: {
    readonly run: string | null
    readonly counts: Record<string, number>
    readonly checks: readonly {readonly id: string; readonly count: number}[]
  }
  readonly error?: {readonly code: string; readonly exitCode: number; readonly message: string}
}

const documentOf = ({stdout}: Ended): Document => JSON.parse(stdout) as Document
const newWorld = async (records: number): Promise<DeliveryWorld> => deliveryWorld(cluster, bootstrapServers, records)

async function consumed(world: DeliveryWorld): Promise<ReturnType<typeof consoleConsume>> {
  return consoleConsume(await ensureLibs('4.4.0'), {bootstrapServers, topic: world.origin, count: world.records})
}

describe('a run that must not write', () => {
  /** Answer the question of a replay on a terminal. */
  async function decline(args: readonly string[]): Promise<number> {
    const terminal = spawn(join(process.cwd(), 'node_modules/.bin/node'), ['bin/dev.js', ...args], {
      cols: 120,
      rows: 60,
      env: {...process.env, ...freshMachine(), KDLQ_BOOTSTRAP_SERVER: bootstrapServers},
    })
    const {promise, resolve} = Promise.withResolvers<number>()
    let screen = ''
    let answered = false
    terminal.onData(text => {
      screen += text
      if (answered || !/Replay .* to .*\?/.test(stripVTControlCharacters(screen))) return
      answered = true
      terminal.write('n\r')
    })
    terminal.onExit(({exitCode}) => resolve(exitCode))
    const code = await promise
    expect(screen).toContain('nothing was written')
    return code
  }

  test('dry, refused or declined, it changes no topic, configuration or end offset of the whole cluster', async () => {
    const world = await newWorld(30)
    const {dlq, ledger, ledgerFlags} = world
    const refused = async (...args: readonly string[]): Promise<void> => {
      const before = await clusterState(cluster)
      await runKdlq(bootstrapServers, 6, args)
      expect(await clusterState(cluster)).toEqual(before)
    }
    // No ledger yet: it must not be made by a dry run, nor without being asked for.
    const before = await clusterState(cluster)
    await runKdlq(bootstrapServers, 0, ['replay', dlq, '--dry-run', '--create-ledger', ...ledgerFlags])
    await runKdlq(bootstrapServers, 6, ['replay', dlq, '--yes', ...ledgerFlags])
    expect(await decline(['replay', dlq, '--create-ledger', ...ledgerFlags])).toBe(6)
    expect(await clusterState(cluster)).toEqual(before)

    const made = await ensureLedger({cluster, clock}, {name: ledger, create: true, deliveryTimeoutMs: 20_000})
    const run = 'r-01KB8Q0000AAAAAAAAAAAAAAAA'
    await refused('resume', run, ...ledgerFlags)
    await refused('replay', dlq, ...ledgerFlags)
    const [topic] = await cluster.reader.topics([dlq])
    await using session = await cluster.writer.openTransactional({
      transactionalId: transactionalIdOf(run),
      compression: 'none',
      deliveryTimeoutMs: 20_000,
      transactionTimeoutMs: 15_000,
    })
    const reader = new LedgerReader({cluster, clock}, made)
    const partition = {clusterId: null, topicId: topic?.id ?? null, topic: dlq, partition: 1}
    await claimPartitions({session, reader, clock}, {run, by: 'ada'}, [partition])
    await refused('replay', dlq, '--yes', ...ledgerFlags)
    await refused('replay', dlq, '--yes', '--delivery', 'at-least-once', ...ledgerFlags)
  })
})

describe('two operators', () => {
  async function expectOneWinner(world: DeliveryWorld, args: readonly string[]): Promise<void> {
    const both = await Promise.all([1, 2].map(async () => startKdlq(bootstrapServers, args, freshMachine()).ended))
    const [winner, loser] = both.toSorted((a, b) => (a.code ?? 99) - (b.code ?? 99))
    if (winner === undefined || loser === undefined) throw new Error('two processes')
    expect(winner).toMatchObject({code: 0})
    expect(loser).toMatchObject({code: 6})
    const {run, counts} = documentOf(winner).result
    expect(counts).toMatchObject({replayed: world.records})
    expect(documentOf(loser)).toMatchObject({error: {code: 'E_CLAIMED', exitCode: 6, context: {run}}})
    const {stdout} = await runKdlq(bootstrapServers, 0, ['runs', '--json', ...world.ledgerFlags])
    expect(JSON.parse(stdout)).toMatchObject({result: {runs: [{run, state: 'completed'}]}})
    await expectEachOnce(world, await consumed(world))
  }

  test('who replay the same selection at the same time: one goes on, the other is refused with its name', async () => {
    const world = await newWorld(3000)
    const slow = ['--rate', '400/s', '--create-ledger', ...world.ledgerFlags]
    await expectOneWinner(world, ['replay', world.dlq, '--yes', '--json', ...slow])
    expect((await rawEntries(world)).length).toBe(3000)
  })

  test('who execute the same plan file at the same time: one goes on, the other is refused with its name', async () => {
    const world = await newWorld(3000)
    const file = join(inject('kafkaDir'), `${world.dlq}.plan.json`)
    const plan = ['replay', world.dlq, '--dry-run', '--rate', '400/s', '--plan-out', file, ...world.ledgerFlags]
    await runKdlq(bootstrapServers, 0, plan)
    await expectOneWinner(world, ['replay', '--plan', file, '--yes', '--json', '--create-ledger'])
    const again = await runKdlq(bootstrapServers, 0, ['replay', '--plan', file, '--yes', '--json'])
    expect(documentOf(again).result.counts).toMatchObject({replayed: 0, skipped: 3000})
  })

  const moments = ['between two chunks', 'within a transaction'] as const
  test.each(moments)('a run that was paused %s and taken over: continued, it is fenced and says so', async moment => {
    const world = await newWorld(6000)
    const args = ['replay', world.dlq, '--yes', '--json', '--create-ledger', ...world.ledgerFlags]
    const old = startKdlq(bootstrapServers, [...args, '--rate', '1000/s'])
    const seen = new CommittedRecords(world)
    await eventually('some are committed', async () => ((await seen.look()) >= 800 ? true : null))
    while ((await seen.isOpen()) !== (moment === 'within a transaction')) {
      if (!old.isRunning) throw new Error(`it ended: ${JSON.stringify(await old.ended)}`)
    }
    old.signal('SIGSTOP')
    const open = await hasOpenTransaction(world)
    const run = runIdIn(old.stderr)
    const next = await runKdlq(bootstrapServers, 0, [...args, '--rate', 'none', '--take-over', run])
    const done = documentOf(next).result
    expect(done.counts['replayed']).toBe(6000 - (done.counts['skipped'] ?? 0))
    old.signal('SIGCONT')
    const ended = await old.ended
    const left = `${done.counts['replayed']} were left for the new one`
    tell(`taken over ${open ? 'with' : 'without'} an open transaction: the old run ended with ${ended.code}, ${left}`)
    for (const line of next.stderr.split('\n').filter(text => text.startsWith('waiting'))) tell(`taken over: ${line}`)
    expect(documentOf(ended)).toMatchObject({error: {code: 'E_FENCED'}})
    expect(ended.code).not.toBe(0)
    expect(ended.stderr + ended.stdout).toMatch(/taken over|fenced/i)
    const {result} = JSON.parse(
      (await runKdlq(bootstrapServers, 0, ['runs', run, '--json', ...world.ledgerFlags])).stdout,
    ) as {result: {summary: object}}
    expect(result.summary).toMatchObject({state: 'taken-over', endReason: `taken over by ${done.run}`})
    await runKdlq(bootstrapServers, 6, ['resume', run, ...world.ledgerFlags])
    await expectEachOnce(world, await consumed(world))
  })
})

test('a dead letter topic that was recreated: old entries are told as stale, nothing is left out silently', async () => {
  const world = await newWorld(300)
  const {dlq, origin} = world
  const args = ['replay', dlq, '--json', '--create-ledger', '--rate', 'none', ...world.ledgerFlags]
  await runKdlq(bootstrapServers, 0, [...args, '--yes'])
  await deleteTopic(cluster, bootstrapServers, dlq)
  await createTopic(cluster, dlq, 3)
  // The same bytes at the same offsets: only the topic's id differs.
  await writeLetters(cluster, {origin, dlq}, 300)
  const dry = await runKdlq(bootstrapServers, 6, [...args, '--dry-run', '--allow', 'duplicate-origin'])
  expect(documentOf(dry).result.checks).toContainEqual(expect.objectContaining({id: 'recreated', count: 300}))
  const allowed = ['--allow', 'duplicate-origin', '--allow', 'recreated']
  const {result} = documentOf(await runKdlq(bootstrapServers, 0, [...args, '--yes', ...allowed]))
  expect(result.counts).toMatchObject({selected: 300, replayed: 300, skipped: 0})
  expect(await new CommittedRecords(world).look()).toBe(600)
})

test('at a record in three seconds no transaction stays open while it waits: never two seconds, by the brokers', async () => {
  const world = await newWorld(5)
  const args = ['replay', world.dlq, '--yes', '--json', '--create-ledger', '--rate', '20/m', ...world.ledgerFlags]
  const kdlq = startKdlq(bootstrapServers, args)
  await eventually('the ledger is there', async () => {
    const [topic] = await cluster.reader.topics([world.ledger])
    return topic?.error === null ? true : null
  })
  const places = [
    ...Array.from({length: TARGET_PARTITIONS}, (_, partition) => ({topic: world.origin, partition})),
    ...Array.from({length: 12}, (_, partition) => ({topic: world.ledger, partition})),
  ]
  const ages = new Map<string, number>()
  let looks = 0
  while (kdlq.isRunning) {
    const found = await Promise.all(places.map(({topic, partition}) => cluster.admin.activeProducers(topic, partition)))
    const open = found.flat().filter(({transactionStartOffset}) => transactionStartOffset !== null)
    for (const id of new Set(open.map(({producerId}) => producerId))) {
      for (const {transactionalId, startTimeMs} of await cluster.admin.transactionsOf(id)) {
        if (startTimeMs === null) continue
        const key = `${transactionalId} ${startTimeMs}`
        ages.set(key, Math.max(ages.get(key) ?? 0, Date.now() - Number(startTimeMs)))
      }
    }
    looks++
  }
  const longest = Math.max(0, ...ages.values())
  tell(`slow run: ${ages.size} transactions seen open in ${looks} looks, the longest for ${longest} ms`)
  expect(await kdlq.ended).toMatchObject({code: 0})
  expect(await new CommittedRecords(world).look()).toBe(5)
  expect(looks).toBeGreaterThan(50)
  expect(longest).toBeLessThan(2000)
})
