import {RetryWithToleranceOperator} from '../../src/lib/connect-engine/engine.ts'
import type {EngineOptions} from '../../src/lib/connect-engine/engine.ts'
import {RetriableException} from '../../src/lib/connect-engine/errors.ts'
import {ErrorHandlingMetrics} from '../../src/lib/connect-engine/metrics.ts'
import type {ProcessingContext} from '../../src/lib/connect-engine/processing-context.ts'
import {SettableFuture} from '../../src/lib/connect-engine/report-future.ts'
import type {ReportFuture} from '../../src/lib/connect-engine/report-future.ts'
import type {ErrorReporter} from '../../src/lib/connect-engine/reporter.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {FakeClock} from './fake-clock.ts'

/** A consumed record; fields may be changed. */
export function consumed(changes: Partial<KafkaRecord> = {}): KafkaRecord {
  return {
    topic: 'orders',
    partition: 3,
    offset: 42n,
    timestamp: 1_700_000_000_123n,
    timestampType: 'CreateTime',
    key: Buffer.from('k1'),
    value: Buffer.from('v1'),
    headers: [],
    ...changes,
  }
}

/** Keeps who was reported; futures are done unless the test hands out its own. */
export class RecordingReporter implements ErrorReporter<KafkaRecord> {
  readonly contexts: ProcessingContext<KafkaRecord>[] = []
  readonly errors: (Error | null)[] = []
  closed = 0
  readonly #future: () => ReportFuture

  constructor(future: () => ReportFuture = () => SettableFuture.settled()) {
    this.#future = future
  }

  report(context: ProcessingContext<KafkaRecord>): ReportFuture {
    this.contexts.push(context)
    this.errors.push(context.error)
    return this.#future()
  }

  close(): void {
    this.closed++
  }
}

export interface EngineSetup extends Partial<Omit<EngineOptions, 'config' | 'metrics'>> {
  readonly retryTimeoutMs?: bigint | number
  readonly retryDelayMaxMs?: bigint | number
  readonly tolerance?: 'none' | 'all'
  readonly reporters?: readonly ErrorReporter<KafkaRecord>[]
}

/** An engine with Connect's defaults, a clock that moves by itself, and one reporter. */
export function makeEngine(setup: EngineSetup = {}) {
  const clock = new FakeClock({auto: true})
  const {retryTimeoutMs = 0, retryDelayMaxMs = 60_000, tolerance = 'none', reporters, ...options} = setup
  const reporter = new RecordingReporter()
  const metrics = new ErrorHandlingMetrics({connector: 'job', task: 0, clock: (options.clock as FakeClock) ?? clock})
  const engine = new RetryWithToleranceOperator<KafkaRecord>({
    clock,
    ...options,
    metrics,
    config: {retryTimeoutMs, retryDelayMaxMs, tolerance},
  })
  engine.setReporters(reporters ?? [reporter])
  return {engine, metrics, clock, reporter}
}

/** Failures, errors, skipped, retries. */
export function counters(metrics: ErrorHandlingMetrics): number[] {
  const now = metrics.snapshot()
  return [now['total-record-failures'], now['total-record-errors'], now['total-records-skipped'], now['total-retries']]
}

/** An operation that throws `error` so many times, then answers. */
export function failing(times: number, error: () => Error = () => new RetriableException('try later')): () => string {
  let calls = 0
  return () => {
    if (calls++ < times) throw error()
    return 'ok'
  }
}
