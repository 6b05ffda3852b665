import fc from 'fast-check'
import {expect, test} from 'vitest'
import {createHistogram} from '../../../src/lib/dead-letter/histogram.ts'

function bucketsOf(timestamps: readonly bigint[], maxBuckets?: number) {
  const histogram = createHistogram(maxBuckets)
  for (const timestamp of timestamps) histogram.add(timestamp)
  return histogram.buckets()
}

test('has no buckets without records and one for a single record', () => {
  expect(bucketsOf([])).toEqual([])
  expect(bucketsOf([1_764_500_000_123n])).toEqual([{from: '1764500000123', to: '1764500000124', count: 1}])
})

test('widens to hours when a day has to fit, and shows empty hours', () => {
  const hour = 3_600_000n
  const buckets = bucketsOf([0n, 1n, hour, 23n * hour, 24n * hour], 25)
  expect(buckets).toHaveLength(25)
  expect(buckets.map(({count}) => count)).toEqual([2, 1, ...Array.from({length: 21}, () => 0), 1, 1])
  expect(buckets[1]).toEqual({from: '3600000', to: '7200000', count: 1})
})

test('takes times before the epoch and the ends of int64', () => {
  expect(bucketsOf([-1n, 0n], 2)).toEqual([
    {from: '-1', to: '0', count: 1},
    {from: '0', to: '1', count: 1},
  ])
  const ends = bucketsOf([-(2n ** 63n), 2n ** 63n - 1n, 0n], 10)
  expect(ends.length).toBeLessThanOrEqual(10)
  expect(ends.reduce((sum, {count}) => sum + count, 0)).toBe(3)
})

test('refuses fewer than two buckets', () => {
  expect(() => createHistogram(1)).toThrow(RangeError)
  expect(() => createHistogram(2.5)).toThrow(RangeError)
})

test('keeps every count, in consecutive buckets within the bound, whatever the order', () => {
  const times = fc.array(
    fc.oneof(fc.bigInt({min: -(2n ** 63n), max: 2n ** 63n - 1n}), fc.bigInt({min: 0n, max: 10n ** 6n})),
    {
      minLength: 1,
    },
  )
  fc.assert(
    fc.property(times, fc.integer({min: 2, max: 60}), (timestamps, maxBuckets) => {
      const buckets = bucketsOf(timestamps, maxBuckets)
      expect(buckets.length).toBeLessThanOrEqual(maxBuckets)
      expect(bucketsOf(timestamps.toReversed(), maxBuckets)).toEqual(buckets)
      for (const [index, {from, to, count}] of buckets.entries()) {
        expect(count).toBe(timestamps.filter(time => time >= BigInt(from) && time < BigInt(to)).length)
        expect(from).toBe(buckets[index - 1]?.to ?? from)
      }
      expect(buckets.reduce((sum, {count}) => sum + count, 0)).toBe(timestamps.length)
    }),
  )
})
