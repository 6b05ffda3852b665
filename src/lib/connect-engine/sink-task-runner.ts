import type {KafkaRecord} from '../kafka/record.ts'
import {requireValidTopics} from './config.ts'
import type {InternalSinkRecord, SinkRecord} from './data.ts'
import {WorkerErrantRecordReporter} from './errant-record-reporter.ts'
import {ConnectException, isConnectRetriable, toError} from './errors.ts'
import {PartitionSet} from './partition-offsets.ts'
import type {TopicPartition} from './report-future.ts'
import type {ErrorReporter} from './reporter.ts'
import {SinkOffsets} from './sink-offsets.ts'
import {processSinkRecord} from './sink-pipeline.ts'
import type {SinkConsumer, SinkTask} from './sink-task.ts'
import {WorkerSinkTaskContext} from './sink-task-context.ts'
import {nextTurn} from './task-lifecycle.ts'
import {openSinkReporters, type OpenDeadLetterQueue} from './task-reporters.ts'
import {TaskRunner, type TaskRunnerOptions} from './task-runner.ts'

/** A sink task and what it runs with. */
export interface SinkTaskRunnerOptions extends TaskRunnerOptions {
  readonly sinkTask: SinkTask
  readonly consumer: SinkConsumer
  /** Needed when the properties name a dead letter queue. */
  readonly openDeadLetterQueue?: OpenDeadLetterQueue
}

/**
 * One sink task: consume, convert, transform, `put`, then `preCommit` and commit, with the engine at every stage.
 * @see Connect's WorkerSinkTask
 */
export class SinkTaskRunner extends TaskRunner<KafkaRecord> {
  readonly #options: SinkTaskRunnerOptions
  readonly #errant: WorkerErrantRecordReporter | null
  readonly #context: WorkerSinkTaskContext
  /** Waiting for a `put` that succeeds. */
  #batch: InternalSinkRecord[] = []
  readonly #offsets: SinkOffsets
  #pausedForRedelivery = false
  #nextCommitMs = 0
  #rebalanceError: Error | null = null
  #reporters: readonly ErrorReporter<KafkaRecord>[] = []
  #taskStopped = false

  /** @throws ConfigException for properties that Connect could not parse */
  constructor(options: SinkTaskRunnerOptions) {
    super(options, {connector: 'sink', name: 'WorkerSinkTask'})
    this.#options = options
    this.#errant = this.config.offersErrantRecordReporter
      ? new WorkerErrantRecordReporter({...options, operator: this.operator})
      : null
    this.#context = new WorkerSinkTaskContext(options.properties, options.consumer, this.#errant)
    this.#offsets = new SinkOffsets({
      ...options,
      operator: this.operator,
      errant: this.#errant,
      lifecycle: this.lifecycle,
    })
  }

  protected async start(): Promise<void> {
    const {consumer, sinkTask, clock, properties, openDeadLetterQueue} = this.#options
    const {validateRanges} = this.operator.switches
    const parts = {...this.#options, config: this.config, metrics: this.metrics}
    this.#reporters = await openSinkReporters(parts, {openDeadLetterQueue, validateRanges})
    this.operator.setReporters(this.#reporters)
    this.#nextCommitMs = clock.now() + this.flushIntervalMs
    requireValidTopics(properties)
    await consumer.subscribe({
      onPartitionsAssigned: partitions => this.#onAssigned(partitions),
      onPartitionsRevoked: partitions => this.#onRemoved(partitions, false),
      onPartitionsLost: partitions => this.#onRemoved(partitions, true),
    })
    await sinkTask.start(this.#context)
  }

  /** Whatever ends the loop, what was delivered before is committed. */
  protected async execute(): Promise<void> {
    try {
      while (!this.lifecycle.isStopping) await this.#iterate()
    } catch (error) {
      try {
        await this.#closeAllPartitions()
      } catch (suppressed) {
        this.#logError('Could not close the partitions of a failed task', suppressed)
      }
      throw error
    }
    await this.#closeAllPartitions()
  }

  async #iterate(): Promise<void> {
    this.#followTargetState()
    const now = this.#options.clock.now()
    if (!this.#offsets.isCommitting && (this.#context.commitRequested || now >= this.#nextCommitMs)) {
      await this.#offsets.commit(this.#options.consumer.assignment(), false)
      this.#nextCommitMs = now + this.flushIntervalMs
      this.#context.clearCommitRequest()
    }
    await this.#poll(Math.max(this.#nextCommitMs - now, 0))
  }

  #followTargetState(): void {
    const {isPaused} = this.lifecycle
    if (isPaused === this.#context.taskIsPaused) return
    this.#context.taskIsPaused = isPaused
    if (isPaused) {
      this.#pauseAll()
      this.#context.requestCommit()
    } else if (!this.#pausedForRedelivery) {
      this.#resumeAll()
    }
  }

  async #poll(timeoutMs: number): Promise<void> {
    this.#rewind()
    const wanted = this.#context.takeTimeout()
    const timeout = wanted > 0 ? Math.min(timeoutMs, wanted) : timeoutMs
    const records = await this.lifecycle.wakeable(signal => this.#options.consumer.poll(timeout, {signal}))
    if (this.#rebalanceError !== null) {
      const error = this.#rebalanceError
      this.#rebalanceError = null
      throw error
    }
    if (records === null) return
    if (records.length === 0) await nextTurn()
    await this.#convert(records)
    await this.#deliver()
  }

  async #convert(records: readonly KafkaRecord[]): Promise<void> {
    const {keyConverter, valueConverter, headerConverter, transformations = []} = this.#options
    const pipeline = {operator: this.operator, keyConverter, valueConverter, headerConverter, transformations}
    for (const consumed of records) {
      const {record, context} = await processSinkRecord(pipeline, consumed)
      this.#offsets.consumed(consumed)
      if (record !== null) this.#batch.push(record)
      // Memory is bounded by waiting here: dead letters of converters are awaited nowhere else.
      if (context.failed) for (const reporter of this.#reporters) await reporter.ready?.()
    }
  }

  async #deliver(): Promise<void> {
    try {
      const copy: readonly SinkRecord[] = [...this.#batch]
      await this.#options.sinkTask.put(copy)
      this.#errant?.checkAfterPut()
    } catch (error) {
      if (!isConnectRetriable(error)) {
        const message = 'Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover'
        this.#logError(`${message} until manually restarted. Error: ${toError(error).message}`, error)
        throw new ConnectException('Exiting WorkerSinkTask due to unrecoverable exception.', {cause: error})
      }
      this.#logError('RetriableException from SinkTask:', error)
      // The same records are offered again; polling goes on, without new ones.
      if (!this.#pausedForRedelivery) this.#pauseAll()
      this.#pausedForRedelivery = true
      return
    }
    this.#offsets.delivered()
    this.#batch = []
    if (!this.#pausedForRedelivery) return
    this.#pausedForRedelivery = false
    if (!this.#context.taskIsPaused) this.#resumeAll()
  }

  async #onAssigned(partitions: readonly TopicPartition[]): Promise<void> {
    const {consumer, sinkTask} = this.#options
    try {
      for (const {topic, partition} of partitions) {
        const offset = await consumer.position({topic, partition})
        this.#offsets.start({topic, partition, offset})
      }
      this.#pauseAfterRebalance()
      if (partitions.length === 0 || this.#rebalanceError !== null) return
      await sinkTask.open?.(partitions)
      this.#rewind()
    } catch (error) {
      this.#rebalanceError = toError(error)
    }
  }

  #pauseAfterRebalance(): void {
    const {consumer} = this.#options
    const wasPaused = this.#pausedForRedelivery
    this.#pausedForRedelivery = wasPaused && this.#batch.length > 0
    const pausedByTask = this.#context.pausedPartitions()
    if (this.#pausedForRedelivery || this.#context.taskIsPaused) this.#pauseAll()
    else if (wasPaused) this.#resumeAll()
    else if (pausedByTask.length > 0) consumer.pause(pausedByTask)
  }

  /** Revoked partitions are committed, reports included; lost ones are only forgotten. */
  async #onRemoved(partitions: readonly TopicPartition[], lost: boolean): Promise<void> {
    if (this.#taskStopped || partitions.length === 0) return
    try {
      await this.#closePartitions(partitions, lost)
    } catch (error) {
      // The consumer must not see it; the loop throws it after the poll.
      this.#rebalanceError = toError(error)
    }
    const removed = new PartitionSet(partitions)
    this.#batch = this.#batch.filter(({context: {original}}) => original === null || !removed.has(original))
  }

  async #closePartitions(partitions: readonly TopicPartition[], lost: boolean): Promise<void> {
    try {
      if (lost) {
        await this.#options.sinkTask.close?.(partitions)
        this.#errant?.cancelFutures(partitions)
      } else {
        await this.#offsets.commit(partitions, true)
      }
    } finally {
      this.#offsets.forget(partitions)
    }
  }

  async #closeAllPartitions(): Promise<void> {
    await this.#offsets.settled()
    await this.#closePartitions(this.#offsets.partitions, false)
  }

  protected async close(): Promise<void> {
    const {sinkTask, consumer} = this.#options
    await this.lifecycle.quietly('Could not stop task', () => sinkTask.stop())
    this.#taskStopped = true
    await this.lifecycle.quietly('Could not close the consumer', () => consumer.close())
    await this.closePipeline()
  }

  #rewind(): void {
    for (const entry of this.#context.takeRewinds()) {
      this.#options.consumer.seek(entry, entry.offset)
      this.#offsets.start(entry)
    }
  }

  #pauseAll(): void {
    this.#options.consumer.pause(this.#options.consumer.assignment())
  }

  #resumeAll(): void {
    const {consumer} = this.#options
    const kept = new PartitionSet(this.#context.pausedPartitions())
    consumer.resume(consumer.assignment().filter(entry => !kept.has(entry)))
  }

  #logError(message: string, error: unknown): void {
    this.lifecycle.log(message, error)
  }
}
