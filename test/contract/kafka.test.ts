import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'

import type {ArchiveBytes} from '../../sandbox/archive-record.ts'
import {startJavaHelper, type JavaHelper, type TransactionStep} from '../../sandbox/java-helper.ts'
import {ensureLibs} from '../../sandbox/libs.ts'
import {connectCluster} from '../../src/lib/kafka/client/index.ts'
import {parseBootstrapServers, PLAINTEXT} from '../../src/lib/kafka/client/security.ts'
import type {Cluster} from '../../src/lib/kafka/ports.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {recordsIn} from '../../src/lib/kafka/records/records-in.ts'
import type {OutgoingRecord} from '../../src/lib/kafka/records/types.ts'
import {unique} from '../support/sandbox.ts'
import {describeContract, HOSTILE} from './suite.ts'

const bootstrapServers = inject('bootstrapServers')
const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
/** Records of any age stay, and 1 MiB values fit. */
const CONFIGS = {'retention.ms': '-1', 'max.message.bytes': '8388608'}

const connect = (): Promise<Cluster> =>
  connectCluster({
    ...PLAINTEXT,
    bootstrapServers: parseBootstrapServers(bootstrapServers),
    clientId: 'kdlq-contract',
    timeoutMs: 10_000,
    requestTimeoutMs: 20_000,
  })

async function createTopic(cluster: Cluster, partitions: number): Promise<string> {
  const name = unique('contract')
  await cluster.admin.createTopic({name, partitions, replicationFactor: -1, configs: CONFIGS})
  return name
}

let helper: JavaHelper
beforeAll(async () => {
  helper = startJavaHelper(await ensureLibs('4.4.0'), bootstrapServers)
})
afterAll(() => helper.close())

describeContract('a real broker', async () => {
  const cluster = await connect()
  return {
    cluster,
    createTopic: partitions => createTopic(cluster, partitions),
    // Aborted transactions and markers leave gaps, deleteRecords one in front.
    topicWithGaps: async () => {
      const topic = await createTopic(cluster, 1)
      const send = (id: string, count: number): TransactionStep => ({
        id,
        do: 'send',
        records: Array.from({length: count}, () => ({topic, partition: 0, key: null, value: 'x'})),
      })
      const id = unique('gaps')
      await helper.transactions([
        {id, do: 'begin'},
        send(id, 4),
        {id, do: 'commit'},
        {id, do: 'begin'},
        send(id, 2),
        {id, do: 'abort'},
        {id, do: 'begin'},
        send(id, 3),
        {id, do: 'commit'},
        {id, do: 'close'},
      ])
      await helper.deleteRecords(topic, 0, '2')
      // 0-3 and their marker 4, aborted 5-6 and their marker 7, 8-10 and their marker 11.
      return {topic, offsets: [2n, 3n, 8n, 9n, 10n]}
    },
    [Symbol.asyncDispose]: () => cluster.close(),
  }
})

function bytesOf(value: ArchiveBytes | null): Buffer | null {
  if (value === null) return null
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(value.base64, 'base64')
}

const toBase64 = (bytes: Buffer | null): ArchiveBytes | null =>
  bytes === null ? null : {base64: bytes.toString('base64')}

describe('with the Java client', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await connect()
  })
  afterAll(() => cluster.close())

  test.each(CODECS)('[BR-23] what we write with %s it reads, byte for byte', async compression => {
    const topic = await createTopic(cluster, 1)
    await using session = await cluster.writer.open({compression, transactionalId: null, deliveryTimeoutMs: 20_000})
    const records = new RecordBatchBuilder()
    for (const record of HOSTILE) records.append(record)
    const [result] = await session.produce([{topic, partition: 0, records}])
    expect(result?.error).toBeNull()
    const read = (await helper.consume(topic)).map(record => ({
      timestamp: BigInt(record.timestamp),
      key: bytesOf(record.key),
      value: bytesOf(record.value),
      headers: record.headers.map(([name, value]) => ({name: Buffer.from(name), value: bytesOf(value)})),
    }))
    expect(read).toEqual(HOSTILE)
  })

  test.each(CODECS)('[BR-24] [BR-25] [BR-26] what it writes with %s we read, byte for byte', async compression => {
    const topic = await createTopic(cluster, 1)
    await helper.produce(
      HOSTILE.map(({timestamp, key, value, headers}) => ({
        topic,
        partition: 0,
        timestamp: String(timestamp),
        key: toBase64(key),
        value: toBase64(value),
        headers: headers.map(header => [header.name.toString(), toBase64(header.value)] as const),
      })),
      {'compression.type': compression, 'linger.ms': '50', 'max.request.size': '8388608'},
    )
    const read: OutgoingRecord[] = []
    const codecs = new Set<string>()
    const ranges = [{topic, partition: 0, from: 0n, to: BigInt(HOSTILE.length)}]
    for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
      for (const batch of block.batches) codecs.add(batch.compression)
      for (const cursor of recordsIn(block)) {
        const {timestamp, key, value, headers} = cursor.toRecord(topic, 0)
        read.push({timestamp, key, value, headers})
      }
    }
    expect(read).toEqual(HOSTILE)
    expect([...codecs]).toEqual([compression])
  })

  test('[BR-42] a read ends where the last entry is the marker of a transaction', async () => {
    const topic = await createTopic(cluster, 1)
    const id = unique('tx')
    const records = [1, 2].map(value => ({topic, partition: 0, key: null, value: String(value)}))
    await helper.transactions([
      {id, do: 'begin'},
      {id, do: 'send', records},
      {id, do: 'commit'},
      {id, do: 'close'},
    ])
    let [read, control] = [0, 0]
    const ranges = [{topic, partition: 0, from: 0n, to: 3n}]
    for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
      control += block.controlRecords
      for (const cursor of recordsIn(block)) read += cursor.valueLength
    }
    expect([read, control]).toEqual([2, 1])
  })

  test('[BR-46] two interleaved aborted transactions, one with keys of int32 0, are hidden from every start', async () => {
    const topic = await createTopic(cluster, 1)
    const [first, second] = [unique('tx'), unique('tx')]
    const zero: ArchiveBytes = {base64: Buffer.alloc(4).toString('base64')}
    const send = (id: string, value: string, key: ArchiveBytes | null = null): TransactionStep => ({
      id,
      do: 'send',
      records: [{topic, partition: 0, key, value}],
    })
    await helper.transactions([
      {id: first, do: 'begin'},
      send(first, 'a'),
      {id: first, do: 'commit'},
      {id: first, do: 'begin'},
      {id: second, do: 'begin'},
      send(first, 'x', zero),
      send(second, 'y'),
      send(first, 'x', zero),
      send(second, 'y', zero),
      {id: first, do: 'abort'},
      send(second, 'y'),
      {id: first, do: 'begin'},
      send(first, 'b', zero),
      {id: second, do: 'abort'},
      {id: first, do: 'commit'},
      {id: second, do: 'begin'},
      send(second, 'c'),
      {id: second, do: 'commit'},
      {id: first, do: 'close'},
      {id: second, do: 'close'},
    ])
    const truth = await helper.consume(topic)
    expect(truth.map(record => String(bytesOf(record.value)))).toEqual(['a', 'b', 'c'])
    const [answer] = await cluster.reader.offsets([{topic, partition: 0, at: 'last-stable'}])
    const end = answer?.offset ?? 0n
    // 3 committed and 5 aborted records, 5 markers.
    expect(end).toBe(13n)
    for (let from = 0n; from <= end; from++) {
      const found: string[] = []
      let hidden = 0
      const ranges = [{topic, partition: 0, from, to: end}]
      for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
        hidden += block.abortedRecords + block.controlRecords
        for (const cursor of recordsIn(block)) found.push(`${cursor.offset}`)
      }
      expect(found).toEqual(truth.map(record => record.offset).filter(offset => BigInt(offset) >= from))
      expect(hidden + found.length).toBeGreaterThanOrEqual(Number(end - from))
    }
    const uncommitted: string[] = []
    const ranges = [{topic, partition: 0, from: 0n, to: end}]
    for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_uncommitted', order: 'partition'})) {
      for (const cursor of recordsIn(block)) {
        uncommitted.push(cursor.bytes.toString('utf8', cursor.valueStart, cursor.valueStart + cursor.valueLength))
      }
    }
    expect(uncommitted.join('')).toBe('axyxyybc')
  })
})
