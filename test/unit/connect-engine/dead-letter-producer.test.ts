import {describe, expect, test} from 'vitest'
import {QueuedDeadLetterProducer} from '../../../src/lib/connect-engine/dead-letter-producer.ts'
import type {DeadLetterProducerOptions} from '../../../src/lib/connect-engine/dead-letter-producer.ts'
import type {DeadLetterRecord} from '../../../src/lib/connect-engine/dead-letter-queue-reporter.ts'
import {KafkaError} from '../../../src/lib/errors.ts'
import {partitionForKey} from '../../../src/lib/kafka/murmur2.ts'
import {FakeSession} from '../../support/fake-session.ts'

function letter(value: string, key: string | null = null): DeadLetterRecord {
  return {
    topic: 'dlq',
    timestamp: 5n,
    key: key === null ? null : Buffer.from(key),
    value: Buffer.from(value),
    headers: [],
  }
}

function setUp(options: Partial<DeadLetterProducerOptions> = {}) {
  const session = new FakeSession()
  const producer = new QueuedDeadLetterProducer({open: async () => session, partitions: 1, ...options})
  return {session, producer}
}

const tooLarge = new KafkaError('too large', {code: 'E_MESSAGE_TOO_LARGE'})

test('one request is in flight, and what waits meanwhile goes out together, in order', async () => {
  const {session, producer} = setUp()
  const gate = Promise.withResolvers<void>()
  session.gate = gate.promise
  const futures = ['a', 'b', 'c'].map(value => producer.send(letter(value)))
  await Promise.resolve()
  gate.resolve()
  await Promise.all(futures.map(future => future.get()))
  expect(session.requests).toEqual([[['a']], [['b', 'c']]])
  expect(session.mostInFlight).toBe(1)
})

test('more may be in flight when told so', async () => {
  const {session, producer} = setUp({maxInFlight: 3})
  const gate = Promise.withResolvers<void>()
  session.gate = gate.promise
  for (const value of ['a', 'b', 'c', 'd']) producer.send(letter(value))
  await new Promise(resolve => {
    setImmediate(resolve)
  })
  expect(session.mostInFlight).toBe(3)
  gate.resolve()
  await producer.close()
  expect(session.records.map(({value}) => value)).toEqual(['a', 'b', 'c', 'd'])
})

test('a key decides the partition; records without one share a partition within a request', async () => {
  const draws = [2n, 0n]
  const {session, producer} = setUp({partitions: 3, random: () => draws.shift() ?? 1n})
  const gate = Promise.withResolvers<void>()
  session.gate = gate.promise
  for (const record of [letter('first'), letter('a'), letter('b', 'k'), letter('c')]) producer.send(record)
  gate.resolve()
  await producer.close()
  const byKey = partitionForKey(Buffer.from('k'), 3)
  const partitions = new Map(session.records.map(({value, partition}) => [value, partition]))
  expect(partitions).toEqual(
    new Map([
      ['first', 2],
      ['a', 0],
      ['b', byKey],
      ['c', 0],
    ]),
  )
})

describe('a record larger than a request', () => {
  test('has failed at once, and is not sent', async () => {
    const {session, producer} = setUp({maxRequestBytes: 200})
    const future = producer.send(letter('x'.repeat(200)))
    expect(future.error).toMatchObject({
      className: 'org.apache.kafka.common.errors.RecordTooLargeException',
      message: expect.stringContaining('is larger than 200') as string,
    })
    await producer.close()
    expect(session.requests).toEqual([])
  })

  test('does not fail the others of its batch: they go alone', async () => {
    const {session, producer} = setUp()
    session.refuse = values => (values.length > 1 || values[0] === 'bad' ? tooLarge : null)
    const futures = ['first', 'a', 'bad', 'b'].map(value => producer.send(letter(value)))
    await producer.close()
    expect(futures.map(({state}) => state)).toEqual(['done', 'done', 'failed', 'done'])
    expect(futures[2]?.error).toBe(tooLarge)
    expect(session.records.map(({value}) => value)).toEqual(['first', 'a', 'b'])
  })

  test('requests are cut at the limit', async () => {
    const {session, producer} = setUp({maxRequestBytes: 1000})
    for (let index = 0; index < 5; index++) producer.send(letter(`${index}`.repeat(350)))
    await producer.close()
    expect(session.requests.map(batches => batches.flat().map(value => value[0]))).toEqual([
      ['0'],
      ['1', '2'],
      ['3', '4'],
    ])
  })
})

test('an outcome that is not known is not sent again', async () => {
  const {session, producer} = setUp()
  const unknown = new KafkaError('unknown', {code: 'E_OUTCOME_UNKNOWN'})
  session.refuse = values => (values.length > 1 ? unknown : null)
  const futures = ['first', 'a', 'b'].map(value => producer.send(letter(value)))
  await producer.close()
  expect(futures.map(({error}) => error)).toEqual([null, unknown, unknown])
  expect(session.requests).toHaveLength(2)
})

test('a session that cannot be opened fails what waits, and the next record tries again', async () => {
  const session = new FakeSession()
  let attempts = 0
  const open = async (): Promise<FakeSession> => {
    if (attempts++ === 0) throw new KafkaError('no producer id')
    return session
  }
  const producer = new QueuedDeadLetterProducer({open, partitions: 1})
  const first = producer.send(letter('a'))
  await expect(first.get()).rejects.toThrow('no producer id')
  await producer.send(letter('b')).get()
  await producer.close()
  expect([attempts, session.closed]).toEqual([2, 1])
})

test('ready waits while more is queued than a buffer holds', async () => {
  const {session, producer} = setUp({maxRequestBytes: 16 * 1024 * 1024})
  const gate = Promise.withResolvers<void>()
  session.gate = gate.promise
  await producer.ready()
  const big = 'x'.repeat(12 * 1024 * 1024)
  for (let index = 0; index < 3; index++) producer.send(letter(big))
  let isReady = false
  const ready = producer.ready().then(() => (isReady = true))
  await new Promise(resolve => {
    setImmediate(resolve)
  })
  expect(isReady).toBe(false)
  gate.resolve()
  await ready
  await producer.close()
})

test('nothing can be sent once it is closed, and closing twice is fine', async () => {
  const {producer, session} = setUp()
  producer.send(letter('a'))
  await producer.close()
  await producer.close()
  expect(() => producer.send(letter('b'))).toThrow(
    expect.objectContaining({className: 'java.lang.IllegalStateException'}),
  )
  expect(session.closed).toBe(1)
})
