import {expect, test, vi} from 'vitest'

const delays: number[] = []
vi.mock('node:timers/promises', () => ({
  setTimeout: async (delay: number) => {
    delays.push(delay)
  },
}))

test('waits longer than one timer of Node can: --max-duration 60d does not end at once', async () => {
  const {systemClock} = await import('../../src/lib/clock.ts')
  const sixtyDays = 60 * 86_400_000
  await systemClock.sleep(sixtyDays)
  expect(delays.every(delay => delay <= 2 ** 31 - 1)).toBe(true)
  expect(delays.reduce((sum, delay) => sum + delay, 0)).toBe(sixtyDays)
  delays.length = 0
  await systemClock.sleep(0)
  expect(delays).toEqual([0])
})
