import {backoffDelay, deadlineOf, systemRandom} from './backoff.ts'
import type {RandomSource} from './backoff.ts'
import {ConnectException, isConnectRetriable, isJavaError, toError} from './errors.ts'
import type {ErrorHandlingMetrics} from './metrics.ts'
import {checkRanges, DEFAULT_PROFILE, resolveSwitches} from './options.ts'
import type {EngineSwitches, Profile, ResolvedSwitches, Tolerance} from './options.ts'
import type {ProcessingContext} from './processing-context.ts'
import {awaitReports, CompositeFuture, doneFuture, PendingReports} from './report-future.ts'
import type {ReportFuture, TopicPartition} from './report-future.ts'
import type {ErrorReporter} from './reporter.ts'
import {STAGE_RULES} from './stage.ts'
import type {Stage} from './stage.ts'

/** Time for the engine; kdlq's Clock is one. */
export interface EngineClock {
  /** Epoch ms, whole. */
  now(): number | bigint
  sleep(delayMs: number, options?: {signal?: AbortSignal | undefined}): Promise<void>
}

/** Waits up to `delayMs` (zero or less: not at all); ends early, without throwing, when `stop` aborts. */
export type Wait = (delayMs: bigint, stop: AbortSignal) => Promise<void>

/** The part of `errors.*` that the engine itself obeys. */
export interface EngineConfig {
  /** `errors.retry.timeout` in ms: 0 = no retries, negative = for ever. */
  readonly retryTimeoutMs: bigint | number
  /** `errors.retry.delay.max.ms`. */
  readonly retryDelayMaxMs: bigint | number
  /** `errors.tolerance`. */
  readonly tolerance: Tolerance
}

/** What an engine works with. */
export interface EngineOptions {
  readonly clock: EngineClock
  readonly config: EngineConfig
  readonly metrics: ErrorHandlingMetrics
  /** Jitter; absent = the runtime's random numbers. */
  readonly random?: RandomSource
  /** How to wait between attempts; absent = by the clock. */
  readonly wait?: Wait
  /** Absent = P4x. */
  readonly profile?: Profile
  readonly switches?: EngineSwitches
}

/** One call of `execute` whose first attempt did not just answer. */
interface Run<T, V> {
  readonly context: ProcessingContext<T>
  readonly operation: () => V | Promise<V>
  readonly stage: Stage
  /** Epoch ms. */
  readonly start: number | bigint
}

const UNHANDLED = 'Unhandled exception in error handler'
const TOLERANCE_EXCEEDED = 'Tolerance exceeded in error handler'

/** Code of the error that ends a task because of `errors.tolerance=none`. */
export const E_TOLERANCE_EXCEEDED = 'E_TOLERANCE_EXCEEDED'

/**
 * Runs the operations of one task: tries again what may be tried again, gives up what failed for good, counts and reports
 * it, and skips the record or ends the task as the tolerance says. Original records are `T` (raw for a sink, as polled for a
 * source).
 * @see KIP-298; Connect's RetryWithToleranceOperator
 */
export class RetryWithToleranceOperator<T> {
  readonly metrics: ErrorHandlingMetrics
  readonly profile: Profile
  readonly switches: ResolvedSwitches
  readonly #clock: EngineClock
  readonly #random: RandomSource
  readonly #wait: Wait
  readonly #retryTimeoutMs: bigint
  readonly #retryDelayMaxMs: bigint
  readonly #tolerance: Tolerance
  readonly #stop = new AbortController()
  readonly #converterReports = new PendingReports()
  #reporters: readonly ErrorReporter<T>[] = []
  #totalFailures = 0

  /** @throws ConfigError with the switch `validateRanges`, for a delay below 1 or a timeout below -1 */
  constructor({clock, config, metrics, random, wait, profile, switches}: EngineOptions) {
    this.metrics = metrics
    this.profile = profile ?? DEFAULT_PROFILE
    this.switches = resolveSwitches(this.profile, switches)
    this.#clock = clock
    this.#random = random ?? systemRandom
    this.#wait = wait ?? ((delayMs, stop) => waitByClock(clock, delayMs, stop))
    this.#retryTimeoutMs = BigInt(config.retryTimeoutMs)
    this.#retryDelayMaxMs = BigInt(config.retryDelayMaxMs)
    this.#tolerance = config.tolerance
    if (this.switches.validateRanges) {
      checkRanges({retryTimeoutMs: this.#retryTimeoutMs, retryDelayMaxMs: this.#retryDelayMaxMs})
    }
  }

  /**
   * Run one operation on a record, as often as the retry settings allow.
   *
   * Answers at once (no promise) when the operation does and nothing has to be waited for.
   * @param operation may run more than once
   * @returns its value; null also when the record was given up (`context.failed`), now or earlier
   * @throws ConnectException when the error is not tolerable at this stage, or the tolerance is exceeded; what a reporter
   * throws instead; errors of the family `error` as they are
   */
  execute<V>(
    context: ProcessingContext<T>,
    operation: () => V | Promise<V>,
    stage: Stage,
    executingClass: string | null,
  ): V | null | Promise<V | null> {
    context.stage = stage
    context.executingClass = executingClass
    if (context.error !== null) return null
    const start = this.#clock.now()
    let outcome: V | Promise<V>
    try {
      outcome = operation()
    } catch (thrown) {
      return this.#firstAttemptFailed({context, operation, stage, start}, thrown)
    }
    if (isPromise(outcome)) return this.#firstAttemptPending({context, operation, stage, start}, outcome)
    context.attempt = 1
    return this.#returned(context, outcome)
  }

  /**
   * Count and report a failure that is a fact already, at a stage that the engine does not run itself.
   * @param error null = the caller does not say why
   * @returns the outcome of the reports
   * @throws ConnectException when the tolerance is exceeded; the record was reported all the same
   */
  executeFailed(
    context: ProcessingContext<T>,
    stage: Stage,
    executingClass: string | null,
    error: Error | null,
  ): ReportFuture {
    this.#markAsFailed()
    context.stage = stage
    context.executingClass = executingClass
    context.error = error
    this.metrics.recordFailure()
    const future = this.report(context)
    if (!this.withinToleranceLimits()) {
      this.metrics.recordError()
      throw toleranceExceeded(error)
    }
    return future
  }

  /**
   * Tell all reporters, in order, without a wait in between; one that throws ends it.
   * @returns the outcome of those that are not done yet (several reporters), or of the only one
   */
  report(context: ProcessingContext<T>): ReportFuture {
    const [only] = this.#reporters
    if (only === undefined) return doneFuture()
    if (this.#reporters.length === 1) return new CompositeFuture([only.report(context)])
    const futures = this.#reporters.map(reporter => reporter.report(context))
    const kept = this.switches.surfaceSyncDlqFailure
      ? futures.filter(future => future.state !== 'done')
      : futures.filter(future => !future.isDone)
    return kept.length === 0 ? doneFuture() : new CompositeFuture(kept)
  }

  /** False once something was given up or reported and nothing is tolerated. */
  withinToleranceLimits(): boolean {
    return this.#tolerance === 'all' || this.#totalFailures === 0
  }

  /** What ends a task that went beyond its tolerance. */
  toleranceExceeded(error: Error | null): ConnectException {
    return toleranceExceeded(error)
  }

  /** End the wait of this moment and all later ones: whatever backs off is given up. Healthy records still pass. */
  triggerStop(): void {
    this.#stop.abort()
  }

  /** Who is told from now on. */
  setReporters(reporters: readonly ErrorReporter<T>[]): void {
    this.#reporters = [...reporters]
  }

  /**
   * Wait for the dead letters of converters and transforms; does nothing without the switch `awaitConverterDlq`.
   * @throws ConnectException around the first one that failed
   */
  async awaitReports(partitions: Iterable<TopicPartition>): Promise<void> {
    await awaitReports(this.#converterReports.take(partitions))
  }

  /**
   * Close every reporter; later reports go nowhere.
   * @throws ConnectException with what the reporters threw as suppressed errors
   */
  async close(): Promise<void> {
    const reporters = this.#reporters
    this.#reporters = []
    const suppressed: unknown[] = []
    for (const reporter of reporters) {
      try {
        await reporter.close()
      } catch (error) {
        suppressed.push(error)
      }
    }
    if (suppressed.length > 0) throw new ConnectException('Failed to close all reporters', {suppressed})
  }

  /**
   * Wait before the attempt after `attempt`; ends early on a stop.
   * @param deadline epoch ms
   * @throws JavaException (IllegalArgumentException) for a maximum delay below 1
   */
  async backoff(attempt: number, deadline: bigint): Promise<void> {
    const maxDelayMs = this.#retryDelayMaxMs
    const delay = backoffDelay(attempt, deadline, {maxDelayMs, random: this.#random, now: () => this.#now()})
    await this.#wait(delay, this.#stop.signal)
  }

  /** As Connect prints its operator. */
  toString(): string {
    const settings = `errorRetryTimeout=${this.#retryTimeoutMs}, errorMaxDelayInMillis=${this.#retryDelayMaxMs}`
    const state = `errorToleranceType=${this.#tolerance.toUpperCase()}, totalFailures=${this.#totalFailures}`
    return `RetryWithToleranceOperator{${settings}, ${state}, time=${this.#clock.constructor.name}}`
  }

  #now(): bigint {
    return BigInt(this.#clock.now())
  }

  #firstAttemptFailed<V>(run: Run<T, V>, thrown: unknown): V | null | Promise<V | null> {
    const {context, start} = run
    context.attempt = 1
    if (!isConnectRetriable(thrown)) return this.#threw(run, thrown)
    this.metrics.recordFailure()
    const deadline = deadlineOf(BigInt(start), this.#retryTimeoutMs)
    const error = toError(thrown)
    return this.#now() < deadline ? this.#retry(run, deadline, error) : this.#outOfTime(run, error)
  }

  async #firstAttemptPending<V>(run: Run<T, V>, outcome: Promise<V>): Promise<V | null> {
    let value: V
    try {
      value = await outcome
    } catch (thrown) {
      return this.#firstAttemptFailed(run, thrown)
    }
    run.context.attempt = 1
    return this.#returned(run.context, value)
  }

  /** From the first failure on, with time left. */
  async #retry<V>(run: Run<T, V>, deadline: bigint, firstError: Error): Promise<V | null> {
    const {context, operation} = run
    let error = firstError
    for (let attempt = 1; ;) {
      try {
        await this.backoff(attempt, deadline)
      } catch (thrown) {
        return this.#threw(run, thrown)
      }
      this.metrics.recordRetry()
      if (this.#stop.signal.aborted) return this.#givenUpQuietly(context, error)
      attempt++
      let value: V
      try {
        value = await operation()
      } catch (thrown) {
        context.attempt = attempt
        if (!isConnectRetriable(thrown)) return this.#threw(run, thrown)
        this.metrics.recordFailure()
        error = toError(thrown)
        if (this.#now() < deadline) continue
        return this.#outOfTime(run, error)
      }
      context.attempt = attempt
      return this.#returned(context, value)
    }
  }

  /** The operation came back; it may have had its own record reported as failed. */
  #returned<V>(context: ProcessingContext<T>, value: V): V | null {
    return context.error === null ? value : this.#givenUpQuietly(context, context.error)
  }

  #outOfTime<V>(run: Run<T, V>, error: Error): null {
    return this.switches.retriableObeysTolerance ? this.#threw(run, error) : this.#givenUpQuietly(run.context, error)
  }

  /** Given up inside the retry loop: skipped whatever the tolerance. */
  #givenUpQuietly(context: ProcessingContext<T>, error: Error): null {
    context.error = error
    this.#markAsFailed()
    this.metrics.recordSkipped()
    this.#reportFailed(context)
    return null
  }

  /** An exception left the retry loop: the stage and the tolerance decide. */
  #threw<V>({context, stage}: Run<T, V>, thrown: unknown): null {
    if (isJavaError(thrown)) {
      // The operation may have had its own record reported as failed before.
      if (context.error !== null) this.#reportFailed(context)
      throw thrown
    }
    const error = toError(thrown)
    this.metrics.recordFailure()
    this.#markAsFailed()
    context.error = error
    const failure = this.#verdict(stage, error)
    if (failure === null) this.metrics.recordSkipped()
    this.#reportFailed(context)
    if (failure !== null) throw failure
    return null
  }

  #verdict(stage: Stage, error: Error): ConnectException | null {
    const anyIsTolerable = STAGE_RULES[stage].tolerable === 'any-exception'
    if (!anyIsTolerable && !isConnectRetriable(error)) return new ConnectException(UNHANDLED, {cause: error})
    return this.withinToleranceLimits() ? null : toleranceExceeded(error)
  }

  /** Nobody waits for these reports, unless the switch says so. */
  #reportFailed(context: ProcessingContext<T>): void {
    this.metrics.recordError()
    const future = this.report(context)
    if (this.switches.awaitConverterDlq) fileByOriginal(this.#converterReports, context, future)
  }

  #markAsFailed(): void {
    this.metrics.recordErrorTimestamp()
    this.#totalFailures++
  }
}

/** Also a promise of another library. */
function isPromise<V>(outcome: V | Promise<V>): outcome is Promise<V> {
  return typeof outcome === 'object' && outcome !== null && 'then' in outcome && typeof outcome.then === 'function'
}

function toleranceExceeded(error: Error | null): ConnectException {
  const code = E_TOLERANCE_EXCEEDED
  return new ConnectException(TOLERANCE_EXCEEDED, error === null ? {code} : {code, cause: error})
}

/** Keeps a report under the partition of its record; a record without coordinates belongs to none. */
function fileByOriginal(pending: PendingReports, {original}: ProcessingContext<unknown>, future: ReportFuture): void {
  if (typeof original !== 'object' || original === null) return
  if (!('topic' in original) || typeof original.topic !== 'string') return
  if (!('partition' in original) || typeof original.partition !== 'number') return
  pending.file({topic: original.topic, partition: original.partition}, future)
}

/** Also a wait of nothing lets other work run: a stop has to be able to come through between endless attempts. */
async function waitByClock(clock: EngineClock, delayMs: bigint, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return
  const longest = BigInt(Number.MAX_SAFE_INTEGER)
  const delay = delayMs > longest ? longest : delayMs < 0n ? 0n : delayMs
  try {
    await clock.sleep(Number(delay), {signal: stop})
  } catch (error) {
    if (!stop.aborted) throw error
  }
}
