import type {KafkaRecord} from '../kafka/record.ts'
import type {ErrorHandlingConfig} from './config.ts'
import type {SourceRecord} from './data.ts'
import type {DeadLetterQueueReporterOptions} from './dead-letter-queue-reporter.ts'
import {ConnectException} from './errors.ts'
import {consumedRecordText, LogReporter, polledRecordText} from './log-reporter.ts'
import type {ErrorHandlingMetrics} from './metrics.ts'
import type {ErrorReporter, LogSink} from './reporter.ts'

/** A dead letter queue to open. */
export interface DeadLetterQueueRequest extends Omit<DeadLetterQueueReporterOptions, 'producer'> {
  /** For a topic that is not there yet; -1 = the broker's default. */
  readonly replicationFactor: number
  readonly validateRanges: boolean
}

/**
 * Opens the dead letter queue, creating its topic where it is missing (`createDeadLetterQueueReporter`); called once, before
 * the task starts, and only when the properties name one.
 */
export type OpenDeadLetterQueue = (request: DeadLetterQueueRequest) => Promise<ErrorReporter<KafkaRecord>>

interface ReportersOptions {
  readonly connector: string
  readonly task: number
  readonly config: ErrorHandlingConfig
  readonly metrics: ErrorHandlingMetrics
  readonly log: LogSink
}

/**
 * The reporters of a sink task in Connect's order: always the log, then the queue if there is one.
 * @throws what opening the queue throws; ConnectException when nothing can open it
 */
export async function openSinkReporters(
  options: ReportersOptions,
  {
    openDeadLetterQueue,
    validateRanges,
  }: {openDeadLetterQueue: OpenDeadLetterQueue | undefined; validateRanges: boolean},
): Promise<ErrorReporter<KafkaRecord>[]> {
  const {config} = options
  const log = logReporter<KafkaRecord>(options, consumedRecordText)
  if (!config.usesDlq) return [log]
  const {dlqTopicName: topic, dlqContextHeaders: contextHeaders, dlqReplicationFactor: replicationFactor} = config
  if (openDeadLetterQueue === undefined) {
    throw new ConnectException(`Could not initialize dead letter queue with topic=${topic}`)
  }
  return [log, await openDeadLetterQueue({...options, topic, contextHeaders, replicationFactor, validateRanges})]
}

/** The only reporter of a source task: there is no dead letter queue for sources. */
export function openSourceReporters(options: ReportersOptions): ErrorReporter<SourceRecord>[] {
  return [logReporter<SourceRecord>(options, polledRecordText)]
}

function logReporter<T>(options: ReportersOptions, describe: (original: T) => string): LogReporter<T> {
  const {logEnable: enabled, logIncludeMessages: includeMessages} = options.config
  return new LogReporter<T>({...options, enabled, includeMessages, describe})
}
