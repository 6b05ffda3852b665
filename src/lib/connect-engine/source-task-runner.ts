import {isKdlqError} from '../errors.ts'
import type {SourceRecord} from './data.ts'
import {ConnectException, isConnectRetriable, toError} from './errors.ts'
import {ProcessingContext} from './processing-context.ts'
import {prepareSourceRecord} from './source-pipeline.ts'
import type {
  OutgoingSourceRecord,
  RecordMetadata,
  SourceOffset,
  SourceProducer,
  SourceTask,
  SourceTransactions,
} from './source-task.ts'
import {SOURCE_TASK_CLASS} from './stage.ts'
import {type SubmittedRecord, SubmittedRecords} from './submitted-records.ts'
import {nextTurn} from './task-lifecycle.ts'
import {openSourceReporters} from './task-reporters.ts'
import {TaskRunner, type TaskRunnerOptions} from './task-runner.ts'

/** A source task and what it runs with. */
export interface SourceTaskRunnerOptions extends TaskRunnerOptions {
  readonly sourceTask: SourceTask
  readonly producer: SourceProducer
  /** Stores how far the source was read; not called in exactly-once mode. */
  readonly writeOffsets: (offsets: readonly SourceOffset[]) => Promise<void>
  /** Set = exactly-once mode: one transaction a poll, records and offsets together. */
  readonly transactions?: SourceTransactions
  /** `offset.flush.timeout.ms` of the worker: how long the end waits for records on their way; 5,000 when absent. */
  readonly offsetFlushTimeoutMs?: number
}

/** Wait before a batch is sent on after a retriable error of the producer, ms. */
const SEND_FAILED_BACKOFF_MS = 100

/**
 * One source task: poll, transform, convert (headers, key, value), produce, with the engine at every stage. No dead letter
 * queue: what is given up is logged.
 * @see Connect's AbstractWorkerSourceTask, WorkerSourceTask, ExactlyOnceWorkerSourceTask
 */
export class SourceTaskRunner extends TaskRunner<SourceRecord> {
  readonly #options: SourceTaskRunnerOptions
  readonly #submitted = new SubmittedRecords()
  readonly #onTheWay = new Set<Promise<void>>()
  #toSend: readonly SourceRecord[] | null = null
  /** First failure that the producer told later; null = none. */
  #producerError: Error | null = null
  #nextCommitMs = 0
  #inTransaction = false
  /** Exactly-once mode: records and offsets of the open transaction, in order. */
  #committable: (readonly [SourceRecord, RecordMetadata | null])[] = []
  #transactionOffsets = new SubmittedRecords()

  /** @throws ConfigException for properties that Connect could not parse */
  constructor(options: SourceTaskRunnerOptions) {
    const name = options.transactions === undefined ? 'WorkerSourceTask' : 'ExactlyOnceWorkerSourceTask'
    super(options, {connector: 'source', name})
    this.#options = options
  }

  protected async start(): Promise<void> {
    const {sourceTask, properties, clock} = this.#options
    const parts = {...this.#options, config: this.config, metrics: this.metrics}
    this.operator.setReporters(openSourceReporters(parts))
    this.#nextCommitMs = clock.now() + this.flushIntervalMs
    await sourceTask.start({properties})
  }

  protected async execute(): Promise<void> {
    try {
      while (!this.lifecycle.isStopping) await this.#iterate()
    } catch (error) {
      if (!this.lifecycle.isCancelled) await this.#commitFinally(true)
      throw error
    }
    if (!this.lifecycle.isCancelled) await this.#commitFinally(false)
  }

  async #iterate(): Promise<void> {
    const {clock} = this.#options
    if (this.lifecycle.isPaused) {
      await this.#commitTransaction()
      await this.lifecycle.whileNotPaused()
      return
    }
    if (this.#options.transactions === undefined && clock.now() >= this.#nextCommitMs) {
      await this.#commitOffsets()
      this.#nextCommitMs = clock.now() + this.flushIntervalMs
    }
    if (this.#toSend === null) {
      this.#throwProducerError()
      this.#toSend = await this.#poll()
    }
    if (this.#toSend === null) {
      await this.#commitTransaction()
      await nextTurn()
      return
    }
    if (this.#toSend.length === 0) await nextTurn()
    if (await this.#sendRecords(this.#toSend)) {
      this.#toSend = null
      await this.#commitTransaction()
    } else {
      await this.lifecycle.wakeable(signal => clock.sleep(SEND_FAILED_BACKOFF_MS, {signal}))
    }
  }

  async #poll(): Promise<readonly SourceRecord[] | null> {
    try {
      return await this.lifecycle.wakeable(signal => this.#options.sourceTask.poll({signal}))
    } catch (error) {
      if (!isRetriable(error)) throw error
      this.lifecycle.log('failed to poll records from SourceTask. Will retry operation.', error)
      return null
    }
  }

  /** @returns false when the producer cannot take the rest now; it is kept */
  async #sendRecords(records: readonly SourceRecord[]): Promise<boolean> {
    const pipeline = {...this.#options, operator: this.operator}
    for (const [index, record] of records.entries()) {
      const context = new ProcessingContext<SourceRecord>(record)
      const outgoing = await prepareSourceRecord(pipeline, context, record)
      if (outgoing === null) {
        await this.#dropped(record)
      } else if (!(await this.#send(context, record, outgoing))) {
        this.#toSend = records.slice(index)
        return false
      }
    }
    return true
  }

  /** @returns false for a retriable failure of the producer, found at once */
  async #send(
    context: ProcessingContext<SourceRecord>,
    record: SourceRecord,
    outgoing: OutgoingSourceRecord,
  ): Promise<boolean> {
    const {producer, transactions} = this.#options
    let submitted: SubmittedRecord | null = null
    if (transactions === undefined) {
      this.#throwProducerError()
      submitted = this.#submitted.submit(record)
    } else if (!this.#inTransaction) {
      await transactions.begin()
      this.#inTransaction = true
    }
    let sending: Promise<RecordMetadata>
    try {
      sending = producer.send(outgoing)
    } catch (error) {
      submitted?.drop()
      if (!isRetriable(error)) throw unrecoverable(error)
      const place = `topic '${outgoing.topic}' and partition '${outgoing.partition}'`
      this.lifecycle.log(`Failed to send record to ${place}. Backing off before retrying: `, error)
      return false
    }
    // Exactly once: the offset counts as soon as the producer has the record.
    if (transactions !== undefined) this.#transactionOffsets.submit(record).ack()
    const {topic} = outgoing
    const settled: Promise<void> = this.#settle(sending, {context, record, topic, submitted}).finally(() => {
      this.#onTheWay.delete(settled)
    })
    this.#onTheWay.add(settled)
    return true
  }

  async #settle(
    sending: Promise<RecordMetadata>,
    {
      context,
      record,
      topic,
      submitted,
    }: {
      readonly context: ProcessingContext<SourceRecord>
      readonly record: SourceRecord
      /** Written to: a transform may have changed it. */
      readonly topic: string
      readonly submitted: SubmittedRecord | null
    },
  ): Promise<void> {
    let metadata: RecordMetadata | null = null
    try {
      metadata = await sending
    } catch (thrown) {
      const error = toError(thrown)
      this.lifecycle.log(`failed to send record to ${topic}: `, error)
      if (submitted === null || this.config.tolerance === 'none') {
        this.#producerError ??= error
        return
      }
      await this.lifecycle.quietly('Could not report a record that was not sent', () => {
        this.operator.executeFailed(context, 'KAFKA_PRODUCE', SOURCE_TASK_CLASS, error)
      })
    }
    if (submitted === null) {
      this.#committable.push([record, metadata])
      return
    }
    await this.#commitRecord(record, metadata)
    submitted.ack()
  }

  #throwProducerError(): void {
    if (this.#producerError === null || this.#options.transactions !== undefined) return
    throw new ConnectException('Unrecoverable exception from producer send callback', {cause: this.#producerError})
  }

  async #dropped(record: SourceRecord): Promise<void> {
    if (this.#options.transactions === undefined) await this.#commitRecord(record, null)
    else this.#committable.push([record, null])
  }

  async #commitRecord(record: SourceRecord, metadata: RecordMetadata | null): Promise<void> {
    await this.lifecycle.quietly('Exception thrown while calling task.commitRecord()', () =>
      this.#options.sourceTask.commitRecord?.(record, metadata),
    )
  }

  /** Offsets of what is written or given up; a failure leaves them for the next time. */
  async #commitOffsets(): Promise<void> {
    const offsets = this.#submitted.takeCommittable()
    try {
      if (offsets.length > 0) await this.#options.writeOffsets(offsets)
    } catch (error) {
      this.#submitted.putBack(offsets)
      this.lifecycle.log('Failed to flush offsets to storage: ', error)
      return
    }
    await this.lifecycle.quietly('Exception thrown while calling task.commit()', () =>
      this.#options.sourceTask.commit?.(),
    )
  }

  /** Exactly-once mode: records and offsets since the last one. @throws ConnectException, whatever is tolerated */
  async #commitTransaction(): Promise<void> {
    const {transactions, sourceTask, connector, task} = this.#options
    if (transactions === undefined) return
    const offsets = this.#transactionOffsets.takeCommittable()
    if (this.#inTransaction || offsets.length > 0) {
      this.#inTransaction = false
      try {
        await Promise.all(this.#onTheWay)
        if (this.#producerError !== null) throw this.#producerError
        await transactions.commit(offsets)
      } catch (cause) {
        const message = `Failed to flush offsets and/or records for task ${connector}-${task}`
        throw new ConnectException(message, {cause})
      }
    }
    const committable = this.#committable
    this.#committable = []
    for (const [record, metadata] of committable) await this.#commitRecord(record, metadata)
    await this.lifecycle.quietly('Exception thrown while calling task.commit()', () => sourceTask.commit?.())
  }

  async #commitFinally(failed: boolean): Promise<void> {
    const {transactions, clock, offsetFlushTimeoutMs = 5000} = this.#options
    if (transactions !== undefined) {
      if (!failed) await this.#commitTransaction()
      return
    }
    const over = new AbortController()
    const timeout = clock.sleep(offsetFlushTimeoutMs, {signal: over.signal}).catch(() => undefined)
    await Promise.race([Promise.all(this.#onTheWay), timeout])
    over.abort()
    await this.#commitOffsets()
  }

  protected async close(): Promise<void> {
    const {sourceTask, producer} = this.#options
    await this.lifecycle.quietly('Could not stop task', () => sourceTask.stop())
    await this.lifecycle.quietly('Could not close the producer', () => producer.close())
    await this.closePipeline()
  }
}

/** Connect's retriable errors and Kafka's own: unlike the engine, this loop tries both again. */
function isRetriable(error: unknown): boolean {
  return isConnectRetriable(error) || (isKdlqError(error) && error.retriable)
}

/** What ends the task for an error of the producer: Kafka's are wrapped, Connect's and bugs are not. */
function unrecoverable(error: unknown): Error {
  if (error instanceof ConnectException || !isKdlqError(error)) return toError(error)
  return new ConnectException('Unrecoverable exception trying to send', {cause: error})
}
