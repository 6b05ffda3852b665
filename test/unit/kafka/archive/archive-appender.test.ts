import {readdirSync, readFileSync} from 'node:fs'
import {writeFile} from 'node:fs/promises'
import {join} from 'node:path'

import {describe, expect, test} from 'vitest'

import {openArchive} from '../../../../src/lib/kafka/archive/index.ts'
import type {OutgoingBatch, ProducerOptions} from '../../../../src/lib/kafka/ports.ts'
import {RecordBatchBuilder} from '../../../../src/lib/kafka/records/batch-builder.ts'
import {outgoing} from '../../../support/batches.ts'
import {archiveFile, everything, kafkaRecord, opened, readRecords, temporaryDirectory, toLines} from './archives.ts'

const OPTIONS: ProducerOptions = {compression: 'none', transactionalId: null, deliveryTimeoutMs: 1000}

function batch(topic: string, partition: number, values: readonly string[]): OutgoingBatch {
  const records = new RecordBatchBuilder()
  for (const value of values) records.append(outgoing({value: Buffer.from(value)}))
  return {topic, partition, records}
}

describe('writing to a directory archive', () => {
  test('numbers records behind those that are there, a topic a file, and shows them to the reader', async () => {
    const directory = await temporaryDirectory()
    // Without its line end, and with a gap.
    await writeFile(join(directory, 'orders.ndjson'), toLines([kafkaRecord({topic: 'orders', offset: 41n})]).trimEnd())
    const cluster = await opened(directory)
    await using session = await cluster.writer.open(OPTIONS)
    const results = await session.produce([
      batch('payments', 3, ['p']),
      batch('orders', 0, ['a', 'b']),
      batch('orders', 7, ['c']),
    ])
    expect(results.map(({topic, partition, baseOffset, error}) => [topic, partition, baseOffset, error])).toEqual([
      ['payments', 3, 0n, null],
      ['orders', 0, 42n, null],
      ['orders', 7, 0n, null],
    ])
    const [again] = await session.produce([batch('orders', 0, ['d'])])
    expect(again?.baseOffset).toBe(44n)
    const records = await readRecords(cluster, await everything(cluster))
    expect(
      records.map(record => `${record.topic}:${record.partition}:${record.offset} ${String(record.value)}`),
    ).toEqual(['orders:0:41 v', 'orders:0:42 a', 'orders:0:43 b', 'orders:0:44 d', 'orders:7:0 c', 'payments:3:0 p'])
    expect(readdirSync(directory).sort()).toEqual(['orders.ndjson', 'payments.ndjson'])
  })

  test('a read that is under way goes on with what it began with', async () => {
    const directory = await temporaryDirectory()
    await writeFile(join(directory, 'orders.ndjson'), toLines([kafkaRecord({topic: 'orders'})]))
    const cluster = await opened(directory)
    const ranges = await everything(cluster)
    const blocks = cluster.reader.read({
      ranges: [...ranges, ...ranges],
      isolationLevel: 'read_committed',
      order: 'partition',
    })
    const iterator = blocks[Symbol.asyncIterator]()
    await iterator.next()
    await using session = await cluster.writer.open(OPTIONS)
    await session.produce([batch('orders', 0, ['x'])])
    await cluster.reader.topics(null)
    expect((await iterator.next()).value).toMatchObject({nextOffset: 1n, done: true})
  })

  test('a topic name that leads out of the directory fails alone', async () => {
    const directory = await temporaryDirectory()
    const cluster = await opened(directory)
    await using session = await cluster.writer.open(OPTIONS)
    const [bad, good] = await session.produce([batch('../evil', 0, ['x']), batch('good', 0, ['y'])])
    expect(bad).toMatchObject({baseOffset: null, error: {code: 'E_TOPIC_NAME'}})
    expect(good).toMatchObject({baseOffset: 0n, error: null})
    expect(readdirSync(directory)).toEqual(['good.ndjson'])
  })

  test('makes its directory when asked to, and only then', async () => {
    const directory = join(await temporaryDirectory(), 'new', 'out')
    await expect(openArchive(directory)).rejects.toMatchObject({code: 'E_ARCHIVE_NOT_FOUND'})
    const cluster = await opened(directory, {create: true})
    expect(await cluster.reader.topics(null)).toEqual([])
    expect(readdirSync(directory)).toEqual([])
  })

  test('a single file cannot be written to', async () => {
    const cluster = await opened(await archiveFile(''))
    await expect(cluster.writer.open(OPTIONS)).rejects.toMatchObject({code: 'E_ARCHIVE_READ_ONLY', exitCode: 6})
    const topic = {name: 'orders', partitions: 1, replicationFactor: -1, configs: {}}
    await expect(cluster.admin.createTopic(topic)).rejects.toMatchObject({code: 'E_ARCHIVE_READ_ONLY'})
  })
})

describe('topics of a directory archive', () => {
  test('can be created once, with their partitions', async () => {
    const cluster = await opened(await temporaryDirectory())
    const topic = {name: 'orders', partitions: 3, replicationFactor: -1, configs: {}}
    await cluster.admin.createTopic(topic)
    const [described] = await cluster.reader.topics(['orders'])
    expect(described?.partitions.map(entry => entry.partition)).toEqual([0, 1, 2])
    await expect(cluster.admin.createTopic(topic)).rejects.toMatchObject({code: 'E_TOPIC_ALREADY_EXISTS'})
    await expect(cluster.admin.createTopic({...topic, name: 'a/b'})).rejects.toMatchObject({code: 'E_TOPIC_NAME'})
    const [known, unknown] = await cluster.admin.topicConfigs(['orders', 'none'])
    expect([known?.error, unknown?.error?.code]).toEqual([null, 'E_UNKNOWN_TOPIC_OR_PARTITION'])
    await expect(cluster.admin.committedOffsets('g')).rejects.toMatchObject({code: 'E_GROUP_ID_NOT_FOUND'})
  })

  test('are not written to by a closed session', async () => {
    const directory = await temporaryDirectory()
    const before = toLines([kafkaRecord({topic: 'orders'})])
    await writeFile(join(directory, 'orders.ndjson'), before)
    const cluster = await opened(directory)
    const session = await cluster.writer.open(OPTIONS)
    await session.close()
    await expect(session.produce([batch('orders', 0, ['x'])])).rejects.toThrow('closed')
    expect(readFileSync(join(directory, 'orders.ndjson'), 'utf8')).toBe(before)
  })
})
