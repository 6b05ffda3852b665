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
