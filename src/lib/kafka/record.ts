/** The words every layer shares: offsets, names, and one record as bytes. No code that talks to anything. */

declare const brand: unique symbol

/** Position in a partition, int64. A decimal string at every edge (JSON, flags, archive lines). */
export type Offset = bigint & {readonly [brand]?: 'Offset'}

/** Name of a topic as Kafka gave it. Hostile text until it was checked with `isLegalTopicName`. */
export type TopicName = string & {readonly [brand]?: 'TopicName'}

/** Kafka's timestamp types, by the names of its Java client. */
export type TimestampType = 'CreateTime' | 'LogAppendTime' | 'NoTimestampType'

/** One header. Names may repeat, be empty, and need not be valid UTF-8; a null value differs from an empty one. */
export interface RecordHeader {
  readonly name: Buffer
  readonly value: Buffer | null
}

/** One record, whole and lossless; its buffers are its own (they outlive the batch that it came from). */
export interface KafkaRecord {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: Offset
  /** Epoch ms; null when the record has none (-1 on the wire). */
  readonly timestamp: bigint | null
  readonly timestampType: TimestampType
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

/** Kafka's rule for topic names: `[A-Za-z0-9._-]{1,249}`, not `.` and not `..`. */
export function isLegalTopicName(name: string): boolean {
  return /^[A-Za-z0-9._-]{1,249}$/.test(name) && name !== '.' && name !== '..'
}

/** `topic:partition:offset`, the name of one record in every command. */
export function formatAddress(record: Pick<KafkaRecord, 'topic' | 'partition' | 'offset'>): string {
  return `${record.topic}:${record.partition}:${record.offset}`
}
