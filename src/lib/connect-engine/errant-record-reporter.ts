import type {KafkaRecord} from '../kafka/record.ts'
import {InternalSinkRecord} from './data.ts'
import type {Converter, HeaderConverter, SinkRecord} from './data.ts'
import type {RetryWithToleranceOperator} from './engine.ts'
import {toError} from './errors.ts'
import {missing} from './log-reporter.ts'
import {ProcessingContext} from './processing-context.ts'
import {awaitReports, PendingReports} from './report-future.ts'
import type {ReportFuture, TopicPartition} from './report-future.ts'
import type {LogSink} from './reporter.ts'
import {SINK_TASK_CLASS} from './stage.ts'

/** What a sink task reports bad records to. @see KIP-610 */
export interface ErrantRecordReporter {
  /**
   * Report a record that the task cannot write.
   * @param record as given to `put`, derived from one, or made by the task
   * @param error null = not known
   * @returns the outcome; pending until the dead letter is acknowledged
   * @throws ConnectException when nothing is tolerated; the record was reported all the same
   */
  report(record: SinkRecord, error: Error | null): ReportFuture
}

/** What turns a sink record back into bytes, and where reports go. */
export interface ErrantRecordReporterOptions {
  readonly operator: RetryWithToleranceOperator<KafkaRecord>
  /** For records that the task made itself. */
  readonly keyConverter: Pick<Converter, 'fromConnectData'>
  readonly valueConverter: Pick<Converter, 'fromConnectData'>
  readonly headerConverter: Pick<HeaderConverter, 'fromConnectHeader'>
  readonly log: LogSink
}

const LOGGER = 'WorkerErrantRecordReporter'

/**
 * The errant record reporter and what the runtime needs of it: the reports of a partition are awaited before its offsets
 * move.
 * @see KIP-610; Connect's WorkerErrantRecordReporter
 */
export class WorkerErrantRecordReporter implements ErrantRecordReporter {
  readonly #options: ErrantRecordReporterOptions
  readonly #pending = new PendingReports()
  /** First error that was reported; undefined = none yet. */
  #reported: Error | null | undefined = undefined

  constructor(options: ErrantRecordReporterOptions) {
    this.#options = options
  }

  /**
   * @throws ConnectException when the tolerance is exceeded; what a converter throws for a record that the task made;
   * JavaException (NullPointerException) for such a record without a timestamp, or for none
   */
  report(record: SinkRecord, error: Error | null): ReportFuture {
    const {operator} = this.#options
    const context = record instanceof InternalSinkRecord ? record.context : this.#reserialised(record)
    const reason = error === null ? null : toError(error)
    if (operator.switches.killAfterPut) this.#remember(reason)
    const future = operator.executeFailed(context, 'TASK_PUT', SINK_TASK_CLASS, reason)
    this.#remember(reason)
    if (context.original !== null) this.#pending.file(context.original, future)
    return future
  }

  /**
   * Before offsets of these partitions are committed: wait for all reports about them, whatever their offsets.
   * @throws ConnectException around the first one that failed; the others are forgotten
   */
  async awaitFutures(partitions: Iterable<TopicPartition>): Promise<void> {
    await awaitReports(this.#pending.take(partitions), error => {
      const message = "Encountered an error while awaiting an errant record future's completion."
      this.#options.log({logger: LOGGER, message, error})
    })
  }

  /** The partitions were lost: forget their reports. The writes go on, as nothing can take them back. */
  cancelFutures(partitions: Iterable<TopicPartition>): void {
    for (const future of this.#pending.take(partitions)) {
      try {
        future.cancel()
      } catch (thrown) {
        const message = 'Encountered an error while cancelling an errant record future'
        this.#options.log({logger: LOGGER, message, error: toError(thrown)})
      }
    }
  }

  /**
   * After `put`: end a task that caught the exception of `report`. Does so only with the switch `killAfterPut`; as in Connect
   * since 3.8, a report that exceeds the tolerance is otherwise not remembered.
   * @throws ConnectException when the tolerance is exceeded
   */
  checkAfterPut(): void {
    const {operator} = this.#options
    if (this.#reported === undefined || operator.withinToleranceLimits()) return
    throw operator.toleranceExceeded(this.#reported)
  }

  /** Reports that are still pending, a partition each. */
  pending(): (TopicPartition & {readonly count: number})[] {
    return this.#pending.counts()
  }

  #remember(error: Error | null): void {
    if (this.#reported === undefined) this.#reported = error
  }

  /** A record without an original: its own content, through the connector's converters, under its own coordinates. */
  #reserialised(record: SinkRecord | null): ProcessingContext<KafkaRecord> {
    if (record === null) throw missing('the record is null')
    const {keyConverter, valueConverter, headerConverter} = this.#options
    const {topic, partition, offset, timestamp, timestampType} = record
    const key = keyConverter.fromConnectData(topic, record.keySchema, record.key)
    const value = valueConverter.fromConnectData(topic, record.valueSchema, record.value)
    const headers = record.headers.map(header => ({
      name: Buffer.from(header.key, 'utf8'),
      value: headerConverter.fromConnectHeader(topic, header.key, header.schema, header.value),
    }))
    if (timestamp === null) throw missing('the record has no timestamp')
    return new ProcessingContext<KafkaRecord>({topic, partition, offset, timestamp, timestampType, key, value, headers})
  }
}
