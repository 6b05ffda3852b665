import type {Clock} from '../../clock.ts'

/** Bytes a second over a whole read: what came is paid for by waiting before the next request; nothing is saved up. */
export class ReadRate {
  readonly #clock: Clock
  readonly #bytesPerSecond: number | null
  #readyAt = 0

  /** @param bytesPerSecond null = no limit */
  constructor(clock: Clock, bytesPerSecond: number | null) {
    this.#clock = clock
    this.#bytesPerSecond = bytesPerSecond
  }

  /** Monotonic ms before which nothing may be asked for. */
  get readyAt(): number {
    return this.#readyAt
  }

  /** True when a limit is set; requests then go out one at a time and small. */
  get limited(): boolean {
    return this.#bytesPerSecond !== null
  }

  /** The most bytes to ask for at once: a quarter second's worth, at least 16 KiB (a batch always comes whole). */
  cap(bytes: number): number {
    return this.#bytesPerSecond === null
      ? bytes
      : Math.min(bytes, Math.max(16_384, Math.floor(this.#bytesPerSecond / 4)))
  }

  spend(bytes: number): void {
    if (this.#bytesPerSecond === null) return
    this.#readyAt = Math.max(this.#readyAt, this.#clock.monotonic()) + (bytes / this.#bytesPerSecond) * 1_000
  }
}
