/** Bytes of a record as an archive line has them: text when they are UTF-8, or base64. */
export type ArchiveBytes = string | {readonly base64: string}

/** One record as Kafka's own tools print it here and take it: nothing is lost, headers keep their order and repeats. */
export interface ArchiveRecord {
  readonly topic: string
  readonly partition: number
  /** Decimal string. */
  readonly offset: string
  /** Epoch ms as a decimal string; `-1` for none. */
  readonly timestamp: string
  readonly timestampType: 'CreateTime' | 'LogAppendTime' | 'NoTimestampType'
  readonly key: ArchiveBytes | null
  readonly value: ArchiveBytes | null
  readonly headers: readonly (readonly [string, ArchiveBytes | null])[]
}

/** A record to write; without partition or timestamp the producer chooses them. */
export interface SourceRecord {
  readonly topic: string
  readonly partition?: number | null
  readonly timestamp?: string | null
  readonly key: ArchiveBytes | null
  readonly value: ArchiveBytes | null
  readonly headers?: readonly (readonly [string, ArchiveBytes | null])[]
}
