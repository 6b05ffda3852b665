import {connectHeaders} from '../dialects/connect.ts'
import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'
import {classNameOf, JavaException, messageOf} from './errors.ts'
import {missing} from './log-reporter.ts'
import type {ErrorHandlingMetrics} from './metrics.ts'
import type {ProcessingContext} from './processing-context.ts'
import {doneFuture} from './report-future.ts'
import type {ReportFuture} from './report-future.ts'
import type {ErrorReporter, LogSink} from './reporter.ts'
import {stackTraceOf} from './stack-trace.ts'

/** A dead letter on its way out. Its partition is the producer's choice. */
export interface DeadLetterRecord {
  readonly topic: string
  /** Epoch ms; null = the producer's time. */
  readonly timestamp: bigint | null
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

/** Whoever writes dead letters. */
export interface DeadLetterProducer {
  /**
   * Send without waiting.
   * @returns the outcome; a failure found at once is a future that failed already
   * @throws what the producer itself cannot do, e.g. when it is closed
   */
  send(record: DeadLetterRecord): ReportFuture
  /** Waits while the queue is longer than it should be. */
  ready?(): Promise<void>
  /** Wait for what was sent, then close. */
  close(): void | Promise<void>
}

/** One queue and the task that fills it. */
export interface DeadLetterQueueReporterOptions {
  /** `errors.deadletterqueue.topic.name`; surrounding white space does not count, empty = nothing is sent. */
  readonly topic: string
  readonly connector: string
  /** Task number. */
  readonly task: number
  /** `errors.deadletterqueue.context.headers.enable`. */
  readonly contextHeaders: boolean
  readonly metrics: ErrorHandlingMetrics
  readonly log: LogSink
  readonly producer: DeadLetterProducer
}

/**
 * Sends the original record of everything that was given up to the dead letter queue, byte for byte, with ten headers
 * that say why.
 * @see KIP-298; Connect's DeadLetterQueueReporter
 */
export class DeadLetterQueueReporter implements ErrorReporter<KafkaRecord> {
  readonly #options: DeadLetterQueueReporterOptions
  readonly #topic: string

  constructor(options: DeadLetterQueueReporterOptions) {
    this.#options = options
    this.#topic = options.topic.trim()
  }

  /**
   * @throws JavaException (IllegalArgumentException) for a timestamp below -1, (NullPointerException) for headers of a
   * context without stage or class; what `send` throws
   */
  report(context: ProcessingContext<KafkaRecord>): ReportFuture {
    const {metrics, log, producer} = this.#options
    if (this.#topic === '') return doneFuture()
    metrics.recordDeadLetterQueueProduceRequest()
    if (context.original === null) {
      metrics.recordDeadLetterQueueProduceFailed()
      return doneFuture()
    }
    const future = producer.send(this.#deadLetter(context, context.original))
    future.onDone(error => {
      if (error === null) return
      const message = `Could not produce message to dead letter queue. topic=${this.#topic}`
      log({logger: 'DeadLetterQueueReporter', message, error})
      metrics.recordDeadLetterQueueProduceFailed()
    })
    return future
  }

  async ready(): Promise<void> {
    await this.#options.producer.ready?.()
  }

  async close(): Promise<void> {
    await this.#options.producer.close()
  }

  #deadLetter(context: ProcessingContext<KafkaRecord>, original: KafkaRecord): DeadLetterRecord {
    const {key, value} = original
    const timestamp = original.timestamp === -1n ? null : original.timestamp
    if (timestamp !== null && timestamp < 0n) {
      const message = `Invalid timestamp: ${timestamp}. Timestamp should always be non-negative or null.`
      throw new JavaException({className: 'java.lang.IllegalArgumentException', message})
    }
    const added = this.#options.contextHeaders ? this.contextHeaders(context, original) : []
    return {topic: this.#topic, timestamp, key, value, headers: [...original.headers, ...added]}
  }

  /** The headers that say where the record came from and why it was given up. */
  contextHeaders(context: ProcessingContext<KafkaRecord>, original: KafkaRecord): RecordHeader[] {
    const {connector, task} = this.#options
    const {stage, executingClass: component, error} = context
    if (stage === null) throw missing('the stage is not set')
    if (component === null) throw missing('the executing class is not set')
    const {topic, partition, offset} = original
    const fields = {topic, partition, offset, connector, task, stage, component}
    if (error === null) return connectHeaders(fields)
    const stack = stackTraceOf(error)
    return connectHeaders({...fields, error: {class: classNameOf(error), message: messageOf(error), stack}})
  }
}
