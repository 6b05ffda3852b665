import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import {startJavaHelper} from '../../sandbox/java-helper.ts'
import type {JavaHelper} from '../../sandbox/java-helper.ts'
import {ensureLibs} from '../../sandbox/libs.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import type {OutgoingBatch, ProducerSession} from '../../src/lib/kafka/ports.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import type {CompressionType, OutgoingRecord} from '../../src/lib/kafka/records/types.ts'
import {connectPlain, readAll, sorted, wholeTopic} from '../support/kafka-client.ts'
import {bytesOf, inOrder, unique} from '../support/sandbox.ts'

const bootstrapServers = inject('bootstrapServers')
let java: JavaHelper
let cluster: KafkaCluster

beforeAll(async () => {
  java = startJavaHelper(await ensureLibs('4.4.0'), bootstrapServers)
  cluster = await connectPlain(bootstrapServers)
})

afterAll(async () => {
  await cluster.close()
  await java.close()
})

const T0 = 1_700_000_000_000n

function record(value: string | null, other: Partial<OutgoingRecord> = {}): OutgoingRecord {
  return {
    timestamp: T0,
    key: Buffer.from('k'),
    value: value === null ? null : Buffer.from(value),
    headers: [],
    ...other,
  }
}

function batch(topic: string, partition: number, ...all: readonly OutgoingRecord[]): OutgoingBatch {
  const records = new RecordBatchBuilder()
  for (const one of all) records.append(one)
  return {topic, partition, records}
}

function open(compression: CompressionType = 'none', deliveryTimeoutMs = 20_000): Promise<ProducerSession> {
  return cluster.writer.open({compression, transactionalId: null, deliveryTimeoutMs})
}

async function newTopic(name: string, partitions = 1, configs: Record<string, string> = {}): Promise<string> {
  const topic = unique(name)
  await cluster.admin.createTopic({name: topic, partitions, replicationFactor: -1, configs})
  return topic
}

describe('produce', () => {
  test.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)(
    'the Java consumer reads what was written with %s',
    async codec => {
      const topic = await newTopic(`writer-${codec}`, 2, {'max.message.bytes': '4000000'})
      await using producer = await open(codec)
      const headers = [
        {name: Buffer.from('a'), value: Buffer.from('1')},
        {name: Buffer.from('b'), value: null},
        {name: Buffer.from('a'), value: Buffer.alloc(0)},
      ]
      const written = [
        record('one', {headers}),
        record(null, {timestamp: T0 - 5n}),
        record('', {key: null}),
        record('x'.repeat(1 << 20)),
      ]
      const results = await producer.produce([batch(topic, 1, ...written), batch(topic, 0, record('other'))])
      expect(results).toMatchObject([
        {partition: 1, baseOffset: 0n, error: null, logAppendTimeMs: null},
        {partition: 0, baseOffset: 0n, error: null},
      ])
      const [other, ...found] = inOrder(await java.consume(topic))
      expect([other?.partition, bytesOf(other?.value ?? null)?.toString()]).toEqual([0, 'other'])
      expect(
        found.map(one => [
          BigInt(one.timestamp),
          bytesOf(one.key),
          bytesOf(one.value),
          one.headers.map(([name, value]) => [name, bytesOf(value)]),
        ]),
      ).toEqual(
        written.map(one => [
          one.timestamp,
          one.key,
          one.value,
          one.headers.map(({name, value}) => [name.toString(), value]),
        ]),
      )
    },
  )

  test('refusals come batch by batch, with the broker naming the records', async () => {
    const small = await newTopic('writer-small', 1, {'max.message.bytes': '2000'})
    const compacted = await newTopic('writer-compacted', 1, {'cleanup.policy': 'compact'})
    const strict = await newTopic('writer-strict', 1, {'message.timestamp.after.max.ms': '1000'})
    const fine = await newTopic('writer-fine', 1, {'message.timestamp.type': 'LogAppendTime'})
    await using producer = await open()
    const future = BigInt(Date.now()) + 3_600_000n * 24n
    const results = await producer.produce([
      batch(small, 0, record('x'.repeat(5_000))),
      batch(compacted, 0, record('keyed'), record('unkeyed', {key: null})),
      batch(strict, 0, record('now'), record('later', {timestamp: future})),
      batch(fine, 0, record('fine')),
    ])
    expect(results.map(({error}) => error?.code ?? null)).toEqual([
      'E_MESSAGE_TOO_LARGE',
      'E_INVALID_RECORD',
      'E_INVALID_TIMESTAMP',
      null,
    ])
    expect(results.map(({recordErrors}) => recordErrors.map(({index}) => index))).toEqual([[], [1], [1], []])
    expect(results[2]?.recordErrors[0]?.message).toMatch(/timestamp/i)
    expect(results[3]?.logAppendTimeMs).toBeGreaterThan(T0)
    // The refused sequence is used again, so the partition is not stuck.
    expect(await producer.produce([batch(compacted, 0, record('keyed'))])).toMatchObject([
      {baseOffset: 0n, error: null},
    ])
  })

  test('many calls at once keep the order of each partition', async () => {
    const topic = await newTopic('writer-order', 3)
    await using producer = await open('lz4')
    const calls = Array.from({length: 60}, (_, call) =>
      producer.produce([0, 1, 2].map(partition => batch(topic, partition, record(`${call}-a`), record(`${call}-b`)))),
    )
    const results = (await Promise.all(calls)).flat()
    expect(results.filter(({error}) => error !== null)).toEqual([])
    const {records} = await readAll(cluster, await wholeTopic(cluster, topic, 3))
    const expected = Array.from({length: 60}, (_, call) => [`${call}-a`, `${call}-b`]).flat()
    for (const partition of [0, 1, 2]) {
      const values = sorted(records).filter(one => one.partition === partition)
      expect(values.map(({value}) => value?.toString())).toEqual(expected)
    }
  })

  test('goes on after the records of its producer id were deleted, and after the topic was made anew', async () => {
    const topic = await newTopic('writer-forgotten')
    await using producer = await open()
    await producer.produce([batch(topic, 0, record('a'), record('b'))])
    await java.deleteRecords(topic, 0, '2')
    expect(await producer.produce([batch(topic, 0, record('c'))])).toMatchObject([{baseOffset: 2n, error: null}])
    await java.deleteTopic(topic)
    await expect
      .poll(async () => (await cluster.reader.topics([topic]))[0]?.error?.code, {timeout: 15_000})
      .toBe('E_UNKNOWN_TOPIC_OR_PARTITION')
    await cluster.admin.createTopic({name: topic, partitions: 1, replicationFactor: 1, configs: {}})
    expect(await producer.produce([batch(topic, 0, record('d'))])).toMatchObject([{baseOffset: 0n, error: null}])
    expect((await java.consume(topic)).map(({value}) => bytesOf(value)?.toString())).toEqual(['d'])
  })

  test('a topic or partition that does not exist is an error of its batch', async () => {
    const topic = await newTopic('writer-missing')
    await using producer = await open()
    const results = await producer.produce([
      batch(topic, 5, record('x')),
      batch(unique('none'), 0, record('x')),
      batch(topic, 0, record('x')),
    ])
    expect(results.map(({error}) => error?.code ?? null)).toEqual([
      'E_UNKNOWN_TOPIC_OR_PARTITION',
      'E_UNKNOWN_TOPIC_OR_PARTITION',
      null,
    ])
  })
})

describe('admin', () => {
  test('creates a topic with its configs, which are read back with where they come from', async () => {
    const topic = await newTopic('admin-configs', 4, {'retention.ms': '-1', 'cleanup.policy': 'compact'})
    const [described] = await cluster.reader.topics([topic])
    expect(described?.partitions).toHaveLength(4)
    const [configs, unknown] = await cluster.admin.topicConfigs([topic, unique('none')])
    expect(configs?.configs.get('cleanup.policy')).toEqual({value: 'compact', isDefault: false})
    expect(configs?.configs.get('segment.jitter.ms')).toMatchObject({isDefault: true})
    expect(unknown?.error).toMatchObject({code: 'E_UNKNOWN_TOPIC_OR_PARTITION'})
  })

  test.each([
    ['an existing topic', (topic: string) => ({name: topic}), 'E_TOPIC_ALREADY_EXISTS'],
    ['an illegal name', () => ({name: 'a b'}), 'E_INVALID_TOPIC_EXCEPTION'],
    ['an unknown config', () => ({name: unique('bad'), configs: {'no.such.config': '1'}}), 'E_INVALID_CONFIG'],
    ['too many replicas', () => ({name: unique('bad'), replicationFactor: 3}), 'E_INVALID_REPLICATION_FACTOR'],
  ])('refuses %s', async (_, change, code) => {
    const topic = await newTopic('admin-refused')
    const wanted = {partitions: 1, replicationFactor: 1, configs: {}, ...change(topic)}
    await expect(cluster.admin.createTopic(wanted)).rejects.toMatchObject({code, exitCode: 1})
  })

  test('committed offsets of a group, none of one that is unknown', async () => {
    const topic = await newTopic('admin-group')
    await java.produce([1, 2, 3].map(() => ({topic, partition: 0, key: null, value: 'v'})))
    const group = unique('group')
    await expect(cluster.admin.committedOffsets(group)).rejects.toMatchObject({code: 'E_UNKNOWN_GROUP'})
    await java.commitOffset(group, topic, 0, '2')
    expect(await cluster.admin.committedOffsets(group)).toEqual([{topic, partition: 0, offset: 2n}])
  })
})
