import {spawn} from 'node:child_process'
import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import {startKafka} from '../../sandbox/kafka.ts'
import {ensureLibs} from '../../sandbox/libs.ts'
import {consoleConsume} from '../../sandbox/tools.ts'
import {connectCluster} from '../../src/lib/kafka/client/index.ts'
import {parseBootstrapServers, PLAINTEXT} from '../../src/lib/kafka/client/security.ts'
import type {Cluster} from '../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {connectSet, header} from '../support/replay-letters.ts'
import {essence, eventually, isStopped, kdlq, unique, unreadBytes} from '../support/sandbox.ts'

const bootstrapServers = inject('bootstrapServers')
const FOR_EVER = {'retention.ms': '-1'}
/** What goes out is the same with and without a ledger; delivery.test.ts has those. */
const PLAIN = ['--delivery', 'at-least-once', '--ledger', 'none'] as const
let cluster: Cluster

const connect = async (servers: string): Promise<Cluster> =>
  connectCluster({
    ...PLAINTEXT,
    bootstrapServers: parseBootstrapServers(servers),
    clientId: 'kdlq-test',
    timeoutMs: 10_000,
    requestTimeoutMs: 30_000,
  })

beforeAll(async () => {
  cluster = await connect(bootstrapServers)
})

afterAll(async () => cluster.close())

type Written = Pick<KafkaRecord, 'timestamp' | 'key' | 'value' | 'headers'>

async function createTopic(on: Cluster, name: string, partitions: number, configs: Record<string, string> = FOR_EVER) {
  await on.admin.createTopic({name, partitions, replicationFactor: 1, configs})
  await eventually(`topic ${name}`, async () => {
    const [topic] = await on.reader.topics([name])
    return topic?.error === null && topic.partitions.every(({leader}) => leader !== null) ? topic : null
  })
}

async function write(on: Cluster, topic: string, partition: number, records: readonly Written[]): Promise<void> {
  await using session = await on.writer.open({compression: 'none', transactionalId: null, deliveryTimeoutMs: 30_000})
  for (let from = 0; from < records.length; from += 500) {
    const batch = new RecordBatchBuilder()
    for (const record of records.slice(from, from + 500)) batch.append(record)
    const [result] = await session.produce([{topic, partition, records: batch}])
    expect(result?.error).toBeNull()
  }
}

/** A dead letter topic and the topic that its records came from. */
async function world(
  on: Cluster,
  records: (origin: string) => readonly Written[],
  target: {partitions?: number; configs?: Record<string, string>} = {},
): Promise<{origin: string; dlq: string}> {
  const origin = unique('orders')
  const dlq = `${origin}-dlq`
  await createTopic(on, origin, target.partitions ?? 6, target.configs)
  await createTopic(on, dlq, 1)
  await write(on, dlq, 0, records(origin))
  return {origin, dlq}
}

const letter = (origin: string, index: number, over: Partial<Written> = {}, partition = 3): Written => ({
  timestamp: 1_700_000_000_000n + BigInt(index),
  key: Buffer.from(`k-${index}`),
  value: Buffer.from(`v-${index}`),
  headers: [header('trace', 'abc'), ...connectSet(origin, partition, index)],
  ...over,
})

/** End offsets of every partition of the cluster, internal topics included. */
async function endOffsets(): Promise<Record<string, string>> {
  const topics = await cluster.reader.topics(null)
  const queries = topics.flatMap(({name, partitions}) =>
    partitions.map(({partition}) => ({topic: name, partition, at: 'latest'}) as const),
  )
  const answers = await cluster.reader.offsets(queries)
  return Object.fromEntries(answers.map(({topic, partition, offset}) => [`${topic}:${partition}`, String(offset)]))
}

describe('a record that was replayed on a real broker', () => {
  const hostile = (origin: string): readonly Written[] => {
    const before = [
      header('a', '1'),
      header('b', null),
      header('a', ''),
      {name: Buffer.from([]), value: Buffer.of(0xff, 0)},
    ]
    const around = (partition: number, offset: number) => [
      ...before,
      ...connectSet(origin, partition, offset),
      header('t', 'x,y'),
    ]
    return [
      letter(origin, 0, {headers: around(5, 0)}),
      letter(origin, 1, {headers: around(0, 1), key: null, value: Buffer.alloc(0)}),
      letter(origin, 2, {headers: around(5, 2), key: Buffer.alloc(0), value: null}),
      letter(origin, 3, {headers: around(5, 3), key: Buffer.of(0), value: Buffer.of(0x0a, 0x00, 0xff, 0x0a)}),
      letter(origin, 4, {headers: around(2, 4), value: Buffer.alloc(900 * 1024, 'x')}),
    ]
  }

  test('[BR-53] [BR-21] equals its original in Kafka’s own consumer; with provenance it has one header more', async () => {
    const {origin, dlq} = await world(cluster, hostile)
    await kdlq(bootstrapServers, 0, 'replay', dlq, ...PLAIN, '--allow', 'tombstone', '--no-provenance', '--yes')
    const libs = await ensureLibs('4.4.0')
    const plain = await consoleConsume(libs, {bootstrapServers, topic: origin, count: 5})
    const wanted = hostile(origin).map((record, index) => ({
      partition: [5, 0, 5, 5, 2][index],
      timestamp: String(record.timestamp),
      key: record.key?.toString('hex') ?? null,
      value: record.value?.toString('hex') ?? null,
      headers: [
        ['a', '31'],
        ['b', null],
        ['a', ''],
        ['', 'ff00'],
        ['t', Buffer.from('x,y').toString('hex')],
      ],
    }))
    const byTime = (records: readonly {timestamp: string | null}[]) =>
      records.toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp))
    expect(byTime(plain.map(essence))).toEqual(wanted)
    // The partition keeps the order of the dead letter topic.
    expect(plain.filter(({partition}) => partition === 5).map(({timestamp}) => timestamp)).toEqual([
      '1700000000000',
      '1700000000002',
      '1700000000003',
    ])

    await kdlq(bootstrapServers, 0, 'replay', dlq, ...PLAIN, '--allow', 'tombstone', '--yes')
    const all = await consoleConsume(libs, {bootstrapServers, topic: origin, count: 10})
    const marked = all.map(essence).filter(({headers}) => headers.some(([name]) => name === 'kdlq.replay'))
    expect(marked).toHaveLength(5)
    expect(byTime(marked.map(record => ({...record, headers: record.headers.slice(0, -1)})))).toEqual(wanted)
    const provenance = marked.map(({headers}) => Buffer.from(headers.at(-1)?.[1] ?? '', 'hex').toString())
    expect(provenance.map(text => (JSON.parse(text) as {deadLetter: string}).deadLetter).toSorted()).toEqual(
      [0, 1, 2, 3, 4].map(offset => `${dlq}:0:${offset}`),
    )
  })

  test('[CR-17] a record that the broker refuses for its size is split out of its batch, the others go', async () => {
    const random = (index: number): Buffer =>
      Buffer.from(Array.from({length: 6000}, (_, at) => (index * 31 + at * at * 7919) % 251))
    const {origin, dlq} = await world(
      cluster,
      name => Array.from({length: 9}, (_, index) => letter(name, index, index === 4 ? {value: random(index)} : {})),
      {configs: {...FOR_EVER, 'max.message.bytes': '4096'}},
    )
    const refused = await kdlq(bootstrapServers, 6, 'replay', dlq, '--yes', '--json')
    expect(JSON.parse(refused.stdout)).toMatchObject({
      error: {code: 'E_CHECKS_REFUSED', exitCode: 6},
      result: {run: null, counts: {selected: 0}},
    })
    const {stdout} = await kdlq(
      bootstrapServers,
      3,
      'replay',
      ...PLAIN,
      dlq,
      '--yes',
      '--json',
      '--allow',
      'record-size',
      '--compression',
      'none',
    )
    const {result} = JSON.parse(stdout) as {result: {counts: Record<string, number>; failures: unknown[]}}
    expect(result.counts).toMatchObject({selected: 9, replayed: 8, failed: 1})
    expect(result.failures).toMatchObject([{address: `${dlq}:0:4`, state: 'failed', code: 'E_MESSAGE_TOO_LARGE'}])
    const written = await consoleConsume(await ensureLibs('4.4.0'), {bootstrapServers, topic: origin, count: 8})
    expect(written.map(record => essence(record).key)).toEqual(
      [0, 1, 2, 3, 5, 6, 7, 8].map(index => Buffer.from(`k-${index}`).toString('hex')),
    )
  })
})

test('with --timestamp now --rate 500/s no second of the target holds more than 550 records', async () => {
  const {origin, dlq} = await world(cluster, name =>
    Array.from({length: 1600}, (_, index) => letter(name, index, {}, index % 6)),
  )
  const {stdout} = await kdlq(
    bootstrapServers,
    0,
    'replay',
    dlq,
    ...PLAIN,
    '--timestamp',
    'now',
    '--rate',
    '500/s',
    '--yes',
    '--json',
  )
  expect(JSON.parse(stdout)).toMatchObject({result: {counts: {replayed: 1600}}})
  const times: number[] = []
  const ranges = Array.from({length: 6}, (_, partition) => ({topic: origin, partition, from: 0n, to: 1600n}))
  const ends = await cluster.reader.offsets(
    ranges.map(({topic, partition}) => ({topic, partition, at: 'latest'}) as const),
  )
  const read = ranges.map((range, index) => ({...range, to: ends[index]?.offset ?? 0n}))
  for await (const block of cluster.reader.read({ranges: read, isolationLevel: 'read_committed', order: 'arrival'})) {
    for (const batch of block.batches) {
      const cursor = batch.cursor()
      while (cursor.next()) times.push(Number(cursor.timestamp))
    }
  }
  times.sort((a, b) => a - b)
  expect(times).toHaveLength(1600)
  let from = 0
  let most = 0
  for (let to = 0; to < times.length; to++) {
    while ((times[to] ?? 0) - (times[from] ?? 0) >= 1000) from++
    most = Math.max(most, to - from + 1)
  }
  expect(most).toBeLessThanOrEqual(550)
  // And the rate is used: not slower than four fifths of it.
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan((1600 / 400) * 1000)
})

describe('a run that must not write', () => {
  test('dry, refused or not consented to, it changes no end offset of the whole cluster', async () => {
    const {dlq} = await world(cluster, origin => [letter(origin, 0), letter(origin, 1, {value: null})])
    const before = await endOffsets()
    await kdlq(bootstrapServers, 0, 'replay', dlq, '--dry-run', '--skip', 'tombstone')
    await kdlq(bootstrapServers, 6, 'replay', dlq, '--dry-run')
    await kdlq(bootstrapServers, 6, 'replay', dlq, '--yes')
    const asked = await kdlq(bootstrapServers, 6, 'replay', dlq, ...PLAIN, '--skip', 'tombstone')
    expect(asked.stderr).toContain('--yes')
    await kdlq(bootstrapServers, 2, 'replay', dlq, '--yes', '--allow', 'pointer')
    expect(await endOffsets()).toEqual(before)
  })

  test('a saved plan is executed once it is asked for, exactly as it was saved', async () => {
    const {origin, dlq} = await world(cluster, name => [letter(name, 0), letter(name, 1)])
    const file = join(inject('kafkaDir'), `${dlq}.plan.json`)
    await kdlq(bootstrapServers, 0, 'replay', dlq, ...PLAIN, '--dry-run', '--plan-out', file)
    const plan = JSON.parse(await readFile(file, 'utf8')) as {counts: unknown; target: {topics: {topicId: string}[]}}
    expect(plan.counts).toMatchObject({selected: 2, toReplay: 2})
    // Written behind the plan: not part of it.
    await write(cluster, dlq, 0, [letter(origin, 2)])
    const {stdout} = await kdlq(bootstrapServers, 0, 'replay', '--plan', file, '--yes', '--json')
    expect(JSON.parse(stdout)).toMatchObject({result: {counts: {selected: 2, replayed: 2}}})
  })
})

test('a broker that stops answering: Ctrl-C ends the run within two seconds, what is open is named', async () => {
  await using kafka = await startKafka({version: '4.4.0', dir: join(inject('kafkaDir'), unique('silent'))})
  const own = await connect(kafka.bootstrapServers)
  const {dlq, origin} = await world(own, name => Array.from({length: 3000}, (_, index) => letter(name, index)))
  const child = spawn(
    join(process.cwd(), 'node_modules/.bin/node'),
    ['bin/dev.js', 'replay', dlq, ...PLAIN, '--yes', '--json', '--rate', '100/s'],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {...process.env, KDLQ_BOOTSTRAP_SERVER: kafka.bootstrapServers, NODE_ENV: 'production'},
    },
  )
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  const closed = new Promise<number | null>(resolve => {
    child.once('close', resolve)
  })
  try {
    await eventually('first records', async () => {
      const [answer] = await own.reader.offsets([{topic: origin, partition: 3, at: 'latest'}])
      return (answer?.offset ?? 0n) >= 20n ? true : null
    })
    let looks = 0
    await eventually('a chunk lies unread at the stopped broker', async () => {
      // A stop may catch the chunk in the broker's hands, where nobody sees it: now and then let it answer.
      if (++looks % 20 === 0) kafka.resume()
      else kafka.suspend()
      const stopped = (await Promise.all(kafka.pids.map(isStopped))).every(Boolean)
      return stopped && (await unreadBytes(kafka.brokers[0]?.port ?? 0)) > 0 ? true : null
    })
    const signalled = performance.now()
    child.kill('SIGINT')
    expect(await closed).toBe(130)
    expect(performance.now() - signalled).toBeLessThan(2000)
  } finally {
    child.kill('SIGKILL')
    kafka.resume()
    await own.close()
  }
  const {result, error} = JSON.parse(stdout) as {
    result: {counts: Record<string, number>; stopped: unknown; failures: {state: string}[]}
    error: {exitCode: number}
  }
  expect(error.exitCode).toBe(130)
  expect(result.stopped).toMatchObject({reason: 'signal', settled: false})
  expect(result.counts['replayed']).toBeGreaterThanOrEqual(20)
  expect(result.counts['unknown']).toBe(10)
  expect(result.failures.every(({state}) => state === 'unknown')).toBe(true)
})
