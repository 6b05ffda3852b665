import type {KafkaRecord} from '../kafka/record.ts'
import type {ConnectorProperties} from './config.ts'
import type {SinkRecord} from './data.ts'
import type {ErrantRecordReporter} from './errant-record-reporter.ts'
import type {PartitionOffset} from './partition-offsets.ts'
import type {TopicPartition} from './report-future.ts'

/** What a runtime offers to a sink task. @see Connect's SinkTaskContext */
export interface SinkTaskContext {
  readonly properties: ConnectorProperties
  /** Where to report records that cannot be written; null without dead letter queue and without log (KIP-610). */
  errantRecordReporter(): ErrantRecordReporter | null
  assignment(): readonly TopicPartition[]
  /** Read these partitions from here; takes effect before the next poll. */
  offset(offsets: readonly PartitionOffset[]): void
  /** How long to wait at most before a batch is offered again, ms. */
  timeout(ms: number): void
  pause(partitions: readonly TopicPartition[]): void
  resume(partitions: readonly TopicPartition[]): void
  /** Commit at the next opportunity. */
  requestCommit(): void
}

/** Writes records to another system. @see Connect's SinkTask */
export interface SinkTask {
  start(context: SinkTaskContext): void | Promise<void>
  open?(partitions: readonly TopicPartition[]): void | Promise<void>
  /** Also called without any record. A RetriableException has the same records offered again; anything else ends the task. */
  put(records: readonly SinkRecord[]): void | Promise<void>
  /** Absent = all that was consumed. @returns what may be committed; empty = nothing */
  preCommit?(offsets: readonly PartitionOffset[]): readonly PartitionOffset[] | Promise<readonly PartitionOffset[]>
  close?(partitions: readonly TopicPartition[]): void | Promise<void>
  stop(): void | Promise<void>
}

/** Called inside `poll`, one after the other; the consumer waits for them. They do not throw. */
export interface RebalanceListener {
  onPartitionsAssigned(partitions: readonly TopicPartition[]): Promise<void>
  /** Offsets can still be committed. */
  onPartitionsRevoked(partitions: readonly TopicPartition[]): Promise<void>
  /** Somebody else owns them already. */
  onPartitionsLost(partitions: readonly TopicPartition[]): Promise<void>
}

/** Any Kafka client in the form in which the runner needs it. */
export interface SinkConsumer {
  subscribe(listener: RebalanceListener): void | Promise<void>
  /**
   * Records since the last poll.
   * @param signal ends the wait early; answers what it has, or rejects
   */
  poll(timeoutMs: number, options: {readonly signal: AbortSignal}): Promise<readonly KafkaRecord[]>
  assignment(): readonly TopicPartition[]
  position(partition: TopicPartition): bigint | Promise<bigint>
  seek(partition: TopicPartition, offset: bigint): void
  pause(partitions: readonly TopicPartition[]): void
  resume(partitions: readonly TopicPartition[]): void
  /** Limits its own time: the next commit, and the end of the task, wait for it. */
  commit(offsets: readonly PartitionOffset[]): Promise<void>
  close(): void | Promise<void>
}
