import {join} from 'node:path'
import {afterAll, beforeAll, expect, inject, test} from 'vitest'
import {startKafka} from '../../sandbox/kafka.ts'
import type {Kafka, KafkaBroker} from '../../sandbox/kafka.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import type {OutgoingBatch, ProduceResult} from '../../src/lib/kafka/ports.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {connectPlain, readAll, sorted, wholeTopic} from '../support/kafka-client.ts'
import {eventually, isStopped, unique} from '../support/sandbox.ts'

const PARTITIONS = 4
let kafka: Kafka
let cluster: KafkaCluster

beforeAll(async () => {
  const configs = {
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    'replica.lag.time.max.ms': '3000',
    'controlled.shutdown.enable': 'true',
    'log.cleaner.backoff.ms': '200',
  }
  kafka = await startKafka({
    version: '4.4.0',
    dir: join(inject('kafkaDir'), unique('two-brokers')),
    brokers: 2,
    configs,
  })
  cluster = await connectPlain(kafka.bootstrapServers)
})

afterAll(async () => {
  kafka.resume()
  await cluster.close()
  await kafka.kill()
})

/** The broker without a controller: the cluster survives it. */
function second(): KafkaBroker {
  const broker = kafka.brokers[1]
  if (broker === undefined) throw new Error('there are two brokers')
  return broker
}

/** A topic on both brokers, each leading half of the partitions. */
async function replicated(name: string): Promise<string> {
  const topic = unique(name)
  await cluster.admin.createTopic({name: topic, partitions: PARTITIONS, replicationFactor: 2, configs: {}})
  return topic
}

function round(topic: string, number: number): OutgoingBatch[] {
  return Array.from({length: PARTITIONS}, (_, partition) => {
    const records = new RecordBatchBuilder()
    for (const part of ['a', 'b']) {
      records.append({
        timestamp: 1_700_000_000_000n,
        key: null,
        value: Buffer.from(`${number}-${part}`.padEnd(400, '.')),
        headers: [],
      })
    }
    return {topic, partition, records}
  })
}

async function valuesByPartition(topic: string): Promise<string[][]> {
  const {records, notices} = await readAll(cluster, await wholeTopic(cluster, topic, PARTITIONS))
  expect(notices).toEqual([])
  return Array.from({length: PARTITIONS}, (_, partition) =>
    sorted(records)
      .filter(record => record.partition === partition)
      .map(({value}) => value?.toString().replaceAll('.', '') ?? ''),
  )
}

function expectedValues(rounds: number): string[] {
  return Array.from({length: rounds}, (_, number) => [`${number}-a`, `${number}-b`]).flat()
}

/** Both brokers lead something and follow each other again. */
async function healed(topic: string): Promise<void> {
  await eventually('both brokers are back', async () => {
    const [described] = await cluster.reader.topics([topic])
    return described?.partitions.every(({leader}) => leader !== null) === true ? described : null
  })
}

test('writes through the death of a leader: every record once, in order, each acknowledged', async () => {
  const topic = await replicated('faults-write')
  await using producer = await cluster.writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 60_000,
  })
  const results: ProduceResult[] = []
  for (let number = 0; number < 60; number++) {
    // In the middle of a request that is under way.
    const dies = number === 20 ? second().kill() : Promise.resolve()
    results.push(...(await producer.produce(round(topic, number))))
    await dies
  }
  expect(results.filter(({error}) => error !== null)).toEqual([])
  expect(await valuesByPartition(topic)).toEqual(Array.from({length: PARTITIONS}, () => expectedValues(60)))
  await second().start()
  await healed(topic)
})

test('reads through a leader that moves: no record lost, none twice', async () => {
  const topic = await replicated('faults-read')
  await using producer = await cluster.writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 60_000,
  })
  for (let number = 0; number < 40; number++) await producer.produce(round(topic, number))
  const leaders = new Set((await cluster.reader.topics([topic]))[0]?.partitions.map(({leader}) => leader))
  expect(leaders).toEqual(new Set([1, 2]))
  const ranges = await wholeTopic(cluster, topic, PARTITIONS)
  await using slow = await connectPlain(kafka.bootstrapServers, {tuning: {partitionMaxBytes: 2_000, queuedAnswers: 1}})
  let blocks = 0
  const {records, notices} = await readAll(slow, ranges, 'read_committed', async () => {
    blocks++
    if (blocks === 4) await second().stop()
  })
  expect(notices).toEqual([])
  expect(blocks).toBeGreaterThan(20)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const own = records.filter(record => record.partition === partition)
    expect(own.map(({value}) => value?.toString().replaceAll('.', ''))).toEqual(expectedValues(40))
  }
  await second().start()
  await healed(topic)
})

test('a compacted partition is read to its end over the gaps, with the last value of every key', async () => {
  const topic = unique('faults-compacted')
  const configs = {'cleanup.policy': 'compact', 'segment.ms': '100', 'min.cleanable.dirty.ratio': '0.001'}
  await cluster.admin.createTopic({name: topic, partitions: 1, replicationFactor: 1, configs})
  await using producer = await cluster.writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 30_000,
  })
  const write = async (number: number): Promise<void> => {
    const records = new RecordBatchBuilder()
    for (const key of ['x', 'y', `once-${number}`]) {
      records.append({
        timestamp: BigInt(Date.now()),
        key: Buffer.from(key),
        value: Buffer.from(String(number)),
        headers: [],
      })
    }
    const [result] = await producer.produce([{topic, partition: 0, records}])
    expect(result?.error).toBeNull()
  }
  for (let number = 0; number < 10; number++) await write(number)
  let number = 10
  const read = await eventually(
    'the cleaner has passed',
    async () => {
      // Only a new record closes the segment before it, and closed ones are cleaned.
      await write(number++)
      const whole = await readAll(cluster, await wholeTopic(cluster, topic, 1))
      return whole.records.length < 25 ? whole : null
    },
    60_000,
  )
  expect(read.notices).toEqual([])
  expect(read.blocks.at(-1)).toMatchObject({done: true, nextOffset: BigInt(number * 3)})
  const last = new Map(read.records.map(({key, value}) => [key?.toString(), value?.toString()]))
  const once = Array.from({length: number}, (_, index) => [`once-${index}`, String(index)])
  expect(Object.fromEntries(last)).toEqual(
    Object.fromEntries([['x', String(number - 1)], ['y', String(number - 1)], ...once]),
  )
})

test('brokers that stop answering: reads stop on demand, writes end in an unknown outcome, and work goes on afterwards', async () => {
  const topic = await replicated('faults-silent')
  const patient = {compression: 'none', transactionalId: null, deliveryTimeoutMs: 30_000} as const
  await using producer = await cluster.writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 1_500,
  })
  {
    await using first = await cluster.writer.open(patient)
    expect((await first.produce(round(topic, 0))).filter(({error}) => error !== null)).toEqual([])
  }
  // The short limit is for the silence: on a busy machine the first rounds may take longer.
  await eventually('the producer is known to both brokers', async () =>
    (await producer.produce(round(topic, 9))).every(({error}) => error === null) ? true : null,
  )
  const ranges = await wholeTopic(cluster, topic, PARTITIONS)
  kafka.suspend()
  try {
    await eventually('every thread of the brokers is stopped', async () =>
      (await Promise.all(kafka.pids.map(isStopped))).every(Boolean) ? true : null,
    )
    const stop = new AbortController()
    const blocks = cluster.reader.read(
      {ranges, isolationLevel: 'read_committed', order: 'arrival'},
      {signal: stop.signal},
    )
    const asked = blocks[Symbol.asyncIterator]().next()
    const reason = new Error('stop')
    stop.abort(reason)
    const before = performance.now()
    await expect(asked).rejects.toBe(reason)
    expect(performance.now() - before).toBeLessThan(500)
    const results = await producer.produce(round(topic, 1))
    expect(results.map(({error}) => error?.code)).toEqual(Array.from({length: PARTITIONS}, () => 'E_OUTCOME_UNKNOWN'))
    expect(performance.now() - before).toBeLessThan(4_000)
  } finally {
    kafka.resume()
  }
  await healed(topic)
  await using next = await cluster.writer.open(patient)
  expect((await next.produce(round(topic, 2))).filter(({error}) => error !== null)).toEqual([])
  // The unknown round is there or not, but never in part of a batch, and never twice.
  for (const values of await valuesByPartition(topic)) {
    const unknown = values.filter(value => value.startsWith('1-'))
    expect([[], ['1-a', '1-b']]).toContainEqual(unknown)
    const known = values.filter(value => !/^[19]-/.test(value))
    expect(known).toEqual(['0-a', '0-b', '2-a', '2-b'])
  }
})
