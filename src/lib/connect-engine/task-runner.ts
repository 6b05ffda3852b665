import type {Clock} from '../clock.ts'
import type {RandomSource} from './backoff.ts'
import type {ConnectorKind} from './config-definitions.ts'
import {type ConnectorProperties, type ErrorHandlingConfig, parseErrorHandlingConfig} from './config.ts'
import type {Converter, HeaderConverter} from './data.ts'
import {RetryWithToleranceOperator} from './engine.ts'
import {ErrorHandlingMetrics} from './metrics.ts'
import type {EngineSwitches, Profile} from './options.ts'
import type {LogSink} from './reporter.ts'
import {TaskLifecycle, type TaskStatus} from './task-lifecycle.ts'
import type {TransformationStage} from './transforms/transformation.ts'

/** What runners of sink and source tasks take alike. */
export interface TaskRunnerOptions {
  readonly connector: string
  /** Task number. */
  readonly task: number
  /** The connector's properties; the `errors.*` keys count here, the task gets all. */
  readonly properties: ConnectorProperties
  readonly keyConverter: Converter
  readonly valueConverter: Converter
  readonly headerConverter: HeaderConverter
  readonly transformations?: readonly TransformationStage[]
  readonly clock: Clock
  readonly log: LogSink
  readonly random?: RandomSource
  readonly profile?: Profile
  readonly switches?: EngineSwitches
  /** `offset.flush.interval.ms` of the worker; 60,000 when absent. Offsets are committed between two polls. */
  readonly offsetFlushIntervalMs?: number
}

/**
 * What runs a task of either kind: its engine, and what may happen to it from outside.
 * @see Connect's WorkerTask
 */
export abstract class TaskRunner<T> {
  readonly metrics: ErrorHandlingMetrics
  readonly operator: RetryWithToleranceOperator<T>
  protected readonly config: ErrorHandlingConfig
  protected readonly lifecycle: TaskLifecycle
  protected readonly flushIntervalMs: number
  readonly #transformations: readonly TransformationStage[]

  /**
   * @param kind.name of the task's class in Connect, for the log
   * @throws ConfigException for properties that Connect could not parse
   */
  protected constructor(options: TaskRunnerOptions, kind: {readonly connector: ConnectorKind; readonly name: string}) {
    const {connector, task, properties, clock, random, profile, switches, log} = options
    this.config = parseErrorHandlingConfig(properties, {kind: kind.connector, profile})
    this.metrics = new ErrorHandlingMetrics({connector, task, clock})
    this.operator = new RetryWithToleranceOperator<T>({
      clock,
      config: this.config,
      metrics: this.metrics,
      ...(random === undefined ? {} : {random}),
      ...(profile === undefined ? {} : {profile}),
      ...(switches === undefined ? {} : {switches}),
    })
    this.lifecycle = new TaskLifecycle({name: `${kind.name}{id=${connector}-${task}}`, log})
    this.flushIntervalMs = options.offsetFlushIntervalMs ?? 60_000
    this.#transformations = options.transformations ?? []
  }

  get status(): TaskStatus {
    return this.lifecycle.status
  }

  /** Run until `stop`, or until the task fails. Does not throw: the status says how it ended. */
  run(): Promise<TaskStatus> {
    return this.lifecycle.run({
      start: () => this.start(),
      execute: () => this.execute(),
      close: () => this.close(),
    })
  }

  /** End after the batch in hand; a back-off is waited for. */
  stop(): void {
    this.lifecycle.stop()
  }

  /** Give up a task that does not stop: back-offs end, offsets are not committed any more. */
  cancel(): void {
    this.lifecycle.cancel()
    this.operator.triggerStop()
  }

  /** Take no more records until `resume`. A sink goes on to commit offsets and to call `put`. */
  pause(): void {
    this.lifecycle.pause()
  }

  resume(): void {
    this.lifecycle.resume()
  }

  protected abstract start(): Promise<void>
  protected abstract execute(): Promise<void>
  /** Called whatever happened before. */
  protected abstract close(): Promise<void>

  /** Close what runs between the task and Kafka: all of it, though one throws. */
  protected async closePipeline(): Promise<void> {
    for (const {transformation} of this.#transformations) {
      await this.lifecycle.quietly('Could not close a transformation', () => transformation.close?.())
    }
    await this.lifecycle.quietly('Could not close the reporters', () => this.operator.close())
  }
}
