import type {ConnectorProperties} from './config.ts'
import type {ErrantRecordReporter} from './errant-record-reporter.ts'
import {type PartitionOffset, PartitionOffsets, PartitionSet} from './partition-offsets.ts'
import type {TopicPartition} from './report-future.ts'
import type {SinkConsumer, SinkTaskContext} from './sink-task.ts'

/**
 * What a sink task asked of its runtime, until the runtime does it.
 * @see Connect's WorkerSinkTaskContext
 */
export class WorkerSinkTaskContext implements SinkTaskContext {
  readonly properties: ConnectorProperties
  readonly #consumer: SinkConsumer
  readonly #reporter: ErrantRecordReporter | null
  readonly #rewinds = new PartitionOffsets()
  #paused: readonly TopicPartition[] = []
  #timeoutMs = -1
  #commitRequested = false
  /** True while the whole task is paused: then the consumer is not touched. */
  taskIsPaused = false

  constructor(properties: ConnectorProperties, consumer: SinkConsumer, reporter: ErrantRecordReporter | null) {
    this.properties = properties
    this.#consumer = consumer
    this.#reporter = reporter
  }

  errantRecordReporter(): ErrantRecordReporter | null {
    return this.#reporter
  }

  assignment(): readonly TopicPartition[] {
    return this.#consumer.assignment()
  }

  offset(offsets: readonly PartitionOffset[]): void {
    this.#rewinds.setAll(offsets)
  }

  timeout(ms: number): void {
    this.#timeoutMs = ms
  }

  pause(partitions: readonly TopicPartition[]): void {
    const more = new PartitionSet(partitions)
    this.#paused = [...this.#paused.filter(entry => !more.has(entry)), ...partitions]
    if (!this.taskIsPaused) this.#consumer.pause(partitions)
  }

  resume(partitions: readonly TopicPartition[]): void {
    const gone = new PartitionSet(partitions)
    this.#paused = this.#paused.filter(entry => !gone.has(entry))
    if (!this.taskIsPaused) this.#consumer.resume(partitions)
  }

  requestCommit(): void {
    this.#commitRequested = true
  }

  get commitRequested(): boolean {
    return this.#commitRequested
  }

  clearCommitRequest(): void {
    this.#commitRequested = false
  }

  /** Assigned partitions that the task itself paused; others are forgotten. */
  pausedPartitions(): readonly TopicPartition[] {
    const assigned = new PartitionSet(this.#consumer.assignment())
    this.#paused = this.#paused.filter(entry => assigned.has(entry))
    return this.#paused
  }

  /** The timeout that was asked for, once; -1 = none. */
  takeTimeout(): number {
    const timeoutMs = this.#timeoutMs
    this.#timeoutMs = -1
    return timeoutMs
  }

  /** The offsets that were asked for, once. */
  takeRewinds(): readonly PartitionOffset[] {
    const rewinds = this.#rewinds.entries()
    this.#rewinds.clear()
    return rewinds
  }
}
