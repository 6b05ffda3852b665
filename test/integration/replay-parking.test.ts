import {setTimeout as sleep} from 'node:timers/promises'
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {runIdIn, runKdlq, startKdlq} from '../support/delivery-process.ts'
import type {Ended} from '../support/delivery-process.ts'
import {connectPlain, readAll, wholeTopic} from '../support/kafka-client.ts'
import {connectSet, header} from '../support/replay-letters.ts'
import {eventually, unique} from '../support/sandbox.ts'

const bootstrapServers = inject('bootstrapServers')
const PARTITIONS = 3
/** `max.message.bytes` of the target; a large value does not compress below it. */
const MOST = 20_000
const LARGE = Buffer.from(Array.from({length: 30_000}, (_, at) => (at * at * 7919 + at * 31) % 251))
let cluster: KafkaCluster

beforeAll(async () => {
  cluster = await connectPlain(bootstrapServers)
})

afterAll(async () => cluster.close())

interface World {
  readonly origin: string
  readonly dlq: string
  readonly parking: string
  readonly flags: readonly string[]
}

async function createTopic(name: string, partitions: number, configs: Readonly<Record<string, string>>): Promise<void> {
  await cluster.admin.createTopic({name, partitions, replicationFactor: 1, configs: {'retention.ms': '-1', ...configs}})
  await eventually(`topic ${name}`, async () => {
    const [topic] = await cluster.reader.topics([name])
    return topic?.error === null && topic.partitions.every(({leader}) => leader !== null) ? topic : null
  })
}

const isLarge = (index: number, every: number): boolean => index % every === every - 1

/** Dead letter `index` has the key `k-index`; one of `every` is too large for where it came from. */
async function world(records: number, every: number): Promise<World> {
  const origin = unique('orders')
  const [dlq, parking] = [`${origin}-dlq`, `${origin}-parking`]
  await Promise.all([
    createTopic(origin, PARTITIONS, {'max.message.bytes': `${MOST}`}),
    createTopic(dlq, 1, {}),
    createTopic(parking, 2, {}),
  ])
  await using session = await cluster.writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 30_000,
  })
  for (let from = 0; from < records; from += 500) {
    const batch = new RecordBatchBuilder()
    for (let index = from; index < Math.min(records, from + 500); index++) {
      batch.append({
        timestamp: 1_700_000_000_000n + BigInt(index),
        key: Buffer.from(`k-${index}`),
        value: isLarge(index, every) ? LARGE : Buffer.from(`v-${index}`),
        headers: [header('trace', null), ...connectSet(origin, index % PARTITIONS, index)],
      })
    }
    const [result] = await session.produce([{topic: dlq, partition: 0, records: batch}])
    expect(result?.error).toBeNull()
  }
  const flags = ['--ledger', `topic:${origin}-ledger`]
  return {origin, dlq, parking, flags}
}

const replayFlags = ({dlq, parking, flags}: World): string[] => [
  'replay',
  dlq,
  ...flags,
  '--create-ledger',
  '--parking-topic',
  parking,
  '--allow',
  'record-size',
  '--compression',
  'none',
  '--yes',
  '--json',
]

async function committed(topic: string, partitions: number): Promise<readonly KafkaRecord[]> {
  const {records} = await readAll(cluster, await wholeTopic(cluster, topic, partitions, 'latest'))
  return records
}

const keysOf = (records: readonly KafkaRecord[]): string[] => records.map(({key}) => String(key)).toSorted()

interface Document {
  readonly result: {
    readonly run: string
    readonly counts: Record<string, number>
    readonly parking: unknown
    readonly stopped: unknown
    readonly metrics: Record<string, number>
    readonly failures: readonly unknown[]
    readonly checks: readonly {readonly id: string; readonly level: string}[]
  }
}

const resultOf = ({stdout}: Ended): Document['result'] => (JSON.parse(stdout) as Document).result

describe('a record that is too large for its target', () => {
  test.each(['exactly-once', 'at-least-once'])('is parked with why, and kdlq reads it (%s)', async delivery => {
    const there = await world(10, 10)
    const {dlq, origin, parking, flags} = there
    const log = ['--errors-log', '--errors-log-include-messages', '--delivery', delivery]
    const ended = await runKdlq(bootstrapServers, 3, [...replayFlags(there), ...log])
    const result = resultOf(ended)
    expect(result.counts).toMatchObject({selected: 10, replayed: 9, parked: 1, failed: 0})
    expect(result.parking).toEqual({topic: parking, failed: 1, policy: 0})
    expect(result.failures).toMatchObject([{address: `${dlq}:0:9`, state: 'parked', code: 'E_MESSAGE_TOO_LARGE'}])
    expect(result.metrics).toMatchObject({'total-record-failures': 1, 'deadletterqueue-produce-requests': 1})
    expect(ended.stderr).toContain(
      `Error encountered in task ${result.run}-0. Executing stage 'KAFKA_PRODUCE' with class 'kdlq.replay.Producer', where consumed record is {topic='${dlq}', partition=0, offset=9`,
    )
    const inspected = await runKdlq(bootstrapServers, 0, ['inspect', parking, '--json'])
    const {records} = (JSON.parse(inspected.stdout) as {result: {records: {key: string; failure: unknown}[]}}).result
    expect(records).toMatchObject([
      {
        key: 'k-9',
        failure: {
          dialect: 'connect',
          hops: 2,
          origin: {topic: origin, partition: 0, offset: '9'},
          last: {topic: dlq, partition: 0, offset: '9'},
          connector: result.run,
          stage: 'KAFKA_PRODUCE',
          exception: {class: 'org.apache.kafka.common.errors.RecordTooLargeException'},
        },
      },
    ])
    const [parked] = await committed(parking, 2)
    const [letter] = (await committed(dlq, 1)).slice(-1)
    expect(parked?.value).toEqual(LARGE)
    expect(parked?.timestamp).toBe(letter?.timestamp)
    expect(parked?.headers.slice(0, -10)).toEqual(letter?.headers)
    // The ledger knows it: the same replay again has nothing to do, and the run can be looked at.
    const again = await runKdlq(bootstrapServers, 0, [...replayFlags(there), '--delivery', delivery])
    expect(resultOf(again).counts).toMatchObject({selected: 10, skipped: 10})
    const runs = await runKdlq(bootstrapServers, 0, ['runs', result.run, '--json', ...flags])
    expect(resultOf(runs)).toMatchObject({
      counts: {replayed: 9, parked: 1},
      parking: {topic: parking, failed: 1, policy: 0},
      metrics: {'total-record-failures': 1, 'total-errors-logged': 1},
    })
  })

  test('stops a run with --errors-tolerance none at exit 3; resume does the rest', async () => {
    const there = await world(60, 20)
    const none = [...replayFlags(there), '--errors-tolerance', 'none', '--rate', '100/s', '--order', 'dlq']
    const stopped = resultOf(await runKdlq(bootstrapServers, 3, none))
    expect(stopped.stopped).toMatchObject({reason: 'errors-tolerance', settled: true})
    expect(stopped.counts).toMatchObject({parked: 1})
    expect(stopped.counts['replayed']).toBeLessThan(57)
    const resume = ['resume', stopped.run, '--json', ...there.flags]
    // The run's own settings hold on any machine, until other ones are given.
    expect(resultOf(await runKdlq(bootstrapServers, 3, resume)).counts).toMatchObject({parked: 2})
    const last = resultOf(await runKdlq(bootstrapServers, 3, [...resume, '--errors-tolerance', 'all']))
    expect(last.counts).toMatchObject({selected: 60, replayed: 57, parked: 3, failed: 0})
    expect(last.metrics).toMatchObject({'total-record-failures': 3, 'deadletterqueue-produce-requests': 3})
    expect(await committed(there.parking, 2)).toHaveLength(3)
  })
})

test('a parking topic that is not there refuses the run before anything is written', async () => {
  const there = await world(2, 10)
  const nowhere = {...there, parking: unique('nowhere')}
  const ended = await runKdlq(bootstrapServers, 6, replayFlags(nowhere))
  expect(resultOf(ended).checks.find(({id}) => id === 'parking')).toMatchObject({level: 'refuse'})
  expect(await committed(there.origin, PARTITIONS)).toEqual([])
})

test('kill -9 and resume leave each record exactly once, in its target or in the parking topic', async () => {
  const count = 2000
  const every = 40
  const there = await world(count, every)
  const written = async (): Promise<number> => {
    const topics = [committed(there.origin, PARTITIONS), committed(there.parking, 2)]
    return (await Promise.all(topics)).reduce((sum, {length}) => sum + length, 0)
  }
  let kdlq = startKdlq(bootstrapServers, [...replayFlags(there), '--rate', '500/s'])
  let run = ''
  // Each leaves work for more than two seconds behind it.
  for (const moment of [1, 700]) {
    while (kdlq.isRunning && (await written()) < moment) await sleep(10)
    expect(kdlq.isRunning).toBe(true)
    kdlq.signal('SIGKILL')
    run = runIdIn(`${run} ${(await kdlq.ended).stderr}`)
    kdlq = startKdlq(bootstrapServers, ['resume', run, '--json', ...there.flags])
  }
  const last = await kdlq.ended
  expect(last.code).toBe(3)
  const large = Array.from({length: count}, (_, index) => index).filter(index => isLarge(index, every))
  expect(resultOf(last).counts).toMatchObject({
    selected: count,
    replayed: count - large.length,
    parked: large.length,
    failed: 0,
    unknown: 0,
  })
  expect(keysOf(await committed(there.parking, 2))).toEqual(large.map(index => `k-${index}`).toSorted())
  const small = Array.from({length: count}, (_, index) => index).filter(index => !isLarge(index, every))
  expect(keysOf(await committed(there.origin, PARTITIONS))).toEqual(small.map(index => `k-${index}`).toSorted())
})
