import type {RecordHeader} from '../kafka/record.ts'
import type {ConnectorProperties} from './config.ts'
import type {ConnectHeader, ConnectSchema, RecordChanges, SourceRecord} from './data.ts'
import type {TransformableRecord} from './transforms/transformation.ts'

/** Where a record was written. */
export interface RecordMetadata {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** What a runtime offers to a source task. There is no errant record reporter for sources. */
export interface SourceTaskContext {
  readonly properties: ConnectorProperties
}

/** Reads records from another system. @see Connect's SourceTask */
export interface SourceTask {
  start(context: SourceTaskContext): void | Promise<void>
  /**
   * The next records; null = none for now. It is asked again at once: it waits itself where there is nothing to read.
   * @param signal a stop, or a pause
   */
  poll(options: {readonly signal: AbortSignal}): Promise<readonly SourceRecord[] | null>
  /** Offsets were committed. */
  commit?(): void | Promise<void>
  /** A record was written (metadata) or is not going to be (null). */
  commitRecord?(record: SourceRecord, metadata: RecordMetadata | null): void | Promise<void>
  stop(): void | Promise<void>
}

/** A record for Kafka; a null partition is the producer's choice. */
export interface OutgoingSourceRecord {
  readonly topic: string
  readonly partition: number | null
  /** Epoch ms; null = the producer's time. */
  readonly timestamp: bigint | null
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

/** How far a source was read, in its own words. */
export interface SourceOffset {
  readonly sourcePartition: SourceRecord['sourcePartition']
  readonly sourceOffset: SourceRecord['sourceOffset']
}

/** Any Kafka client in the form in which the runner needs it. */
export interface SourceProducer {
  /**
   * Queue a record. Resolves when it is written, rejects when it is given up.
   * @throws at once (not as a rejection) what keeps the record from being queued
   */
  send(record: OutgoingSourceRecord): Promise<RecordMetadata>
  close(): void | Promise<void>
}

/** Exactly once: records and offsets become true together. */
export interface SourceTransactions {
  begin(): Promise<void>
  /** Write the offsets in the open transaction and commit it. */
  commit(offsets: readonly SourceOffset[]): Promise<void>
}

/** A source record in the form in which transforms change it; source partition and offset stay. */
export class WorkerSourceRecord implements SourceRecord, TransformableRecord<WorkerSourceRecord> {
  readonly sourcePartition: SourceRecord['sourcePartition']
  readonly sourceOffset: SourceRecord['sourceOffset']
  readonly topic: string
  readonly partition: number | null
  readonly keySchema: ConnectSchema | null
  readonly key: unknown
  readonly valueSchema: ConnectSchema | null
  readonly value: unknown
  readonly timestamp: bigint | null
  readonly headers: readonly ConnectHeader[]

  constructor(fields: SourceRecord, changes: RecordChanges = {}) {
    const {topic, partition, keySchema, key, valueSchema, value, timestamp, headers} = {...fields, ...changes}
    this.sourcePartition = fields.sourcePartition
    this.sourceOffset = fields.sourceOffset
    this.topic = topic
    this.partition = partition
    this.keySchema = keySchema
    this.key = key
    this.valueSchema = valueSchema
    this.value = value
    this.timestamp = timestamp
    this.headers = headers
  }

  newRecord(changes: RecordChanges): WorkerSourceRecord {
    return new WorkerSourceRecord(this, changes)
  }
}
