import {afterAll, beforeAll, expect, inject, test} from 'vitest'
import {createDeadLetterQueueReporter} from '../../src/lib/connect-engine/create-dead-letter-queue.ts'
import {DataException} from '../../src/lib/connect-engine/errors.ts'
import {ErrorHandlingMetrics} from '../../src/lib/connect-engine/metrics.ts'
import {ProcessingContext} from '../../src/lib/connect-engine/processing-context.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {consumed} from '../support/connect-engine.ts'
import {FakeClock} from '../support/fake-clock.ts'
import {connectPlain, readAll, sorted, wholeTopic} from '../support/kafka-client.ts'
import {unique} from '../support/sandbox.ts'

let cluster: KafkaCluster

beforeAll(async () => {
  cluster = await connectPlain(inject('bootstrapServers'))
})

afterAll(async () => {
  await cluster.close()
})

function inputOf(topic: string, replicationFactor = -1) {
  const metrics = new ErrorHandlingMetrics({connector: 'job', task: 0, clock: new FakeClock()})
  const lines: string[] = []
  const log = ({message}: {message: string}): void => {
    lines.push(message)
  }
  return {topic, connector: 'job', task: 0, contextHeaders: true, replicationFactor, metrics, log, lines}
}

/** Younger than any retention. */
const timestamp = BigInt(Date.now())

function failed(changes: Partial<KafkaRecord>): ProcessingContext<KafkaRecord> {
  const context = new ProcessingContext<KafkaRecord>(consumed({timestamp, ...changes}))
  context.stage = 'VALUE_CONVERTER'
  context.executingClass = 'example.Converter'
  context.error = new DataException(null)
  return context
}

async function recordsOf(topic: string): Promise<readonly KafkaRecord[]> {
  const {records} = await readAll(cluster, await wholeTopic(cluster, topic, 1))
  return sorted(records)
}

test('a queue that is missing is created, and holds the original bytes and the context headers in order', async () => {
  const topic = unique('created-dlq')
  const input = inputOf(topic)
  const reporter = await createDeadLetterQueueReporter(cluster, input)
  const headers = [
    {name: Buffer.from('a'), value: null},
    {name: Buffer.from('a'), value: Buffer.alloc(0)},
  ]
  const value = Buffer.from([0, 0xff, 0x80])
  reporter.report(failed({key: null, value, headers}))
  await reporter.close()

  const [letter] = await recordsOf(topic)
  expect(letter).toMatchObject({key: null, value, timestamp, timestampType: 'CreateTime'})
  expect(letter?.headers.slice(0, 2)).toEqual(headers)
  expect(letter?.headers.map(({name}) => name.toString()).slice(2)).toEqual(
    ['topic', 'partition', 'offset', 'connector.name', 'task.id', 'stage', 'class.name']
      .concat(['exception.class.name', 'exception.message', 'exception.stacktrace'])
      .map(name => `__connect.errors.${name}`),
  )
  expect(letter?.headers.at(-2)?.value).toBeNull()
  expect(input.lines).toEqual([`Topic ${topic} doesn't exist. Will attempt to create topic.`])

  const again = inputOf(topic)
  await (await createDeadLetterQueueReporter(cluster, again)).close()
  expect(again.lines).toEqual([])
})

test('two tasks that find the queue missing both start', async () => {
  const topic = unique('raced-dlq')
  const reporters = await Promise.all([1, 2].map(() => createDeadLetterQueueReporter(cluster, inputOf(topic))))
  for (const reporter of reporters) reporter.report(failed({}))
  for (const reporter of reporters) await reporter.close()
  expect(await recordsOf(topic)).toHaveLength(2)
})

test.each([
  ['more replicas than brokers', unique('factor-dlq'), 3, 'INVALID_REPLICATION_FACTOR'],
  ['no replica', unique('zero-dlq'), 0, 'INVALID_REPLICATION_FACTOR'],
  ['an illegal name', 'no such name!', -1, 'INVALID_TOPIC_EXCEPTION'],
])('a queue with %s does not start', async (_what, topic, factor, why) => {
  await expect(createDeadLetterQueueReporter(cluster, inputOf(topic, factor))).rejects.toMatchObject({
    message: `Could not initialize dead letter queue with topic=${topic}`,
    cause: {className: 'java.util.concurrent.ExecutionException', cause: {code: `E_${why}`}},
  })
})

test('one dead letter that the broker refuses takes no other with it', async () => {
  const topic = unique('small-dlq')
  await cluster.admin.createTopic({
    name: topic,
    partitions: 1,
    replicationFactor: -1,
    configs: {'max.message.bytes': '20000'},
  })
  const input = inputOf(topic)
  const reporter = await createDeadLetterQueueReporter(cluster, {...input, contextHeaders: false})
  const futures = Array.from({length: 20}, (_, index) =>
    reporter.report(failed({offset: BigInt(index), value: Buffer.alloc(index === 13 ? 30_000 : 4000, index)})),
  )
  await reporter.close()
  expect(futures.flatMap(({state}, index) => (state === 'failed' ? [index] : []))).toEqual([13])
  const values = (await recordsOf(topic)).map(({value}) => value?.[0])
  expect(values).toEqual(Array.from({length: 20}, (_, index) => index).filter(index => index !== 13))
  expect(input.metrics.snapshot()).toMatchObject({
    'deadletterqueue-produce-requests': 20,
    'deadletterqueue-produce-failures': 1,
  })
  expect(input.lines).toEqual([`Could not produce message to dead letter queue. topic=${topic}`])
})
