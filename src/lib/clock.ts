import {setTimeout as sleepFor} from 'node:timers/promises'

/** Time as the rest of kdlq may see it; tests inject a clock that moves only when told. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number
  /** Monotonic milliseconds, for durations and rates; no relation to the wall clock. */
  monotonic(): number
  /**
   * Wait.
   * @param delayMs at least 0
   * @throws the signal's reason, soon after it aborts
   */
  sleep(delayMs: number, options?: {signal?: AbortSignal | undefined}): Promise<void>
}

/** Longest delay of a Node timer: int32, 24.8 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(delayMs, {signal} = {}) {
    signal?.throwIfAborted()
    try {
      const options = signal === undefined ? {} : {signal}
      // A longer timer would end at once.
      for (let left = delayMs; left >= 0; left -= LONGEST_TIMER_MS) {
        await sleepFor(Math.min(left, LONGEST_TIMER_MS), undefined, options)
      }
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
  },
}
