import {CONNECT_STAGES, type ConnectStage} from '../dialects/connect.ts'

/** Where in a pipeline an operation runs; the words of Connect's `Stage`, which headers and logs show. */
export type Stage = ConnectStage

/** The eight stages in Connect's order. */
export const STAGES: readonly Stage[] = CONNECT_STAGES

/** Which errors of a stage `errors.tolerance=all` may skip: any exception, or only Connect's RetriableException. */
export type Tolerable = 'any-exception' | 'connect-retriable'

/** What is true of one stage. */
export interface StageRule {
  /** Pipelines whose runtime enters the stage; empty = the stage exists, and no runtime of Connect enters it. */
  readonly pipelines: readonly ('sink' | 'source')[]
  readonly tolerable: Tolerable
  /** True when the runtime only ever comes here with a failure that is a fact already (`executeFailed`). */
  readonly reportsOnly: boolean
}

/**
 * What is retried and tolerated where. Retried is, at every stage, Connect's RetriableException and nothing else; this
 * table holds the rest.
 * @see KIP-298; TOLERABLE_EXCEPTIONS of Connect's RetryWithToleranceOperator
 */
export const STAGE_RULES: Readonly<Record<Stage, StageRule>> = {
  TASK_POLL: {pipelines: [], tolerable: 'connect-retriable', reportsOnly: false},
  TASK_PUT: {pipelines: ['sink'], tolerable: 'connect-retriable', reportsOnly: true},
  TRANSFORMATION: {pipelines: ['sink', 'source'], tolerable: 'any-exception', reportsOnly: false},
  KEY_CONVERTER: {pipelines: ['sink', 'source'], tolerable: 'any-exception', reportsOnly: false},
  VALUE_CONVERTER: {pipelines: ['sink', 'source'], tolerable: 'any-exception', reportsOnly: false},
  HEADER_CONVERTER: {pipelines: ['sink', 'source'], tolerable: 'any-exception', reportsOnly: false},
  KAFKA_PRODUCE: {pipelines: ['source'], tolerable: 'connect-retriable', reportsOnly: true},
  KAFKA_CONSUME: {pipelines: [], tolerable: 'connect-retriable', reportsOnly: false},
}

/** Name of the executing class at TASK_PUT, whatever the connector's own class is called. */
export const SINK_TASK_CLASS = 'org.apache.kafka.connect.sink.SinkTask'

/** Name of the executing class at KAFKA_PRODUCE. */
export const SOURCE_TASK_CLASS = 'org.apache.kafka.connect.runtime.WorkerSourceTask'
