import {describe, expect, test} from 'vitest'
import {createDeadLetterQueueReporter} from '../../../src/lib/connect-engine/create-dead-letter-queue.ts'
import {ConnectException, DataException} from '../../../src/lib/connect-engine/errors.ts'
import {ErrorHandlingMetrics} from '../../../src/lib/connect-engine/metrics.ts'
import {ProcessingContext} from '../../../src/lib/connect-engine/processing-context.ts'
import type {LogEvent} from '../../../src/lib/connect-engine/reporter.ts'
import {AuthError, KafkaError, type KdlqError} from '../../../src/lib/errors.ts'
import type {NewTopic, ProducerOptions, TopicDescription} from '../../../src/lib/kafka/ports.ts'
import {consumed} from '../../support/connect-engine.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {FakeSession} from '../../support/fake-session.ts'

const unknownTopic = new KafkaError('unknown', {code: 'E_UNKNOWN_TOPIC_OR_PARTITION'})

interface World {
  /** Answers of the reader, one a call; the last repeats. */
  readonly topics?: readonly Partial<TopicDescription>[]
  readonly creating?: KdlqError
}

function setUp({topics = [{}], creating}: World = {}) {
  const created: NewTopic[] = []
  const opened: ProducerOptions[] = []
  const log: LogEvent[] = []
  const session = new FakeSession()
  let looks = 0
  const clients = {
    reader: {
      topics: async (names: readonly string[] | null) => {
        const answer = topics[Math.min(looks++, topics.length - 1)] ?? {}
        return (names ?? []).map(name => ({name, id: null, internal: false, partitions: [], error: null, ...answer}))
      },
    },
    admin: {
      createTopic: async (topic: NewTopic) => {
        created.push(topic)
        if (creating !== undefined) throw creating
      },
    },
    writer: {
      open: async (options: ProducerOptions) => {
        opened.push(options)
        return session
      },
    },
  }
  const input = {
    topic: ' orders-dlq ',
    connector: 'job',
    task: 0,
    contextHeaders: false,
    replicationFactor: 7,
    metrics: new ErrorHandlingMetrics({connector: 'job', task: 0, clock: new FakeClock()}),
    log: (event: LogEvent) => {
      log.push(event)
    },
  }
  return {clients, input, created, opened, log, session}
}

describe('at the start of a dead letter queue', () => {
  test('a topic that is there is left alone', async () => {
    const {clients, input, created, log} = setUp()
    await createDeadLetterQueueReporter(clients, input)
    expect(created).toEqual([])
    expect(log).toEqual([])
  })

  test('a topic that is missing is created with one partition and the factor, and that is logged', async () => {
    const {clients, input, created, log} = setUp({topics: [{error: unknownTopic}]})
    await createDeadLetterQueueReporter(clients, input)
    expect(created).toEqual([{name: 'orders-dlq', partitions: 1, replicationFactor: 7, configs: {}}])
    expect(log).toEqual([
      {
        logger: 'DeadLetterQueueReporter',
        message: "Topic orders-dlq doesn't exist. Will attempt to create topic.",
        error: null,
      },
    ])
  })

  test('another task that creates it at the same time is no failure', async () => {
    const creating = new KafkaError('there', {code: 'E_TOPIC_ALREADY_EXISTS'})
    const partition = {partition: 0, leader: 0, error: null}
    const {clients, input, session} = setUp({
      topics: [{error: unknownTopic}, {partitions: [partition, partition]}],
      creating,
    })
    const reporter = await createDeadLetterQueueReporter(clients, {...input, random: () => 1n})
    reporter.report(new ProcessingContext(consumed({key: null})))
    await reporter.close()
    expect(session.records.map(({partition}) => partition)).toEqual([1])
  })

  test.each([
    ['the broker refuses the factor', new KafkaError('factor', {code: 'E_INVALID_REPLICATION_FACTOR'})],
    ['nobody may create it', new AuthError('not authorized', {code: 'E_TOPIC_AUTHORIZATION_FAILED'})],
  ])('it fails when %s', async (_why, creating) => {
    const {clients, input} = setUp({topics: [{error: unknownTopic}], creating})
    const error = await createDeadLetterQueueReporter(clients, input).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConnectException)
    expect(error).toMatchObject({
      message: 'Could not initialize dead letter queue with topic=orders-dlq',
      cause: {className: 'java.util.concurrent.ExecutionException', cause: creating},
    })
  })

  test('a stop is not taken for a failure of the queue', async () => {
    const {clients, input} = setUp({topics: [{error: unknownTopic}], creating: new KafkaError('stopped')})
    const reason = new Error('stop')
    const starting = createDeadLetterQueueReporter(clients, input, {signal: AbortSignal.abort(reason)})
    await expect(starting).rejects.toBe(reason)
  })

  test('validateRanges refuses a factor of 0; without it the broker decides', async () => {
    const {clients, input} = setUp()
    for (const replicationFactor of [0, -2, 32_768]) {
      const wrong = {...input, replicationFactor, validateRanges: true}
      await expect(createDeadLetterQueueReporter(clients, wrong)).rejects.toThrow('replication.factor')
      await createDeadLetterQueueReporter(clients, {...input, replicationFactor})
    }
    await createDeadLetterQueueReporter(clients, {...input, replicationFactor: -1, validateRanges: true})
  })

  test('the producer is opened at the first record, retries for ever, and is closed with the reporter', async () => {
    const {clients, input, opened, session} = setUp()
    const reporter = await createDeadLetterQueueReporter(clients, input)
    expect(opened).toEqual([])
    const context = new ProcessingContext(consumed())
    context.error = new DataException('bad')
    const future = reporter.report(context)
    expect(future.state).toBe('pending')
    await reporter.close()
    expect(future.state).toBe('done')
    expect(opened).toEqual([{compression: 'none', transactionalId: null, deliveryTimeoutMs: 2_147_483_647}])
    expect(session.closed).toBe(1)
    expect(session.records).toMatchObject([
      {topic: 'orders-dlq', partition: 0, value: 'v1', timestamp: 1_700_000_000_123n},
    ])
  })

  test('compression and the time to deliver may be set', async () => {
    const {clients, input, opened} = setUp()
    const reporter = await createDeadLetterQueueReporter(clients, {...input, compression: 'zstd', deliveryTimeoutMs: 5})
    reporter.report(new ProcessingContext(consumed()))
    await reporter.close()
    expect(opened).toEqual([{compression: 'zstd', transactionalId: null, deliveryTimeoutMs: 5}])
  })
})
