import type {Clock} from '../clock.ts'
import type {RecordCursor} from '../kafka/records/types.ts'
import {Chunk, isWritten} from './chunk.ts'
import type {ChunkEntry, ChunkLimits, RecordOutcome} from './chunk.ts'
import {entriesOf, InFlight} from './in-flight.ts'
import type {Unsettled} from './in-flight.ts'
import type {Outgoing} from './outgoing.ts'
import type {ParkedCopy} from './parked-copy.ts'
import type {RunErrors} from './run-errors.ts'
import type {RunDeps, RunInput} from './run-input.ts'
import type {RunState} from './run-state.ts'
import {isOutOfReach, Stop, targetUnreachable} from './run-stop.ts'
import type {TargetFacts} from './target.ts'
import {Throttle} from './throttle.ts'
import type {ChunkWriter} from './write-chunk.ts'

/** Chunks when no rate bounds them; also the memory that a run needs at most, about three times. */
const CHUNK_LIMITS: ChunkLimits = {maxRecords: 20_000, maxBytes: 16 * 1024 * 1024}
/** Batches are at most this large before compression, or as large as their one record. */
const BATCH_BYTES = 1024 * 1024 - 4096

/** What sending works with. */
export interface SenderDeps extends Pick<RunDeps, 'onProgress'> {
  readonly clock: Clock
  readonly state: RunState
  readonly errors: RunErrors
}

/** The records of a run on their way out: collected into chunks at the run's rate, written one at a time, counted. */
export class ChunkSender {
  readonly #deps: SenderDeps
  readonly #writer: ChunkWriter
  readonly #input: RunInput
  readonly #throttle: Throttle
  readonly #limits: ChunkLimits
  readonly #inFlight = new InFlight()
  /** Failures of earlier processes do not stop this one. */
  readonly #refusedBefore: number
  #chunk = new Chunk()

  constructor(deps: SenderDeps, writer: ChunkWriter, input: RunInput) {
    const {rate, bytesRate} = input.plan
    this.#deps = deps
    this.#writer = writer
    this.#input = input
    this.#throttle = new Throttle(deps.clock, {recordsPerSecond: rate, bytesPerSecond: bytesRate})
    const burst = this.#throttle.burstRecords
    this.#limits =
      burst === null ? CHUNK_LIMITS : {...CHUNK_LIMITS, maxRecords: Math.min(burst, CHUNK_LIMITS.maxRecords)}
    this.#refusedBefore = deps.state.refused
  }

  /** No chunk is being written. */
  get isIdle(): boolean {
    return this.#inFlight.isEmpty
  }

  /** A record for its target. @throws why the run has to stop, a chunk later */
  async add(
    destination: {readonly topic: string; readonly partition: number},
    entry: ChunkEntry,
    record: {readonly cursor: RecordCursor | null; readonly outgoing: Outgoing; readonly facts: TargetFacts | null},
    signal: AbortSignal,
  ): Promise<void> {
    const {cursor, outgoing, facts} = record
    if (this.#chunk.isFull(this.#limits, destination, batchBytes(facts), outgoing.bytes)) await this.flush(signal)
    await this.#tokens(outgoing.bytes, signal)
    const timestamp = outgoing.timestamp ?? BigInt(this.#deps.clock.now())
    this.#chunk.add(destination, entry, cursor, outgoing, timestamp)
  }

  /** A copy for the parking topic; it goes with the chunk. @throws as `add` */
  async park({place, entry, record, bytes}: ParkedCopy, signal: AbortSignal): Promise<void> {
    const most = batchBytes(this.#input.plan.parking)
    if (this.#chunk.isFull(this.#limits, place, most, bytes)) await this.flush(signal)
    await this.#tokens(bytes, signal)
    this.#chunk.park(place, entry, record)
  }

  /** Send what was collected; one chunk may be in flight while the next is filled. @throws what the one before it threw */
  async flush(signal: AbortSignal): Promise<void> {
    if (this.#chunk.records === 0) return
    await this.#inFlight.settle(signal)
    signal.throwIfAborted()
    const chunk = this.#chunk
    this.#chunk = new Chunk()
    this.#inFlight.start(chunk, stillOpen => this.#send(chunk, stillOpen))
  }

  /** Wait for the chunk in flight. @throws why the run has to stop; the signal's reason */
  async settle(signal: AbortSignal): Promise<void> {
    await this.#inFlight.settle(signal)
  }

  /** On the way out. @returns records whose outcome nobody will learn; null = none */
  async settleLast(): Promise<Unsettled | null> {
    return this.#inFlight.settleLast(this.#deps.clock)
  }

  /** Tokens for one record. When there are none the chunk goes out first: nothing waits inside a chunk. */
  async #tokens(bytes: number, signal: AbortSignal): Promise<void> {
    const {clock, state} = this.#deps
    while (!this.#throttle.tryTake(bytes)) {
      await this.flush(signal)
      const from = clock.monotonic()
      await this.#throttle.wait({signal})
      state.throttledMs += clock.monotonic() - from
    }
  }

  /** A chunk, then the copies of what its target refused: in transactions of their own, as nothing waits inside one. */
  async #send(chunk: Chunk, stillOpen: (entries: readonly ChunkEntry[]) => void): Promise<void> {
    const {state, errors} = this.#deps
    const waiting: Chunk[] = [chunk]
    let exceeded = false
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      state.chunks++
      const outcomes = await this.#writer.write(next, {signal: this.#inFlight.gaveUp})
      if (this.#inFlight.gaveUp.aborted) return
      const written = errors.written(outcomes)
      exceeded ||= written.exceeded
      waiting.push(...this.#chunksOf(written.copies))
      const unreachable = unreachableBy(outcomes)
      stillOpen(unreachable === null ? entriesOf(waiting) : [])
      this.#count(next, written.settled)
      if (unreachable !== null) throw unreachable
    }
    if (exceeded) throw new Stop('errors-tolerance')
    const {maxFailed} = this.#input
    if (maxFailed !== null && state.refused > Math.max(maxFailed, this.#refusedBefore)) throw new Stop('max-failed')
  }

  #chunksOf(copies: readonly ParkedCopy[]): readonly Chunk[] {
    const chunks: Chunk[] = []
    const most = batchBytes(this.#input.plan.parking)
    for (const {place, entry, record, bytes} of copies) {
      let chunk = chunks.at(-1)
      if (chunk === undefined || chunk.isFull(CHUNK_LIMITS, place, most, bytes)) {
        chunk = new Chunk()
        chunks.push(chunk)
      }
      chunk.park(place, entry, record)
    }
    return chunks
  }

  #count(chunk: Chunk, outcomes: readonly RecordOutcome[]): void {
    const {state, onProgress} = this.#deps
    const bytesPerRecord = chunk.bytes / Math.max(1, chunk.records)
    for (const outcome of outcomes) {
      state.outcome(outcome)
      if (outcome.state === 'replayed') state.bytesReplayed += bytesPerRecord
    }
    const {selected, replayed, parked, failed} = state.counts()
    onProgress?.({done: selected, total: this.#input.plan.counts.selected, replayed, parked, failed})
  }
}

/** Why the run ends when nothing at all came back; null = something did. */
function unreachableBy(outcomes: readonly RecordOutcome[]): Stop | null {
  const [first] = outcomes
  if (first === undefined || isWritten(first) || !outcomes.every(isOutOfReach)) return null
  return new Stop('target-unreachable', targetUnreachable(first.error))
}

function batchBytes(facts: TargetFacts | null): number {
  return Math.min(BATCH_BYTES, facts?.maxMessageBytes ?? BATCH_BYTES)
}
