import {describe, expect, test} from 'vitest'
import {Throttle, TokenBucket} from '../../../src/lib/replay/throttle.ts'
import {FakeClock} from '../../support/fake-clock.ts'

const drain = (throttle: Throttle, bytes = 1): number => {
  let taken = 0
  while (taken < 10_000 && throttle.tryTake(bytes)) taken++
  return taken
}

describe('Throttle', () => {
  test('a full bucket holds 100 ms of the rate', () => {
    const throttle = new Throttle(new FakeClock(), {recordsPerSecond: 500, bytesPerSecond: null})
    expect(drain(throttle)).toBe(50)
  })

  test('there is no burst after a stall', async () => {
    const clock = new FakeClock()
    const throttle = new Throttle(clock, {recordsPerSecond: 500, bytesPerSecond: null})
    expect(drain(throttle)).toBe(50)
    await clock.advance(3_600_000)
    expect(drain(throttle)).toBe(50)
  })

  test('one record a minute: one at once, the next after exactly a minute', async () => {
    const clock = new FakeClock({auto: true})
    const throttle = new Throttle(clock, {recordsPerSecond: 1 / 60, bytesPerSecond: null})
    expect(drain(throttle)).toBe(1)
    await throttle.wait()
    expect(clock.sleeps).toEqual([60_000])
    expect(drain(throttle)).toBe(1)
  })

  test('waiting is for a whole burst, so that chunks stay chunks', async () => {
    const clock = new FakeClock({auto: true})
    const throttle = new Throttle(clock, {recordsPerSecond: 500, bytesPerSecond: null})
    for (let chunk = 0; chunk < 10; chunk++) {
      expect(drain(throttle)).toBe(50)
      await throttle.wait()
    }
    expect(clock.sleeps).toEqual(Array.from({length: 10}, () => 100))
  })

  test('bytes bound records that are large; the bucket goes into debt for one that is larger than it', async () => {
    const clock = new FakeClock({auto: true})
    const throttle = new Throttle(clock, {recordsPerSecond: null, bytesPerSecond: 1000})
    expect(throttle.tryTake(5000)).toBe(true)
    expect(throttle.tryTake(1)).toBe(false)
    await throttle.wait()
    expect(clock.sleeps).toEqual([5000])
    expect(drain(throttle, 10)).toBe(10)
  })

  test('no token is lost in one bucket when the other one is empty', () => {
    const clock = new FakeClock()
    const throttle = new Throttle(clock, {recordsPerSecond: 1000, bytesPerSecond: 1000})
    expect(throttle.tryTake(100)).toBe(true)
    for (let attempt = 0; attempt < 1000; attempt++) expect(throttle.tryTake(100)).toBe(false)
    const fresh = new TokenBucket(1000)
    expect(fresh.burst).toBe(100)
  })

  test('without rates nothing ever waits', async () => {
    const clock = new FakeClock()
    const throttle = new Throttle(clock, {recordsPerSecond: null, bytesPerSecond: null})
    expect(drain(throttle, 1_000_000)).toBe(10_000)
    await throttle.wait()
    expect(clock.sleeps).toEqual([])
  })

  test('an abort ends the wait', async () => {
    const clock = new FakeClock()
    const throttle = new Throttle(clock, {recordsPerSecond: 1 / 60, bytesPerSecond: null})
    throttle.tryTake(1)
    const controller = new AbortController()
    const waiting = throttle.wait({signal: controller.signal})
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  })

  test('a rate that is not above zero is refused', () => {
    for (const rate of [0, -1, Number.NaN]) expect(() => new TokenBucket(rate)).toThrow(RangeError)
  })
})
