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

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(delayMs, {signal} = {}) {
    signal?.throwIfAborted()
    try {
      await sleepFor(delayMs, undefined, signal === undefined ? {} : {signal})
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
  },
}
