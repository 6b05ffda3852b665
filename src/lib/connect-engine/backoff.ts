import {JavaException} from './errors.ts'

/** First wait between two attempts, ms; Connect has no setting for it. */
export const RETRY_DELAY_MIN_MS = 300n

/** Largest value of a signed 64-bit integer: the deadline of endless retries. */
export const FOREVER = 2n ** 63n - 1n

/**
 * Whole numbers at random, uniform in [0, bound).
 * @param bound at least 1, at most 2^63-1
 */
export type RandomSource = (bound: bigint) => bigint

/** Random numbers of the runtime; no secrets depend on them. */
export const systemRandom: RandomSource = bound => {
  if (bound <= BigInt(Number.MAX_SAFE_INTEGER)) return BigInt(Math.floor(Math.random() * Number(bound)))
  // Beyond 53 bits: 63 random ones, drawn again while they are out of the range.
  for (;;) {
    const high = BigInt(Math.floor(Math.random() * 2 ** 31))
    const number = (high << 32n) | BigInt(Math.floor(Math.random() * 2 ** 32))
    if (number < bound) return number
  }
}

/** 64-bit addition that wraps, as Java's. */
export function wrappingAdd(a: bigint, b: bigint): bigint {
  return BigInt.asIntN(64, a + b)
}

/**
 * Until when an operation that began at `start` may be tried again.
 * @param retryTimeoutMs 0 = no retries, negative = for ever; a sum beyond 64 bits wraps into the past
 */
export function deadlineOf(start: bigint, retryTimeoutMs: bigint): bigint {
  return retryTimeoutMs >= 0n ? wrappingAdd(start, retryTimeoutMs) : FOREVER
}

/**
 * Wait before the next attempt: 300 ms doubled with every attempt; above the maximum a random time below the maximum
 * instead; cut so that it ends at the deadline.
 *
 * The doubling is a shift of 64 bits whose distance counts modulo 64, so endless retries come to waits of nothing around
 * the 60th attempt and begin again at 300 ms with the 65th.
 * @param attempt attempts made, from 1
 * @param now read after the attempt failed, and after the random number was drawn
 * @returns ms; zero or less = no wait
 * @throws JavaException (IllegalArgumentException) when a random time is needed and the maximum is below 1
 * @see Connect's RetryWithToleranceOperator.backoff
 */
export function backoffDelay(
  attempt: number,
  deadline: bigint,
  {maxDelayMs, random, now}: {maxDelayMs: bigint; random: RandomSource; now: () => bigint},
): bigint {
  let delay = BigInt.asIntN(64, RETRY_DELAY_MIN_MS << BigInt((attempt - 1) & 63))
  if (delay > maxDelayMs) {
    if (maxDelayMs <= 0n) {
      const className = 'java.lang.IllegalArgumentException'
      throw new JavaException({className, message: 'bound must be positive', family: 'exception'})
    }
    delay = random(maxDelayMs)
  }
  const current = now()
  if (wrappingAdd(current, delay) > deadline) {
    const left = wrappingAdd(deadline, -current)
    return left > 0n ? left : 0n
  }
  return delay
}
