import type {EngineClock} from '../connect-engine/engine.ts'

/** Time that passes only while somebody waits. */
export class VirtualClock implements EngineClock {
  #now = 0

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
