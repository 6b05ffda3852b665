/** Kafka Connect's error handling (KIP-298, KIP-610) for applications. Loads neither a Kafka client nor the program. */
export {
  ConnectException,
  DataException,
  JavaException,
  RetriableException,
  Throwable,
  classNameOf,
  isConnectRetriable,
  isJavaError,
} from './lib/connect-engine/errors.ts'
export type {ErrorFamily, ExceptionFacts} from './lib/connect-engine/errors.ts'
export {stackTraceOf} from './lib/connect-engine/stack-trace.ts'
export {InternalSinkRecord, SinkRecord} from './lib/connect-engine/data.ts'
export type {
  ConnectHeader,
  ConnectSchema,
  Converter,
  HeaderConverter,
  SchemaAndValue,
  SchemaType,
  SinkRecordFields,
  SourceRecord,
} from './lib/connect-engine/data.ts'
export {DeadLetterQueueReporter} from './lib/connect-engine/dead-letter-queue-reporter.ts'
export type {
  DeadLetterProducer,
  DeadLetterQueueReporterOptions,
  DeadLetterRecord,
} from './lib/connect-engine/dead-letter-queue-reporter.ts'
export {deadLetterProducerSettings} from './lib/connect-engine/dead-letter-settings.ts'
export type {DeadLetterProducerSettings} from './lib/connect-engine/dead-letter-settings.ts'
export {createDeadLetterQueueReporter} from './lib/connect-engine/create-dead-letter-queue.ts'
export type {DeadLetterQueueClients, DeadLetterQueueInput} from './lib/connect-engine/create-dead-letter-queue.ts'
export {RetryWithToleranceOperator} from './lib/connect-engine/engine.ts'
export type {EngineClock, EngineConfig, EngineOptions, Wait} from './lib/connect-engine/engine.ts'
export {WorkerErrantRecordReporter} from './lib/connect-engine/errant-record-reporter.ts'
export type {ErrantRecordReporter, ErrantRecordReporterOptions} from './lib/connect-engine/errant-record-reporter.ts'
export {consumedRecordText, LogReporter, polledRecordText} from './lib/connect-engine/log-reporter.ts'
export type {LogReporterOptions} from './lib/connect-engine/log-reporter.ts'
export {ErrorHandlingMetrics, LAST_ERROR_TIMESTAMP, METRIC_NAMES} from './lib/connect-engine/metrics.ts'
export type {MetricName, MetricsOptions, MetricsSnapshot} from './lib/connect-engine/metrics.ts'
export {taskMetrics, toPrometheus} from './lib/connect-engine/prometheus.ts'
export type {TaskMetrics} from './lib/connect-engine/prometheus.ts'
export {DEFAULT_PROFILE} from './lib/connect-engine/options.ts'
export type {EngineSwitches, Profile, Tolerance} from './lib/connect-engine/options.ts'
export {ProcessingContext} from './lib/connect-engine/processing-context.ts'
export {CompositeFuture, doneFuture, SettableFuture} from './lib/connect-engine/report-future.ts'
export type {FutureState, ReportFuture, TopicPartition} from './lib/connect-engine/report-future.ts'
export type {ErrorReporter, LogEvent, LogSink} from './lib/connect-engine/reporter.ts'
export {STAGE_RULES, STAGES} from './lib/connect-engine/stage.ts'
export type {Stage, StageRule} from './lib/connect-engine/stage.ts'
export {systemClock} from './lib/clock.ts'
export type {Clock} from './lib/clock.ts'
