import type {Clock} from '../../src/lib/clock.ts'

interface Waiter {
  readonly at: number
  readonly wake: () => void
}

/** A clock that moves only by `advance`, or by itself from wait to wait when `auto` is set. */
export class FakeClock implements Clock {
  /** Every delay that was asked for, in order, in milliseconds. */
  readonly sleeps: number[] = []
  #now: number
  #waiters: Waiter[] = []
  readonly #auto: boolean

  constructor(options: {now?: number; auto?: boolean} = {}) {
    this.#now = options.now ?? 1_764_500_000_000
    this.#auto = options.auto ?? false
  }

  /** How many wait now. */
  get waiting(): number {
    return this.#waiters.length
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  async sleep(delayMs: number, {signal}: {signal?: AbortSignal | undefined} = {}): Promise<void> {
    signal?.throwIfAborted()
    this.sleeps.push(delayMs)
    if (this.#auto) {
      this.#now += delayMs
      return
    }
    const {promise, resolve, reject} = Promise.withResolvers<void>()
    const waiter: Waiter = {at: this.#now + delayMs, wake: resolve}
    this.#waiters.push(waiter)
    const abort = (): void => {
      this.#waiters = this.#waiters.filter(other => other !== waiter)
      reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', abort, {once: true})
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Move time forward and wake, in order, whoever waited for it. */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms
    for (;;) {
      const next = this.#waiters.filter(({at}) => at <= target).toSorted((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#now = Math.max(this.#now, next.at)
      this.#waiters = this.#waiters.filter(other => other !== next)
      next.wake()
      for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    }
    this.#now = target
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  }
}
