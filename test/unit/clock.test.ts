import {syncBuiltinESMExports} from 'node:module'
import timers from 'node:timers/promises'
import {afterEach, expect, test, vi} from 'vitest'
import {systemClock} from '../../src/lib/clock.ts'

afterEach(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

test('waits longer than one timer of Node can: --max-duration 60d does not end at once', async () => {
  const delays: (number | undefined)[] = []
  vi.spyOn(timers, 'setTimeout').mockImplementation(async delay => {
    delays.push(delay)
    return undefined
  })
  // The clock has the function by name; a changed built-in module shows in names only when told to.
  syncBuiltinESMExports()
  const sixtyDays = 60 * 86_400_000
  await systemClock.sleep(sixtyDays)
  expect(delays.every(delay => delay !== undefined && delay <= 2 ** 31 - 1)).toBe(true)
  expect(delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0)).toBe(sixtyDays)
  delays.length = 0
  await systemClock.sleep(0)
  expect(delays).toEqual([0])
})
