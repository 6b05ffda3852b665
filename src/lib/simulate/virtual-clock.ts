import type {EngineClock} from '../connect-engine/engine.ts'

/** A time like those of a worker's clock, epoch ms: at 0 no sum of times would leave 64 bits, and 0 means never. */
const START_MS = 1_700_000_000_000

/** Time that passes only while somebody waits. */
export class VirtualClock implements EngineClock {
  #now = START_MS

  now(): number {
    return this.#now
  }

  async sleep(delayMs: number): Promise<void> {
    this.advance(delayMs)
    await Promise.resolve()
  }

  /** @param ms at least 0 */
  advance(ms: number): void {
    this.#now += ms
  }
}
