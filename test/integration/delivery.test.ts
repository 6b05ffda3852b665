import {spawn} from 'node:child_process'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import {startJavaHelper} from '../../sandbox/java-helper.ts'
import {ensureLibs} from '../../sandbox/libs.ts'
import {connectCluster} from '../../src/lib/kafka/client/index.ts'
import {parseBootstrapServers, PLAINTEXT} from '../../src/lib/kafka/client/security.ts'
import type {Cluster, IsolationLevel} from '../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {recordsIn} from '../../src/lib/kafka/records/records-in.ts'
import {connectSet, header} from '../support/replay-letters.ts'
import {eventually, kdlq, unique} from '../support/sandbox.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bootstrapServers = inject('bootstrapServers')
let cluster: Cluster

beforeAll(async () => {
  cluster = await connectCluster({
    ...PLAINTEXT,
    bootstrapServers: parseBootstrapServers(bootstrapServers),
    clientId: 'kdlq-test',
    timeoutMs: 10_000,
    requestTimeoutMs: 30_000,
  })
})

afterAll(async () => cluster.close())

interface World {
  readonly origin: string
  readonly dlq: string
  /** `--ledger topic:NAME`, of this test alone. */
  readonly ledger: readonly [string, string]
}

const PARTITIONS = 3

async function createTopic(name: string, partitions: number): Promise<void> {
  await cluster.admin.createTopic({name, partitions, replicationFactor: 1, configs: {'retention.ms': '-1'}})
  await eventually(`topic ${name}`, async () => {
    const [topic] = await cluster.reader.topics([name])
    return topic?.error === null && topic.partitions.every(({leader}) => leader !== null) ? topic : null
  })
}

/** Dead letters over three partitions, whose origins are the six of another topic. */
async function world(count: number): Promise<World> {
  const origin = unique('orders')
  const dlq = `${origin}-dlq`
  await createTopic(origin, 6)
  await createTopic(dlq, PARTITIONS)
  await fill(origin, dlq, 0, count)
  return {origin, dlq, ledger: ['--ledger', `topic:${unique('ledger')}`]}
}

async function fill(origin: string, dlq: string, from: number, to: number): Promise<void> {
  await using session = await cluster.writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 30_000,
  })
  for (let start = from; start < to; start += 600) {
    const batches = Array.from({length: PARTITIONS}, () => new RecordBatchBuilder())
    for (let id = start; id < Math.min(to, start + 600); id++) {
      batches[id % PARTITIONS]?.append({
        timestamp: 1_700_000_000_000n + BigInt(id),
        key: Buffer.from(`k-${id}`),
        value: Buffer.from(`v-${id}`),
        headers: [header('trace', 'abc'), ...connectSet(origin, id % 6, Math.floor(id / 6))],
      })
    }
    const results = await session.produce(
      batches.flatMap((records, partition) => (records.count === 0 ? [] : [{topic: dlq, partition, records}])),
    )
    for (const {error} of results) expect(error).toBeNull()
  }
}

async function readAll(topic: string, isolationLevel: IsolationLevel = 'read_committed'): Promise<KafkaRecord[]> {
  const [description] = await cluster.reader.topics([topic])
  const partitions = description?.partitions.map(({partition}) => partition) ?? []
  const ends = await cluster.reader.offsets(partitions.map(partition => ({topic, partition, at: 'latest'})))
  const ranges = ends.map(({partition, offset}) => ({topic, partition, from: 0n, to: offset ?? 0n}))
  const records: KafkaRecord[] = []
  for await (const block of cluster.reader.read({ranges, isolationLevel, order: 'partition'})) {
    for (const cursor of recordsIn(block)) records.push(cursor.toRecord(topic, block.partition))
  }
  return records
}

/** Values in the target, each once, and each partition in the order of its origin. */
async function expectEachOnce({origin}: World, count: number): Promise<void> {
  const records = await readAll(origin)
  const values = records.map(({value}) => value?.toString() ?? '')
  expect(values.length).toBe(count)
  expect(new Set(values).size).toBe(count)
  for (const own of Map.groupBy(records, ({partition}) => partition).values()) {
    const times = own.map(({timestamp}) => timestamp ?? -1n)
    expect(times).toEqual(times.toSorted((a, b) => Number(a - b)))
  }
}

async function endOffsets(): Promise<Record<string, string>> {
  const topics = await cluster.reader.topics(null)
  const queries = topics.flatMap(({name, partitions}) =>
    partitions.map(({partition}) => ({topic: name, partition, at: 'latest'}) as const),
  )
  const answers = await cluster.reader.offsets(queries)
  return Object.fromEntries(answers.map(({topic, partition, offset}) => [`${topic}:${partition}`, String(offset)]))
}

interface Running {
  readonly run: Promise<string>
  /** Resolves when this many records are committed. */
  committed(count: number): Promise<void>
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGINT'): void
  readonly exit: Promise<{readonly code: number | null; readonly stderr: string}>
}

/** A process of its own, that says on stderr what it has committed. */
function start(...args: readonly string[]): Running {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('KDLQ_') && name !== 'FORCE_COLOR')
  const child = spawn(`${root}/node_modules/.bin/node`, [`${root}/bin/dev.js`, ...args, '--verbose'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: root,
    env: {
      ...Object.fromEntries(kept),
      KDLQ_BOOTSTRAP_SERVER: bootstrapServers,
      XDG_CONFIG_HOME: `${root}/test/support/no-config`,
      NODE_ENV: 'production',
    },
  })
  let stderr = ''
  let ended = false
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const exit = new Promise<{code: number | null; stderr: string}>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => {
      ended = true
      resolve({code, stderr})
    })
  })
  const look = async <T>(what: string, find: () => T | null): Promise<T> =>
    eventually(what, async () => {
      const found = find()
      if (found === null && ended) throw new Error(`ended before: ${what}\n${stderr}`)
      return found
    })
  return {
    run: look('a run id', () => /^(r-[0-9A-Z]{26}) (?:begins|goes on)/m.exec(stderr)?.[1] ?? null),
    committed: async count => {
      await look(`${count} committed`, () => {
        const all = [...stderr.matchAll(/: ([0-9]+) committed of/g)]
        return Number(all.at(-1)?.[1] ?? 0) >= count ? true : null
      })
    },
    signal: name => void child.kill(name),
    exit,
  }
}

const counts = ({stdout}: {readonly stdout: string}): Record<string, number> =>
  (JSON.parse(stdout) as {result: {counts: Record<string, number>}}).result.counts

describe('an exactly-once replay', () => {
  test('[BR-76] writes each record once, and a second run leaves all of them out as handled', async () => {
    const there = await world(1000)
    const args = ['replay', there.dlq, ...there.ledger, '--yes', '--rate', 'none'] as const
    await kdlq(bootstrapServers, 0, ...args, '--create-ledger')
    await expectEachOnce(there, 1000)
    const again = await kdlq(bootstrapServers, 0, ...args, '--json')
    expect(counts(again)).toMatchObject({selected: 1000, replayed: 0, skipped: 1000})
    await fill(there.origin, there.dlq, 1000, 1100)
    const look = async (which: string) => {
      const {stdout} = await kdlq(
        bootstrapServers,
        0,
        'inspect',
        there.dlq,
        ...there.ledger,
        '--handled',
        which,
        '--json',
      )
      return (JSON.parse(stdout) as {result: {records: {handled: {state: string} | null}[]}}).result.records
    }
    expect((await look('hide')).map(({handled}) => handled)).toEqual(Array.from({length: 100}, () => null))
    expect(new Set((await look('only')).map(({handled}) => handled?.state))).toEqual(new Set(['replayed']))
    const more = await kdlq(bootstrapServers, 0, ...args, '--json')
    expect(counts(more)).toMatchObject({selected: 1100, replayed: 100, skipped: 1000})
    await expectEachOnce(there, 1100)
  })

  test('goes on after kill -9, and says what was done before', async () => {
    const there = await world(3000)
    const first = start('replay', there.dlq, ...there.ledger, '--create-ledger', '--yes', '--rate', '1000/s')
    const run = await first.run
    await first.committed(500)
    first.signal('SIGKILL')
    await first.exit
    const listed = await kdlq(bootstrapServers, 0, 'runs', ...there.ledger, '--json')
    const [known] = (JSON.parse(listed.stdout) as {result: {runs: {run: string; state: string}[]}}).result.runs
    expect(known).toMatchObject({run, state: 'open'})
    const resumed = await kdlq(bootstrapServers, 0, 'resume', run, ...there.ledger, '--json')
    const {result} = JSON.parse(resumed.stdout) as {
      result: {run: string; counts: {replayed: number}; metrics: {replayedBefore: number}}
    }
    expect(result.run).toBe(run)
    expect(result.counts.replayed).toBe(3000)
    expect(result.metrics.replayedBefore).toBeGreaterThanOrEqual(500)
    await expectEachOnce(there, 3000)
    const after = await kdlq(bootstrapServers, 0, 'runs', run, ...there.ledger, '--json')
    expect(JSON.parse(after.stdout)).toMatchObject({result: {summary: {state: 'completed'}, counts: {replayed: 3000}}})
  })

  test('commits the open chunk on SIGINT and is resumable', async () => {
    const there = await world(2000)
    const first = start('replay', there.dlq, ...there.ledger, '--create-ledger', '--yes', '--rate', '500/s')
    await first.committed(100)
    first.signal('SIGINT')
    const {code, stderr} = await first.exit
    expect(code).toBe(130)
    expect(stderr).toMatch(/not reached/)
    // A run that was told to stop gives its partitions back: nobody has to be taken over.
    const second = await kdlq(
      bootstrapServers,
      0,
      'replay',
      there.dlq,
      ...there.ledger,
      '--yes',
      '--rate',
      'none',
      '--json',
    )
    expect(counts(second)['skipped']).toBeGreaterThanOrEqual(100)
    await expectEachOnce(there, 2000)
  })
})

describe('two operators', () => {
  test('a second run refuses with exit 6 and names the first', async () => {
    const there = await world(2000)
    const first = start('replay', there.dlq, ...there.ledger, '--create-ledger', '--yes', '--rate', '500/s')
    const run = await first.run
    await first.committed(50)
    const second = await kdlq(bootstrapServers, 6, 'replay', there.dlq, ...there.ledger, '--yes')
    expect(second.stderr).toContain(`claimed by run ${run}`)
    expect((await first.exit).code).toBe(0)
    await expectEachOnce(there, 2000)
  })

  test('--take-over ends a paused run for good: continued, it is fenced and says so', async () => {
    const there = await world(2000)
    const first = start('replay', there.dlq, ...there.ledger, '--create-ledger', '--yes', '--rate', '500/s')
    const run = await first.run
    await first.committed(100)
    first.signal('SIGSTOP')
    await kdlq(bootstrapServers, 0, 'replay', there.dlq, ...there.ledger, '--take-over', run, '--yes', '--rate', 'none')
    first.signal('SIGCONT')
    const {code, stderr} = await first.exit
    expect(code).toBe(1)
    expect(stderr).toMatch(/fenced|another process|somebody else/)
    await expectEachOnce(there, 2000)
    const refused = await kdlq(bootstrapServers, 6, 'resume', run, ...there.ledger)
    expect(refused.stderr).toContain('taken over')
  })
})

describe('what changes nothing', () => {
  test('a dry run, a refused one and a declined one leave every end offset as it was', async () => {
    const there = await world(20)
    const before = await endOffsets()
    await kdlq(bootstrapServers, 0, 'replay', there.dlq, ...there.ledger, '--dry-run')
    await kdlq(bootstrapServers, 6, 'replay', there.dlq, ...there.ledger, '--yes')
    await kdlq(bootstrapServers, 6, 'replay', there.dlq, ...there.ledger, '--create-ledger')
    await kdlq(
      bootstrapServers,
      6,
      'replay',
      there.dlq,
      ...there.ledger,
      '--create-ledger',
      '--yes',
      '--target-topic',
      'nowhere',
    )
    expect(await endOffsets()).toEqual(before)
  })
})

describe('a dead letter topic that was recreated', () => {
  test('its old entries are shown as another record’s, and nothing is silently skipped', async () => {
    const there = await world(30)
    const args = ['replay', there.dlq, ...there.ledger, '--yes', '--rate', 'none'] as const
    await kdlq(bootstrapServers, 0, ...args, '--create-ledger')
    await using java = startJavaHelper(await ensureLibs('4.4.0'), bootstrapServers)
    await java.deleteTopic(there.dlq)
    await eventually('the topic is gone', async () => {
      const [topic] = await cluster.reader.topics([there.dlq])
      return topic?.error === null ? null : true
    })
    await createTopic(there.dlq, PARTITIONS)
    await fill(there.origin, there.dlq, 30, 60)
    const refused = await kdlq(bootstrapServers, 6, ...args)
    expect(refused.stderr).toContain('recreated (30)')
    const sent = await kdlq(bootstrapServers, 0, ...args, '--allow', 'recreated', '--json')
    expect(counts(sent)).toMatchObject({replayed: 30, skipped: 0})
    await expectEachOnce(there, 60)
  })
})

describe('at least once', () => {
  test('finds in the target what a killed run had sent, and sends the rest', async () => {
    const there = await world(2000)
    const options = [...there.ledger, '--delivery', 'at-least-once'] as const
    const first = start('replay', there.dlq, ...options, '--create-ledger', '--yes', '--rate', '1000/s')
    const run = await first.run
    await first.committed(200)
    first.signal('SIGKILL')
    await first.exit
    const resumed = await kdlq(bootstrapServers, 0, 'resume', run, ...there.ledger, '--json')
    expect(counts(resumed)).toMatchObject({replayed: 2000, unknown: 0, failed: 0})
    const values = new Set((await readAll(there.origin)).map(({value}) => value?.toString()))
    expect(values.size).toBe(2000)
  })

  test('keeps its ledger in a file, without a topic', async () => {
    const there = await world(100)
    const directory = await mkdtemp(join(tmpdir(), 'kdlq-ledger-'))
    try {
      const ledger = ['--ledger', `file:${directory}/ledger.ndjson`, '--delivery', 'at-least-once'] as const
      const args = ['replay', there.dlq, ...ledger, '--yes', '--rate', 'none', '--json'] as const
      expect(counts(await kdlq(bootstrapServers, 0, ...args, '--create-ledger'))).toMatchObject({replayed: 100})
      expect(counts(await kdlq(bootstrapServers, 0, ...args))).toMatchObject({replayed: 0, skipped: 100})
      await kdlq(bootstrapServers, 2, 'replay', there.dlq, '--ledger', 'none', '--yes')
    } finally {
      await rm(directory, {recursive: true})
    }
  })
})
