import type {KafkaRecord} from '../kafka/record.ts'
import type {SourceRecord} from './data.ts'
import {JavaException} from './errors.ts'
import type {ErrorHandlingMetrics} from './metrics.ts'
import type {ProcessingContext} from './processing-context.ts'
import {doneFuture} from './report-future.ts'
import type {ReportFuture} from './report-future.ts'
import type {ErrorReporter, LogSink} from './reporter.ts'
import {sourceRecordText} from './source-record-text.ts'

/** Which task logs what, and where to. */
export interface LogReporterOptions<T> {
  readonly connector: string
  /** Task number. */
  readonly task: number
  /** `errors.log.enable`. */
  readonly enabled: boolean
  /** `errors.log.include.messages`. */
  readonly includeMessages: boolean
  readonly metrics: ErrorHandlingMetrics
  readonly log: LogSink
  /** The record's part of the message: `consumedRecordText` or `polledRecordText`. */
  readonly describe: (original: T) => string
}

/**
 * Writes one line for every record that was given up, whatever the tolerance.
 * @see KIP-298; Connect's LogReporter
 */
export class LogReporter<T> implements ErrorReporter<T> {
  readonly #options: LogReporterOptions<T>

  constructor(options: LogReporterOptions<T>) {
    this.#options = options
  }

  /** @throws JavaException (NullPointerException) for a failed record without a stage */
  report(context: ProcessingContext<T>): ReportFuture {
    const {enabled, log, metrics} = this.#options
    if (enabled && context.error !== null) {
      log({logger: 'LogReporter', message: this.message(context), error: context.error})
      metrics.recordErrorLogged()
    }
    return doneFuture()
  }

  /** The line for a record. */
  message({stage, executingClass, original}: ProcessingContext<T>): string {
    const {connector, task, includeMessages, describe} = this.#options
    if (stage === null) throw missing('the stage is not set')
    const record = includeMessages && original !== null ? describe(original) : ''
    const where = `Executing stage '${stage}' with class '${executingClass ?? 'null'}'`
    return `Error encountered in task ${connector}-${task}. ${where}${record}.`
  }

  close(): void {}
}

/** A Java NullPointerException for a part of the context that a report cannot do without. */
export function missing(message: string): JavaException {
  return new JavaException({className: 'java.lang.NullPointerException', message})
}

/** A sink's record in a log line: where it is and when it was written, never what it holds. */
export function consumedRecordText(record: KafkaRecord): string {
  const {topic, partition, offset, timestamp, timestampType} = record
  const time =
    timestampType === 'NoTimestampType' ? '' : `, timestamp=${timestamp ?? -1n}, timestampType=${timestampType}`
  return `, where consumed record is {topic='${topic}', partition=${partition}, offset=${offset}${time}}`
}

/** A source's record in a log line: all of it, as it was polled. */
export function polledRecordText(record: SourceRecord): string {
  return `, where source record is = ${sourceRecordText(record)}`
}
