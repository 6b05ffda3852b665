import {expect, test} from 'vitest'
import {readTopicName} from '../../../../src/lib/dead-letter/discover/topic-names.ts'

const topics = new Set(['orders', 'orders.eu', 'order-errors-daily', 'a-retry'])
const read = (name: string) => readTopicName(name, topic => topics.has(topic))

test.each([
  ['orders-dlq', 'dead-letter', 'orders'],
  ['orders-dlt', 'dead-letter', 'orders'],
  ['orders.DLT', 'dead-letter', 'orders'],
  ['orders.eu.deadletter', 'dead-letter', 'orders.eu'],
  ['orders-retry-dlt', 'dead-letter', 'orders'],
  ['error.orders.eu.billing', 'dead-letter', 'orders.eu'],
  ['dlq.orders', 'dead-letter', 'orders'],
  ['dead-letter-topic-orders', 'dead-letter', 'orders'],
  ['orders-retry', 'retry', 'orders'],
  ['orders-retry-0', 'retry', 'orders'],
  ['orders-retry-1000-2', 'retry', 'orders'],
  ['orders-billing-retry-3', 'retry', 'orders'],
  ['orders_retry_30000', 'retry', 'orders'],
  ['invoices-dlq', 'dead-letter', null],
  ['dlq-lcc-ab12', 'dead-letter', null],
  ['wolverine-dead-letter-queue', 'dead-letter', null],
])('%s is a %s topic of %s', (name, kind, origin) => {
  expect(read(name)).toEqual({kind, origin})
})

test.each(['orders', 'retrying', 'terrors', 'customer.deadlines'])('%s is named like any topic', name => {
  expect(read(name)).toBeNull()
})

test('a name of the greatest length takes no time', () => {
  const name = `${'retry-'.repeat(41)}x-1`
  expect(name.length).toBeLessThanOrEqual(249)
  expect(read(name)?.origin).toBeNull()
})
