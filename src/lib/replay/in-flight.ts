import type {Clock} from '../clock.ts'
import {isKdlqError, KafkaError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import type {Chunk, ChunkEntry} from './chunk.ts'
import {orAbort} from './race.ts'

/** How long the chunk in flight may take to settle after an abort, ms; the rest of two seconds is for closing. */
export const SETTLE_MS = 1200

interface Flight {
  /** Records whose outcome is not counted yet. */
  open: readonly ChunkEntry[]
  readonly done: Promise<void>
}

/** Records of a chunk whose outcome nobody will learn. */
export interface Unsettled {
  readonly entries: readonly ChunkEntry[]
  readonly error: KdlqError
}

/** The one chunk that is being written while the next one is filled, and its end, whatever happens. */
export class InFlight {
  #flight: Flight | null = null
  readonly #giveUp = new AbortController()

  /** Aborted when the deadline for settling is over: what is still written then is nobody's any more. */
  get gaveUp(): AbortSignal {
    return this.#giveUp.signal
  }

  /** No chunk was started since the last one settled. */
  get isEmpty(): boolean {
    return this.#flight === null
  }

  /**
   * Start a chunk; the one before has to be settled.
   * @param work says which records are still open whenever it has counted some, none at its end; may throw after that
   */
  start(chunk: Chunk, work: (stillOpen: (entries: readonly ChunkEntry[]) => void) => Promise<void>): void {
    const stillOpen = (entries: readonly ChunkEntry[]): void => {
      flight.open = entries
    }
    const flight: Flight = {open: entriesOf([chunk]), done: Promise.resolve().then(() => work(stillOpen))}
    // Owned by `settle` and `settleLast`; an error must not become an unhandled rejection before.
    flight.done.catch(() => undefined)
    this.#flight = flight
  }

  /** Wait for the chunk in flight, but not behind an abort. @throws its error, or the signal's reason */
  async settle(signal: AbortSignal): Promise<void> {
    const flight = this.#flight
    if (flight === null) return
    await orAbort(flight.done, signal)
    this.#flight = null
  }

  /**
   * On the way out: give the chunk in flight its time.
   * @returns its records when that time is over, or the writer failed; null when everything is counted
   */
  async settleLast(clock: Clock): Promise<Unsettled | null> {
    const flight = this.#flight
    this.#flight = null
    if (flight === null || flight.open.length === 0) return null
    const timer = new AbortController()
    const deadline = clock.sleep(SETTLE_MS, {signal: timer.signal}).catch(() => undefined)
    let failure: KdlqError | null = null
    const settled = flight.done.catch((reason: unknown) => {
      failure = isKdlqError(reason) ? reason : new KafkaError('the chunk could not be written', {cause: reason})
    })
    await Promise.race([deadline, settled])
    timer.abort()
    await deadline
    if (flight.open.length === 0) return null
    this.#giveUp.abort()
    const error = failure ?? new KafkaError('the target did not answer before the run ended', {code: 'E_UNSETTLED'})
    return {entries: flight.open, error}
  }
}

/** All records of some chunks. */
export function entriesOf(chunks: readonly Chunk[]): readonly ChunkEntry[] {
  return chunks.flatMap(chunk => chunk.batches().flatMap(({entries}) => entries))
}
