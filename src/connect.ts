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
export {dlqAdminProperties, dlqProducerProperties} from './lib/connect-engine/client-properties.ts'
export type {ClientLayers} from './lib/connect-engine/client-properties.ts'
export {
  ErrorHandlingConfig,
  parseErrorHandlingConfig,
  validateErrorHandling,
  validateKeys,
  validateTopics,
} from './lib/connect-engine/config.ts'
export type {ConfigOptions, ConfigValidation, ConnectorProperties} from './lib/connect-engine/config.ts'
export {CONFIG_DEFINITIONS} from './lib/connect-engine/config-definitions.ts'
export type {ConfigDefinition, ConfigType, ConnectorKind} from './lib/connect-engine/config-definitions.ts'
export {ConfigException} from './lib/connect-engine/config-value.ts'
export type {ConfigValue} from './lib/connect-engine/config-value.ts'
export {JsonConverter} from './lib/connect-engine/converters/json-converter.ts'
export {dataSchema, Struct} from './lib/connect-engine/converters/schema.ts'
export type {DataSchema, SchemaField} from './lib/connect-engine/converters/schema.ts'
export {
  ByteArrayConverter,
  SimpleHeaderConverter,
  StringConverter,
} from './lib/connect-engine/converters/simple-converters.ts'
export type {PartitionOffset} from './lib/connect-engine/partition-offsets.ts'
export {createPlugins, PLUGINS} from './lib/connect-engine/plugins.ts'
export type {PluginRegistry, PluginSettings, SinkPlugins} from './lib/connect-engine/plugins.ts'
export {processSinkRecord} from './lib/connect-engine/sink-pipeline.ts'
export type {SinkOutcome, SinkPipelineOptions} from './lib/connect-engine/sink-pipeline.ts'
export type {RebalanceListener, SinkConsumer, SinkTask, SinkTaskContext} from './lib/connect-engine/sink-task.ts'
export {SinkTaskRunner} from './lib/connect-engine/sink-task-runner.ts'
export type {SinkTaskRunnerOptions} from './lib/connect-engine/sink-task-runner.ts'
export type {
  OutgoingSourceRecord,
  RecordMetadata,
  SourceOffset,
  SourceProducer,
  SourceTask,
  SourceTaskContext,
  SourceTransactions,
} from './lib/connect-engine/source-task.ts'
export {SourceTaskRunner} from './lib/connect-engine/source-task-runner.ts'
export type {SourceTaskRunnerOptions} from './lib/connect-engine/source-task-runner.ts'
export type {TaskState, TaskStatus} from './lib/connect-engine/task-lifecycle.ts'
export type {DeadLetterQueueRequest, OpenDeadLetterQueue} from './lib/connect-engine/task-reporters.ts'
export type {
  Predicate,
  TransformableRecord,
  Transformation,
  TransformationStage,
} from './lib/connect-engine/transforms/transformation.ts'
export {systemClock} from './lib/clock.ts'
export type {Clock} from './lib/clock.ts'
