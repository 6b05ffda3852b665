import type {Clock} from '../clock.ts'
import {DeadLetterQueueReporter} from '../connect-engine/dead-letter-queue-reporter.ts'
import type {DeadLetterRecord} from '../connect-engine/dead-letter-queue-reporter.ts'
import {classNameOf} from '../connect-engine/errors.ts'
import type {ErrorHandlingMetrics} from '../connect-engine/metrics.ts'
import {ProcessingContext} from '../connect-engine/processing-context.ts'
import {doneFuture, SettableFuture} from '../connect-engine/report-future.ts'
import type {ReportFuture} from '../connect-engine/report-future.ts'
import type {ErrorReporter} from '../connect-engine/reporter.ts'
import {BugError, isKdlqError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import type {ChunkEntry, ParkingReason} from './chunk.ts'
import {isUntried} from './ledger-outcomes.ts'
import {parkedCopy} from './parked-copy.ts'
import type {ParkedCopy} from './parked-copy.ts'
import type {TargetFacts} from './target.ts'

/** One dead letter in the engine. */
export class FailedLetter extends ProcessingContext<KafkaRecord> {
  readonly entry: ChunkEntry
  /** What the target answered; null = it was not asked yet. */
  readonly refusal: KdlqError | null
  /** For the parking topic; null = nobody parks it. */
  copy: ParkedCopy | null = null

  constructor(entry: ChunkEntry, refusal: KdlqError | null) {
    super(entry.letter ?? null)
    this.entry = entry
    this.refusal = refusal
  }
}

/** What a parking reporter works with. */
export interface ParkingReporterOptions {
  readonly facts: TargetFacts
  readonly clock: Clock
  readonly metrics: ErrorHandlingMetrics
  /** Tells who parked it: the run's id. */
  readonly connector: string
  readonly task: number
}

/**
 * A dead letter queue reporter that hands its records to the run: they go out in the run's own transaction. A record that was
 * not refused, as nobody could be asked, is not reported: it is good.
 */
export class ParkingReporter implements ErrorReporter<KafkaRecord> {
  readonly #options: ParkingReporterOptions
  readonly #reporter: DeadLetterQueueReporter
  /** The one that is being reported. */
  #current: FailedLetter | null = null
  /** Reports whose copy is not acknowledged yet, by its entry. */
  readonly #open = new Map<ChunkEntry, SettableFuture>()

  constructor(options: ParkingReporterOptions) {
    const {facts, metrics, connector, task} = options
    this.#options = options
    this.#reporter = new DeadLetterQueueReporter({
      topic: facts.topic,
      connector,
      task,
      contextHeaders: true,
      metrics,
      // What cannot be parked is among the run's failures.
      log: () => undefined,
      producer: {send: record => this.#send(record), close: () => undefined},
    })
  }

  report(context: ProcessingContext<KafkaRecord>): ReportFuture {
    if (!(context instanceof FailedLetter)) throw new BugError('a record of another pipeline was reported')
    if (context.refusal !== null && isUntried(context.refusal)) return doneFuture()
    this.#current = context
    return this.#reporter.report(context)
  }

  /** Tell a report how its copy fared. @param error null = it was acknowledged */
  settle(entry: ChunkEntry, error: Error | null): void {
    const future = this.#open.get(entry)
    this.#open.delete(entry)
    if (error === null) future?.complete()
    else future?.fail(error)
  }

  async close(): Promise<void> {
    await this.#reporter.close()
  }

  #send(record: DeadLetterRecord): ReportFuture {
    const context = this.#current
    if (context === null) throw new BugError('a copy of no record')
    const {facts, clock} = this.#options
    const copy = parkedCopy(facts, context.entry, record, {reason: reasonOf(context), nowMs: BigInt(clock.now())})
    context.copy = copy
    const future = new SettableFuture()
    this.#open.set(copy.entry, future)
    return future
  }
}

function reasonOf({refusal, error}: FailedLetter): ParkingReason {
  const failure = refusal ?? error
  if (failure === null) throw new BugError('a record was parked without a reason')
  const code = isKdlqError(failure) ? failure.code : 'E_TRANSFORMATION'
  return {byPolicy: false, code, message: failure.message === '' ? classNameOf(failure) : failure.message}
}
