import type {Clock} from '../clock.ts'

/** How long a full bucket lasts: what may go out at once after a pause. */
const BURST_MS = 100

/**
 * Token bucket that holds at most 100 ms worth of tokens (at least one): in every window of w seconds at most
 * `rate * w + burst` tokens are taken, also after a stall. Works on the time at which the bucket is full again, so that
 * nothing adds up from rounding.
 */
export class TokenBucket {
  /** Tokens in a full bucket, at least 1. */
  readonly burst: number
  readonly #msPerToken: number
  /** Monotonic ms at which the bucket is full again. */
  #fullAt = Number.NEGATIVE_INFINITY

  /** @param ratePerSecond greater than 0 */
  constructor(ratePerSecond: number) {
    if (!(ratePerSecond > 0)) throw new RangeError('rate must be greater than 0')
    this.#msPerToken = 1000 / ratePerSecond
    this.burst = Math.max(1, Math.floor((ratePerSecond * BURST_MS) / 1000))
  }

  /**
   * Wait until `take(tokens)` is allowed; what is more than a full bucket holds needs a full bucket only, and
   * whoever comes next waits for the rest of it.
   * @returns ms, 0 = now
   */
  delayMs(tokens: number, nowMs: number): number {
    const missing = Math.min(tokens, this.burst) - this.burst
    return Math.max(0, this.#fullAt + missing * this.#msPerToken - nowMs)
  }

  /** Take tokens; allowed only when `delayMs` says 0. */
  take(tokens: number, nowMs: number): void {
    this.#fullAt = Math.max(this.#fullAt, nowMs) + tokens * this.#msPerToken
  }
}

/** Rates of one run; null = no bound. */
export interface Rates {
  readonly recordsPerSecond: number | null
  readonly bytesPerSecond: number | null
}

/** Records and bytes a second together. Nothing is taken from one bucket while the other is empty. */
export class Throttle {
  readonly #clock: Clock
  readonly #records: TokenBucket | null
  readonly #bytes: TokenBucket | null
  /** Records that may go out at once; null = no bound. */
  readonly burstRecords: number | null

  constructor(clock: Clock, rates: Rates) {
    this.#clock = clock
    this.#records = rates.recordsPerSecond === null ? null : new TokenBucket(rates.recordsPerSecond)
    this.#bytes = rates.bytesPerSecond === null ? null : new TokenBucket(rates.bytesPerSecond)
    this.burstRecords = this.#records?.burst ?? null
  }

  /** Take the tokens of one record if they are there now. */
  tryTake(bytes: number): boolean {
    const now = this.#clock.monotonic()
    if (this.#delay(1, bytes, now) > 0) return false
    this.#records?.take(1, now)
    this.#bytes?.take(bytes, now)
    return true
  }

  /**
   * Wait until a full burst may go out, so that what follows is a chunk and not a single record. Takes nothing.
   * @throws the signal's reason
   */
  async wait(options: {signal?: AbortSignal | undefined} = {}): Promise<void> {
    for (;;) {
      const delay = this.#delay(this.#records?.burst ?? 1, this.#bytes?.burst ?? 0, this.#clock.monotonic())
      if (delay <= 0) return
      // Whole milliseconds, rounded up: a timer that fires early would only go round again.
      await this.#clock.sleep(Math.ceil(delay), options)
    }
  }

  #delay(records: number, bytes: number, now: number): number {
    return Math.max(this.#records?.delayMs(records, now) ?? 0, this.#bytes?.delayMs(bytes, now) ?? 0)
  }
}
