import type {Clock} from '../clock.ts'
import type {RandomSource} from './backoff.ts'
import type {ConnectorProperties, ErrorHandlingConfig} from './config.ts'
import type {Converter, HeaderConverter} from './data.ts'
import {RetryWithToleranceOperator} from './engine.ts'
import type {ErrorHandlingMetrics} from './metrics.ts'
import type {EngineSwitches, Profile} from './options.ts'
import type {LogSink} from './reporter.ts'
import type {TaskLifecycle} from './task-lifecycle.ts'
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

/** The engine of one task: its own waits, its own count of failures. */
export function taskOperator<T>(
  {clock, random, profile, switches}: TaskRunnerOptions,
  config: ErrorHandlingConfig,
  metrics: ErrorHandlingMetrics,
): RetryWithToleranceOperator<T> {
  return new RetryWithToleranceOperator<T>({
    clock,
    config,
    metrics,
    ...(random === undefined ? {} : {random}),
    ...(profile === undefined ? {} : {profile}),
    ...(switches === undefined ? {} : {switches}),
  })
}

/** All are closed though one throws; what they throw is logged. */
export async function closeTransformations(
  {transformations = []}: TaskRunnerOptions,
  lifecycle: TaskLifecycle,
): Promise<void> {
  for (const {transformation} of transformations) {
    await lifecycle.quietly('Could not close a transformation', () => transformation.close?.())
  }
}
