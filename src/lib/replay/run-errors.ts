import type {Clock} from '../clock.ts'
import type {RandomSource} from '../connect-engine/backoff.ts'
import {RetryWithToleranceOperator} from '../connect-engine/engine.ts'
import {ConnectException, isConnectRetriable, isJavaError} from '../connect-engine/errors.ts'
import {consumedRecordText, LogReporter} from '../connect-engine/log-reporter.ts'
import {ErrorHandlingMetrics} from '../connect-engine/metrics.ts'
import type {MetricsSnapshot} from '../connect-engine/metrics.ts'
import {ProcessingContext} from '../connect-engine/processing-context.ts'
import type {LogSink} from '../connect-engine/reporter.ts'
import type {Stage} from '../connect-engine/stage.ts'
import {BugError, isKdlqError, KafkaError, RecordError, UnreachableError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {isWritten} from './chunk.ts'
import type {ChunkEntry, RecordOutcome, Unwritten} from './chunk.ts'
import {isNotTried} from './ledger-outcomes.ts'
import type {ParkedCopy} from './parked-copy.ts'
import {FailedLetter, ParkingReporter} from './parking-reporter.ts'
import type {ReplayPlan} from './plan.ts'
import {produceException} from './produce-exception.ts'
import {orAbort} from './race.ts'

/** Stand for the classes that failed, in headers and log: what kdlq runs at a stage has no Java name. */
const TRANSFORMATION_CLASS = 'kdlq.replay.Transformation'
const PRODUCE_CLASS = 'kdlq.replay.Producer'
const CONVERTERS = {
  key: {stage: 'KEY_CONVERTER', className: 'kdlq.replay.KeyConverter'},
  value: {stage: 'VALUE_CONVERTER', className: 'kdlq.replay.ValueConverter'},
} as const

/** What the error handling of a run works with. */
export interface RunErrorsDeps {
  readonly clock: Clock
  /** Jitter of retries; absent = the runtime's random numbers. */
  readonly random?: RandomSource | undefined
  /** Where failures are logged, if the plan says so. */
  readonly onErrorLogged?: LogSink | undefined
}

/** What became of one stage. */
export type StageOutcome<V> =
  | {readonly kind: 'done'; readonly value: V}
  /** `copy` null = nobody parks it. `exceeded`: nothing is tolerated, the run has to stop. */
  | {readonly kind: 'failed'; readonly error: KdlqError; readonly copy: ParkedCopy | null; readonly exceeded: boolean}

/** What became of a chunk. */
export interface WrittenChunk {
  /** Outcomes that are final. */
  readonly settled: readonly RecordOutcome[]
  /** Copies of the others, to be written next. */
  readonly copies: readonly ParkedCopy[]
  /** Nothing is tolerated: the run has to stop. */
  readonly exceeded: boolean
}

/**
 * Error handling of one run, on Connect's engine: stages, the log, and copies for the parking topic in the part of the dead
 * letter queue. The run writes the copies, with their ledger entries.
 */
export class RunErrors {
  readonly #plan: ReplayPlan
  readonly #metrics: ErrorHandlingMetrics
  readonly #engine: RetryWithToleranceOperator<KafkaRecord>
  /** For what concerns no single record. */
  readonly #asking: RetryWithToleranceOperator<KafkaRecord>
  readonly #parking: ParkingReporter | null

  constructor(deps: RunErrorsDeps, {plan, run}: {readonly plan: ReplayPlan; readonly run: string}) {
    const {clock, random, onErrorLogged} = deps
    const {errors} = plan
    const log = onErrorLogged ?? (() => undefined)
    const task = {connector: run, task: 0}
    const metrics = new ErrorHandlingMetrics({...task, clock})
    this.#plan = plan
    this.#metrics = metrics
    const config = {
      retryTimeoutMs: BigInt(errors.retryTimeoutMs),
      retryDelayMaxMs: BigInt(errors.retryDelayMaxMs),
      tolerance: errors.tolerance,
    }
    const options = {clock, config, metrics, ...(random === undefined ? {} : {random})}
    this.#engine = new RetryWithToleranceOperator(options)
    this.#asking = new RetryWithToleranceOperator({
      ...options,
      config: {...config, tolerance: 'none'},
      metrics: new ErrorHandlingMetrics({...task, clock}),
    })
    const logReporter = new LogReporter<KafkaRecord>({
      ...task,
      enabled: errors.log && onErrorLogged !== undefined,
      includeMessages: errors.logIncludeMessages,
      metrics,
      log,
      describe: consumedRecordText,
    })
    this.#parking = plan.parking === null ? null : new ParkingReporter({facts: plan.parking, clock, metrics, ...task})
    this.#engine.setReporters(this.#parking === null ? [logReporter] : [logReporter, this.#parking])
  }

  /** Of this process. */
  get metrics(): MetricsSnapshot {
    return this.#metrics.snapshot()
  }

  /** What has to be kept of a dead letter for the case that it fails. */
  keep(letter: KafkaRecord): Pick<ChunkEntry, 'letter' | 'parks'> {
    const {errors} = this.#plan
    // Only an archive that was written by hand can hold such a time; to Kafka it is none.
    const timed = letter.timestamp !== null && letter.timestamp < 0n ? {...letter, timestamp: null} : letter
    if (this.#parking !== null) return {letter: timed, parks: true}
    if (!errors.log || !errors.logIncludeMessages) return {letter: null, parks: false}
    // The log tells where it is and when it was written, nothing else.
    return {letter: {...timed, key: null, value: null, headers: []}, parks: false}
  }

  /**
   * The stage TRANSFORMATION. No promise unless the operation is tried again (or returns one).
   * @throws what is no failure of the record, as it is (a bug of ours)
   */
  transform<V extends object>(
    entry: ChunkEntry,
    operation: () => V | Promise<V>,
  ): StageOutcome<V> | Promise<StageOutcome<V>> {
    return this.#execute(entry, operation, 'TRANSFORMATION', TRANSFORMATION_CLASS)
  }

  /** The stage KEY_CONVERTER or VALUE_CONVERTER; as `transform`. */
  convert<V extends object>(
    entry: ChunkEntry,
    part: 'key' | 'value',
    operation: () => V | Promise<V>,
  ): StageOutcome<V> | Promise<StageOutcome<V>> {
    const {stage, className} = CONVERTERS[part]
    return this.#execute(entry, operation, stage, className)
  }

  #execute<V extends object>(
    entry: ChunkEntry,
    operation: () => V | Promise<V>,
    stage: Stage,
    className: string,
  ): StageOutcome<V> | Promise<StageOutcome<V>> {
    const context = new FailedLetter(entry, null)
    let value: V | null | Promise<V | null>
    try {
      value = this.#engine.execute(context, operation, stage, className)
    } catch (thrown) {
      return stageFailed(context, thrown)
    }
    if (!(value instanceof Promise)) return stageEnded(context, value)
    return value.then(
      late => stageEnded(context, late),
      (thrown: unknown) => stageFailed(context, thrown),
    )
  }

  /**
   * Repeat what concerns no single record as long as the plan's retries allow. Counts and reports nothing.
   * @throws UnreachableError for a RetriableException that stays; the signal's reason, without waiting
   */
  async ask(operation: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const asked = this.#ask(operation)
    // Owned by nobody once the run was told to stop.
    asked.catch(() => undefined)
    await orAbort(asked, signal)
  }

  async #ask(operation: () => Promise<void>): Promise<void> {
    try {
      await this.#asking.execute(new ProcessingContext<KafkaRecord>(null), operation, 'VALUE_CONVERTER', null)
    } catch (thrown) {
      const cause = thrown instanceof ConnectException ? thrown.cause : thrown
      if (!isConnectRetriable(cause)) throw thrown
      throw new UnreachableError(cause instanceof Error ? cause.message : String(cause), {
        code: 'E_REGISTRY',
        hints: ['resume when the registry answers, or give it time with --errors-retry-timeout'],
        cause,
      })
    }
  }

  /** Give up whatever is being tried again, unreported: the run ends before the record was done. */
  stop(): void {
    this.#engine.setReporters([])
    this.#engine.triggerStop()
    this.#asking.triggerStop()
  }

  /** Report what the target refused, at KAFKA_PRODUCE. */
  written(outcomes: readonly RecordOutcome[]): WrittenChunk {
    const settled: RecordOutcome[] = []
    const copies: ParkedCopy[] = []
    let exceeded = false
    for (const outcome of outcomes) {
      if (outcome.entry.parking !== undefined) settled.push(this.#parked(outcome))
      else if (outcome.state !== 'failed') settled.push(outcome)
      else {
        const context = new FailedLetter(outcome.entry, outcome.error)
        exceeded = this.#report(context, outcome) || exceeded
        if (context.copy === null) settled.push(outcome)
        else copies.push(context.copy)
      }
    }
    return {settled, copies, exceeded}
  }

  /** @returns true when the failure is not tolerated */
  #report(context: FailedLetter, {error}: Unwritten): boolean {
    try {
      this.#engine.executeFailed(context, 'KAFKA_PRODUCE', PRODUCE_CLASS, produceException(error))
      return false
    } catch (thrown) {
      if (thrown instanceof ConnectException) return true
      throw thrown
    }
  }

  /** The outcome of a copy, told to its reporter and in words that say what it was about. */
  #parked(outcome: RecordOutcome): RecordOutcome {
    const {entry} = outcome
    if (isWritten(outcome)) {
      this.#parking?.settle(entry, null)
      return outcome
    }
    const {error} = outcome
    this.#parking?.settle(entry, produceException(error))
    if (outcome.state === 'unknown' || isNotTried(outcome)) return outcome
    const what = `${entry.parking?.message ?? ''}; and could not be parked: ${error.message}`
    return {...outcome, error: new KafkaError(what, {code: 'E_NOT_PARKED', context: error.context, cause: error})}
  }
}

function stageEnded<V>(context: FailedLetter, value: V | null): StageOutcome<V> {
  const {error, copy} = context
  if (error !== null) return {kind: 'failed', error: toKdlqError(error), copy, exceeded: false}
  if (value === null) throw new BugError('a stage gave nothing and reported nothing')
  return {kind: 'done', value}
}

/** Thrown out of the engine: the tolerance was exceeded, or it is nothing that the engine handles. */
function stageFailed<V>(context: FailedLetter, thrown: unknown): StageOutcome<V> {
  const {error, copy} = context
  if (error === null || isJavaError(thrown) || !(thrown instanceof ConnectException)) throw thrown
  return {kind: 'failed', error: toKdlqError(error), copy, exceeded: true}
}

function toKdlqError(error: Error): KdlqError {
  return isKdlqError(error) ? error : new RecordError(error.message, {code: 'E_TRANSFORMATION', cause: error})
}
