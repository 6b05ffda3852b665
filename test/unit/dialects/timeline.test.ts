import {expect, test} from 'vitest'
import {connectHeaders} from '../../../src/lib/dialects/connect.ts'
import {failureTimeline} from '../../../src/lib/dialects/timeline.ts'
import type {RecordHeader} from '../../../src/lib/kafka/record.ts'
import {header, recordWith} from '../../support/records.ts'

const connectSet = (topic: string, offset: bigint, error: string | null = `java.E${offset}`): RecordHeader[] =>
  connectHeaders({
    topic,
    partition: 0,
    offset,
    connector: `${topic}-sink`,
    task: 0,
    stage: 'TASK_PUT',
    component: 'x.Sink',
    ...(error === null ? {} : {error: {class: error, message: `m${offset}`, stack: `${error}: m${offset}\n`}}),
  })

const smallryeSet = (topic: string, offset: number): RecordHeader[] => [
  header('dead-letter-reason', `r${offset}`),
  header('dead-letter-topic', topic),
  header('dead-letter-partition', '0'),
  header('dead-letter-offset', `${offset}`),
]

const timeline = (...headers: readonly RecordHeader[]) => failureTimeline({...recordWith([]), headers})

test('set by set of a family that appends, each with its own exception', () => {
  const {hops, omitted} = timeline(
    header('trace', 'x'),
    ...connectSet('orders', 1n),
    ...connectSet('orders-dlq', 2n, null),
    ...connectSet('orders-retry', 3n),
  )
  expect(omitted).toBe(0)
  expect(hops.map(({at, connector, exception}) => [at?.topic, at?.offset, connector, exception?.class])).toEqual([
    ['orders', '1', 'orders-sink', 'java.E1'],
    ['orders-dlq', '2', 'orders-dlq-sink', undefined],
    ['orders-retry', '3', 'orders-retry-sink', 'java.E3'],
  ])
})

test('[BR-06] one failure for each set of a Spring retry topic', () => {
  const set = (attempts: number, due: string): RecordHeader[] => [
    header('retry_topic-original-timestamp', Buffer.from('018bcfe56800', 'hex')),
    header('retry_topic-attempts', Buffer.from([0, 0, 0, attempts])),
    header('retry_topic-backoff-timestamp', Buffer.from(due, 'hex')),
  ]
  const origin = [header('kafka_original-topic', 'orders'), header('kafka_dlt-original-consumer-group', 'billing')]
  const sets = [...set(2, '018bcfe56ddc'), ...set(3, '018bcfe5728c'), ...set(4, '018bcfe572f0')]
  const {hops, omitted} = timeline(...origin, ...sets, header('kafka_exception-fqcn', 'a.B'))
  expect(omitted).toBe(0)
  expect(hops).toEqual([
    {
      dialect: 'spring-retry',
      at: {topic: 'orders', timestamp: '1700000000000'},
      group: 'billing',
      attempts: 1,
      dueAt: '1700000001500',
    },
    {dialect: 'spring-retry', attempts: 2, dueAt: '1700000002700'},
    {dialect: 'spring-retry', exception: {class: 'a.B'}, attempts: 3, dueAt: '1700000002800'},
  ])
  expect(timeline(...origin, ...set(2, '018bcfe56ddc')).hops).toHaveLength(1)
  const many = timeline(...Array.from({length: 50}, (_, index) => set(index + 2, '018bcfe56ddc')).flat())
  expect([many.hops.length, many.omitted, many.hops.at(-1)?.attempts]).toEqual([20, 30, 50])
})

test('a count that SmallRye writes again tells of the newest failure only', () => {
  const set = (topic: string) => [
    header('delayed-retry-topic', topic),
    header('delayed-retry-partition', '0'),
    header('delayed-retry-offset', '1'),
  ]
  const {hops} = timeline(...set('orders_retry_800'), ...set('orders'), header('delayed-retry-count', '1'))
  expect(hops.map(({at, attempts}) => [at?.topic, attempts])).toEqual([
    ['orders', undefined],
    ['orders_retry_800', 2],
  ])
})

test('oldest first in a family that prepends', () => {
  const {hops} = timeline(...smallryeSet('orders-dlq', 2), ...smallryeSet('orders', 1), header('trace', 'x'))
  expect(hops.map(({dialect, at}) => [dialect, at?.topic, at?.offset])).toEqual([
    ['smallrye', 'orders', '1'],
    ['smallrye', 'orders-dlq', '2'],
  ])
})

test('families one over the other, the innermost first', () => {
  const {hops} = timeline(...smallryeSet('orders', 1), ...connectSet('orders-dlq', 2n))
  expect(hops.map(({dialect, at}) => [dialect, at?.topic])).toEqual([
    ['smallrye', 'orders'],
    ['connect', 'orders-dlq'],
  ])
})

test('of very many sets the first and the newest', () => {
  const {hops, omitted} = timeline(...Array.from({length: 100}, (_, set) => connectSet('orders', BigInt(set))).flat())
  expect(omitted).toBe(80)
  expect(hops).toHaveLength(20)
  expect([hops[0]?.at?.offset, hops[1]?.at?.offset, hops.at(-1)?.at?.offset]).toEqual(['0', '81', '99'])
})

test('a record without error headers has none', () => {
  expect(timeline(header('a', 'b'))).toEqual({hops: [], omitted: 0})
})
