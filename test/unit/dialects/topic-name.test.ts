import {describe, expect, test} from 'vitest'
import {isDlqName, originInName, topicBehind} from '../../../src/lib/dialects/topic-name.ts'
import {assertLinear} from '../../support/linear.ts'

describe('names of dead letter topics', () => {
  test.each([
    ['orders-dlt', 'orders'],
    ['orders.DLT', 'orders'],
    ['orders-retry', 'orders'],
    ['orders-retry-0', 'orders'],
    ['orders-retry-1000-2', 'orders'],
    ['orders-retry-0-dlt', 'orders'],
    ['orders-dlq', 'orders'],
    ['orders_dlq', 'orders'],
    ['a-b.c-dlq', 'a-b.c'],
    // What stands in front is a dead letter topic itself, or there is nothing.
    ['orders-dlq-dlq', null],
    ['-dlq', null],
    ['dlq', null],
    // These name a channel, a connector, topic and group in one, or nothing at all.
    ['dead-letter-topic-orders', null],
    ['error.orders.billing', null],
    ['dlq-lcc-12', null],
    ['orders', null],
    [`${'o'.repeat(250)}-dlq`, null],
  ])('%s stands for %s', (topic, origin) => {
    expect(originInName(topic)).toBe(origin)
  })

  test('a name of many separators takes little work', async () => {
    // A topic's name has at most 249 characters; longer ones are not looked at.
    await assertLinear(31, parts => {
      for (let round = 0; round < 500; round++) originInName(`${'-retry-1'.repeat(parts)}!`)
    })
  })

  test('a suffix is exact, and something has to stand in front', () => {
    expect(topicBehind('orders-dlq', ['-dlq'])).toBe('orders')
    expect(topicBehind('orders-DLQ', ['-dlq'])).toBeUndefined()
    expect(topicBehind('-dlq', ['-dlq'])).toBeUndefined()
  })

  test.each(['orders.parking-lot', 'poisoned', 'dead.letter.queue', 'a_failed_b', 'ERROR-x'])('%s is one', name => {
    expect(isDlqName(name)).toBe(true)
  })

  test.each(['orders', 'terrors', 'retrying', 'deadline'])('%s is none', name => {
    expect(isDlqName(name)).toBe(false)
  })
})
