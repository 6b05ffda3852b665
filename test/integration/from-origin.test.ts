import {afterAll, beforeAll, expect, inject, test} from 'vitest'
import {type JavaHelper, startJavaHelper} from '../../sandbox/java-helper.ts'
import {ensureLibs} from '../../sandbox/libs.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import {OriginReader} from '../../src/lib/replay/from-origin.ts'
import {connectPlain} from '../support/kafka-client.ts'
import {kdlq, unique} from '../support/sandbox.ts'

const bootstrapServers = inject('bootstrapServers')
const topic = unique('origins')
let cluster: KafkaCluster
let helper: JavaHelper

const record = (partition: number, name: string) => ({topic, partition, key: name, value: `value ${name}`, headers: []})

beforeAll(async () => {
  cluster = await connectPlain(bootstrapServers)
  helper = startJavaHelper(await ensureLibs('4.4.0'), bootstrapServers)
  await helper.createTopic(topic, {partitions: 3})
  const many = Array.from({length: 2000}, (_, index) => record(0, `a${index}`))
  // Partition 1: 0 committed, 1 its marker, 2 aborted, 3 its marker, 4 plain, 5 in an open transaction.
  await helper.produce(many)
  const id = unique('committed')
  const send = (name: string) => ({id, do: 'send', records: [record(1, name)]}) as const
  await helper.transactions([
    {id, do: 'begin'},
    send('committed'),
    {id, do: 'commit'},
    {id, do: 'begin'},
    send('aborted'),
    {id, do: 'abort'},
    {id, do: 'close'},
  ])
  await helper.produce([record(1, 'plain'), record(2, 'deleted'), record(2, 'kept')])
  const open = unique('open')
  await helper.transactions([
    {id: open, do: 'begin'},
    {id: open, do: 'send', records: [record(1, 'open')]},
  ])
  await helper.deleteRecords(topic, 2, '1')
})

afterAll(async () => {
  await helper?.close()
  await cluster?.close()
})

test('[BR-13] origins of a real broker come together; deleted, aborted and open ones say why they do not', async () => {
  let reads = 0
  const source = {
    ...cluster,
    description: cluster.description,
    reader: {
      topics: cluster.reader.topics.bind(cluster.reader),
      offsets: cluster.reader.offsets.bind(cluster.reader),
      read(...args: Parameters<typeof cluster.reader.read>) {
        reads++
        return cluster.reader.read(...args)
      },
    },
  }
  const reader = new OriginReader({source, target: source})
  const at = (partition: number, offset: bigint) => ({topic, partition, offset})
  const scattered = Array.from({length: 1000}, (_, index) => at(0, BigInt(1999 - index * 2)))
  const found = await reader.fetch(scattered)
  expect(found.map(answer => (answer.state === 'found' ? answer.record.key?.toString() : answer))).toEqual(
    scattered.map(({offset}) => `a${offset}`),
  )
  expect(reads).toBe(1)

  const others = await reader.fetch([
    at(1, 0n),
    at(1, 1n),
    at(1, 2n),
    at(1, 4n),
    at(1, 5n),
    at(2, 0n),
    at(2, 1n),
    at(2, 2n),
  ])
  expect(others.map(answer => (answer.state === 'found' ? answer.record.key?.toString() : answer))).toEqual([
    'committed',
    {state: 'gone', reason: `there is no record at ${topic}:1:1: compacted away, or never committed`},
    {state: 'gone', reason: `there is no record at ${topic}:1:2: compacted away, or never committed`},
    'plain',
    {state: 'unknown', reason: `${topic}:1 could be read up to 5: a transaction is open there`},
    {state: 'gone', reason: `${topic}:2 begins at 1: the record was deleted`},
    'kept',
    {state: 'gone', reason: `${topic}:2 ends at 2: the topic was created again or cut off`},
  ])
})

test('[BR-13] a pointer to a deleted record stops the run, and nothing is sent', async () => {
  const dlq = unique('dlq.pointers')
  await helper.createTopic(dlq)
  const pointer = (offset: number) => ({
    topic: dlq,
    partition: 0,
    key: null,
    value: null,
    headers: [
      ['__dlq.errors.topic', topic],
      ['__dlq.errors.partition', '2'],
      ['__dlq.errors.offset', String(offset)],
      ['__dlq.errors.group', 'g'],
      ['__dlq.errors.delivery.count', '1'],
    ] as const,
  })
  await helper.produce([pointer(0), pointer(1)])
  const before = await helper.endOffsets(topic, 'read_uncommitted')
  const ledger = ['--ledger', `topic:${unique('ledger')}`, '--create-ledger'] as const
  const args = ['replay', dlq, '--from-origin', ...ledger, '--json', '--yes'] as const
  const refused = await kdlq(bootstrapServers, 6, ...args)
  expect(refused.stdout).toContain(`unrecoverable: holds no payload, and ${topic}:2 begins at 1`)
  expect(await helper.endOffsets(topic, 'read_uncommitted')).toEqual(before)

  await kdlq(bootstrapServers, 0, ...args, '--skip', 'origin-gone', '--no-provenance')
  const copies = (await helper.consume(topic)).filter(({partition}) => partition === 2)
  const essence = copies.map(({key, value, headers, timestamp}) => ({key, value, headers, timestamp}))
  expect(essence).toHaveLength(2)
  expect(essence[1]).toEqual(essence[0])
})
