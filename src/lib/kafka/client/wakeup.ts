import type {Clock} from '../../clock.ts'

interface Pending {
  readonly at: number
  readonly abort: AbortController
}

/** One timer that calls back at the earliest of the times asked for. */
export class Wakeup {
  readonly #clock: Clock
  readonly #call: () => void
  #pending: Pending | null = null

  constructor(clock: Clock, call: () => void) {
    this.#clock = clock
    this.#call = call
  }

  /** @param at monotonic ms */
  at(at: number): void {
    if (this.#pending !== null && this.#pending.at <= at) return
    this.cancel()
    const pending = {at, abort: new AbortController()}
    this.#pending = pending
    void this.#wait(pending)
  }

  async #wait(pending: Pending): Promise<void> {
    const delay = Math.max(0, pending.at - this.#clock.monotonic())
    try {
      await this.#clock.sleep(delay, {signal: pending.abort.signal})
    } catch {
      // Cancelled; a later call has set another time or needs none.
    }
    if (this.#pending !== pending) return
    this.#pending = null
    this.#call()
  }

  cancel(): void {
    this.#pending?.abort.abort()
    this.#pending = null
  }
}
