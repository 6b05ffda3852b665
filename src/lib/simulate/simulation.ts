import type {ErrorHandlingConfig} from '../connect-engine/config.ts'
import {InternalSinkRecord} from '../connect-engine/data.ts'
import {RetryWithToleranceOperator} from '../connect-engine/engine.ts'
import {WorkerErrantRecordReporter} from '../connect-engine/errant-record-reporter.ts'
import {ConnectException, isConnectRetriable, isJavaError} from '../connect-engine/errors.ts'
import {ErrorHandlingMetrics} from '../connect-engine/metrics.ts'
import type {MetricsSnapshot} from '../connect-engine/metrics.ts'
import type {Profile} from '../connect-engine/options.ts'
import {ProcessingContext} from '../connect-engine/processing-context.ts'
import {doneFuture} from '../connect-engine/report-future.ts'
import type {ErrorReporter} from '../connect-engine/reporter.ts'
import type {DeadLetter} from '../dead-letter/model.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import type {AssumedFailure} from './assumed-failure.ts'
import type {SimulatedFate, SimulatedOutcome} from './outcome.ts'
import {VirtualClock} from './virtual-clock.ts'

/** One configuration to try. */
export interface SimulationOptions {
  readonly config: ErrorHandlingConfig
  readonly connector: string
  readonly profile: Profile
  /** How long what can be retried goes on failing, ms from the first such failure on; null = for ever. */
  readonly recoversAfterMs: number | null
}

/** JSON as it is. */
export interface SimulationTotals {
  readonly records: number
  readonly fates: Readonly<Record<SimulatedFate, number>>
  /** Time in which the task waited, ms; null = it never got past a record. */
  readonly blockedMs: number | null
  /** The record that ends the task, or blocks it for ever; null = none does. */
  readonly stoppedAt: string | null
  /** Records behind it, which the task does not read. */
  readonly notReached: number
  /** Of the task up to there, by Connect's names. */
  readonly metrics: MetricsSnapshot
}

/** Attempts at one record that are really made; the others before its deadline change nothing but a count. */
const MOST_ATTEMPTS = 10_000

/** Runs Connect's engine over failures that are assumed, with one configuration. */
export class Simulation {
  readonly #options: SimulationOptions
  readonly #clock = new VirtualClock()
  readonly #fates: Record<SimulatedFate, number> = {
    processed: 0,
    'dead-lettered': 0,
    skipped: 0,
    'kills-task': 0,
    'blocks-forever': 0,
  }
  #task: SimulatedTask
  #records = 0
  #notReached = 0
  /** Of the first task; null = for ever. */
  #blockedMs: number | null = 0
  #stoppedAt: string | null = null
  /** Of the first task, as it ended. */
  #metrics: MetricsSnapshot | null = null
  /** By the virtual clock; null = nothing that can be retried has failed yet. */
  #outageSince: number | null = null

  constructor(options: SimulationOptions) {
    this.#options = options
    this.#task = new SimulatedTask(options, this.#clock)
  }

  /**
   * The next record. Behind one that ends the task, each is judged by itself, as by a task that was started behind it.
   * @param failure null = nothing fails
   */
  async take(letter: DeadLetter, failure: AssumedFailure | null): Promise<SimulatedOutcome> {
    this.#records++
    if (this.#stoppedAt !== null) this.#notReached++
    const outcome = await this.#judge(letter.record, failure)
    this.#fates[outcome.fate]++
    if (this.#stoppedAt === null && this.#blockedMs !== null) {
      this.#blockedMs = outcome.blockedMs === null ? null : this.#blockedMs + outcome.blockedMs
    }
    if (outcome.fate === 'kills-task' || outcome.fate === 'blocks-forever') {
      this.#metrics ??= this.#task.metrics.snapshot()
      this.#stoppedAt ??= letter.address
      this.#task = new SimulatedTask(this.#options, this.#clock)
    }
    return outcome
  }

  totals(): SimulationTotals {
    return {
      records: this.#records,
      fates: {...this.#fates},
      blockedMs: this.#blockedMs,
      stoppedAt: this.#stoppedAt,
      notReached: this.#notReached,
      metrics: this.#metrics ?? this.#task.metrics.snapshot(),
    }
  }

  async #judge(record: KafkaRecord, failure: AssumedFailure | null): Promise<SimulatedOutcome> {
    if (failure === null) return processed(null, 0, 'nothing is known to fail')
    const {config, recoversAfterMs} = this.#options
    if (failure.stage === 'TASK_PUT') return this.#report(record, failure)
    const isRetriable = isConnectRetriable(failure.error)
    if (isRetriable) this.#outageSince ??= this.#clock.now()
    if (isRetriable && recoversAfterMs === null && config.retryTimeoutMs < 0n) {
      const why = `errors.retry.timeout=${config.retryTimeoutMs} tries again without end`
      return {
        fate: 'blocks-forever',
        stage: failure.stage,
        attempts: null,
        blockedMs: null,
        deadLetter: false,
        logged: false,
        why,
      }
    }
    if (isJavaError(failure.error)) {
      const why = `${failure.error.className} is no exception: it is neither tolerated nor reported`
      return {
        fate: 'kills-task',
        stage: failure.stage,
        attempts: 1,
        blockedMs: 0,
        deadLetter: false,
        logged: false,
        why,
      }
    }
    const before = this.#clock.now()
    const recoversAt = recoversAfterMs === null || !isRetriable ? null : (this.#outageSince ?? before) + recoversAfterMs
    let attempts = 0
    const operation = (): true => {
      attempts++
      if (recoversAt !== null && this.#clock.now() >= recoversAt) return true
      if (attempts >= MOST_ATTEMPTS) this.#clock.advance(Number(config.retryTimeoutMs))
      throw failure.error
    }
    const context = new ProcessingContext<KafkaRecord>(record)
    const died = await this.#task.run(async () => {
      await this.#task.operator.execute(context, operation, failure.stage, failure.stage)
    })
    const blockedMs = this.#clock.now() - before
    if (!context.failed) return processed(attempts, blockedMs, `it went through at attempt ${attempts}`, failure.stage)
    return this.#failed(failure, {died, attempts, blockedMs})
  }

  /** The task has the record and cannot write it. */
  async #report(record: KafkaRecord, failure: AssumedFailure): Promise<SimulatedOutcome> {
    const {config} = this.#options
    if (!config.offersErrantRecordReporter) {
      const why = 'without a dead letter topic and without a log there is nobody to report to: the task throws'
      return {
        fate: 'kills-task',
        stage: 'TASK_PUT',
        attempts: null,
        blockedMs: 0,
        deadLetter: false,
        logged: false,
        why,
      }
    }
    const died = await this.#task.run(async () => {
      this.#task.reporter.report(toSinkRecord(record), failure.error)
    })
    return this.#failed(failure, {died, attempts: null, blockedMs: 0})
  }

  #failed(
    {stage}: AssumedFailure,
    facts: {readonly died: ConnectException | null; readonly attempts: number | null; readonly blockedMs: number},
  ): SimulatedOutcome {
    const {died, attempts, blockedMs} = facts
    const {config} = this.#options
    const told = {stage, attempts, blockedMs, deadLetter: config.usesDlq, logged: config.logEnable}
    const tries = attempts === null || attempts === 1 ? '' : ` after ${attempts} attempts`
    if (died !== null) return {fate: 'kills-task', ...told, why: `${died.message}${tries}`}
    if (config.usesDlq) return {fate: 'dead-lettered', ...told, why: `written to ${config.dlqTopicName}${tries}`}
    const trace = config.logEnable ? 'only the log tells of it' : 'nothing tells of it'
    return {fate: 'skipped', ...told, why: `tolerated${tries}, and there is no dead letter topic: ${trace}`}
  }
}

function processed(
  attempts: number | null,
  blockedMs: number,
  why: string,
  stage: AssumedFailure['stage'] | null = null,
): SimulatedOutcome {
  return {fate: 'processed', stage, attempts, blockedMs, deadLetter: false, logged: false, why}
}

/** A task between its start and its end: its own counters and its own tolerance. */
class SimulatedTask {
  readonly metrics: ErrorHandlingMetrics
  readonly operator: RetryWithToleranceOperator<KafkaRecord>
  readonly reporter: WorkerErrantRecordReporter

  constructor({config, connector, profile}: SimulationOptions, clock: VirtualClock) {
    this.metrics = new ErrorHandlingMetrics({connector, task: 0, clock})
    // The mean of what Connect draws: two simulations give the same answer.
    const random = (bound: bigint): bigint => bound / 2n
    this.operator = new RetryWithToleranceOperator<KafkaRecord>({clock, config, metrics: this.metrics, random, profile})
    this.operator.setReporters([countingReporter(config, this.metrics)])
    const unused = (): never => {
      throw new ConnectException('a simulated record is never made by a task')
    }
    this.reporter = new WorkerErrantRecordReporter({
      operator: this.operator,
      keyConverter: {fromConnectData: unused},
      valueConverter: {fromConnectData: unused},
      headerConverter: {fromConnectHeader: unused},
      log: () => undefined,
    })
  }

  /** @returns what ended the task; null = it lives */
  async run(work: () => Promise<void>): Promise<ConnectException | null> {
    try {
      await work()
      return null
    } catch (error) {
      if (error instanceof ConnectException) return error
      throw error
    }
  }
}

/** Counts what the configured reporters would have written. */
function countingReporter(config: ErrorHandlingConfig, metrics: ErrorHandlingMetrics): ErrorReporter<KafkaRecord> {
  return {
    report() {
      if (config.logEnable) metrics.recordErrorLogged()
      if (config.usesDlq) metrics.recordDeadLetterQueueProduceRequest()
      return doneFuture()
    },
    close: () => undefined,
  }
}

function toSinkRecord(record: KafkaRecord): InternalSinkRecord {
  const {topic, partition, offset, timestamp, timestampType} = record
  const empty = {keySchema: null, key: null, valueSchema: null, value: null, headers: []}
  return new InternalSinkRecord(new ProcessingContext(record), {
    topic,
    partition,
    offset,
    timestamp,
    timestampType,
    ...empty,
  })
}
