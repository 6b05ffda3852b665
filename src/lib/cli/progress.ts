import type {Clock} from '../clock.ts'
import {formatBytes, formatCount} from '../render/numbers.ts'
import {cutToWidth} from '../render/width.ts'
import type {Output} from './output.ts'

export interface ProgressState {
  readonly label: string
  /** What is counted. */
  readonly noun?: string
  readonly done: number
  /** Null = unknown. */
  readonly total?: number | null
  readonly bytes?: number
}

/** One line on stderr that is drawn over and over; silent without a terminal and with `--quiet`. */
export class Progress implements AsyncDisposable {
  readonly #output: Output
  readonly #clock: Clock
  readonly #active: boolean
  #lastDrawn = -Infinity
  #startedAt: number
  #drawn = false

  constructor(output: Output, clock: Clock, options: {readonly quiet: boolean}) {
    this.#output = output
    this.#clock = clock
    this.#active = output.isTTY && !options.quiet
    this.#startedAt = clock.monotonic()
    // Work that is done at once shows no progress.
    this.#lastDrawn = this.#startedAt + 200
  }

  /** Draws at most ten times a second. */
  async update(state: ProgressState): Promise<void> {
    if (!this.#active) return
    const now = this.#clock.monotonic()
    if (now - this.#lastDrawn < 100) return
    this.#lastDrawn = now
    this.#drawn = true
    await this.#output.write(
      `\r\u001b[K${cutToWidth(progressLine(state, now - this.#startedAt), (this.#output.width ?? 80) - 1)}`,
    )
    await this.#output.flush()
  }

  /** Takes the line away, so that something else can be said. */
  async clear(): Promise<void> {
    if (!this.#drawn) return
    this.#drawn = false
    await this.#output.write('\r\u001b[K')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clear()
  }
}

/** Text of a progress line: label, counts, share, bytes, rate. */
export function progressLine(
  {label, noun = 'records', done, total = null, bytes}: ProgressState,
  elapsedMs: number,
): string {
  const count =
    total === null ? `${formatCount(done)} ${noun}` : `${formatCount(done)} of ${formatCount(total)} ${noun}`
  const share = total === null || total === 0 ? '' : ` ${Math.floor((done / total) * 100)} %`
  const size = bytes === undefined ? '' : `, ${formatBytes(bytes)}`
  const rate = elapsedMs < 1000 ? '' : `, ${formatCount(Math.round((done * 1000) / elapsedMs))}/s`
  return `${label}: ${count}${share}${size}${rate}`
}
