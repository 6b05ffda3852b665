import type {KafkaRecord, Offset, RecordHeader, TimestampType} from '../record.ts'

export type CompressionType = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'

/**
 * One record batch (message format 2) over the bytes it came in. Nothing is decoded or decompressed until asked for.
 * The archive encodes its lines into the same form, so that everything above reads one shape.
 */
export interface RecordBatchView {
  readonly baseOffset: Offset
  /** Base offset + last offset delta; the next fetch starts one behind it, whatever records the batch still holds. */
  readonly lastOffset: Offset
  readonly partitionLeaderEpoch: number
  readonly compression: CompressionType
  readonly timestampType: TimestampType
  /** Epoch ms, -1 = none. */
  readonly baseTimestamp: bigint
  readonly maxTimestamp: bigint
  readonly isTransactional: boolean
  readonly isControl: boolean
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly baseSequence: number
  /** As the header says; never trusted for allocation. */
  readonly recordCount: number
  /** Bytes of the batch as it came, header included. */
  readonly sizeInBytes: number
  /**
   * Walk the records, oldest first.
   * @throws RecordFormatError if the checksum, a length or the compressed data is wrong
   */
  cursor(): RecordCursor
}

/**
 * A position on one record of a batch: numbers into `bytes`, no object per record or header. All fields belong to the
 * record that the last `next()` moved to and change with the following call.
 */
export interface RecordCursor {
  /** @returns false behind the last record. */
  next(): boolean
  /** Offset minus the batch's base offset. */
  readonly offsetDelta: number
  /** Computed on access (one bigint). */
  readonly offset: Offset
  /** Epoch ms, -1 = none. Computed on access. With LogAppendTime the batch's own time. */
  readonly timestamp: bigint
  readonly timestampType: TimestampType
  /** The decompressed records section that the positions below point into. Valid only until the next batch is opened. */
  readonly bytes: Buffer
  readonly keyStart: number
  /** -1 = null */
  readonly keyLength: number
  readonly valueStart: number
  /** -1 = null */
  readonly valueLength: number
  readonly headerCount: number
  /** First byte of the first header (behind the header count). */
  readonly headersStart: number
  /** One behind the last byte of the last header. */
  readonly headersEnd: number
  /** Bytes of this record as it lies here, length prefix included. */
  readonly sizeInBytes: number
  /** Begin (again) with the first header of this record. */
  rewindHeaders(): void
  /** Move to the next header of this record. @returns false behind the last one */
  nextHeader(): boolean
  readonly headerNameStart: number
  readonly headerNameLength: number
  readonly headerValueStart: number
  /** -1 = null */
  readonly headerValueLength: number
  /** First byte of the current header as a whole (its name's length prefix). */
  readonly headerStart: number
  /** One behind the current header's last byte. */
  readonly headerEnd: number
  /** Move to the first (last) header with exactly this name. @returns false if there is none */
  findHeader(name: Buffer, which: 'first' | 'last'): boolean
  /** A copy that outlives the batch. */
  toRecord(topic: string, partition: number): KafkaRecord
}

/** What `RecordBatchBuilder.append` takes; timestamp null is written as -1. */
export interface OutgoingRecord {
  readonly timestamp: bigint | null
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

/** How `RecordBatchBuilder.appendSpliced` changes a record whose key, value and kept headers are copied as bytes. */
export interface Splice {
  readonly timestamp: bigint | null
  /** Called once a header with the cursor on it; true = leave it out. */
  readonly dropHeader: ((cursor: RecordCursor) => boolean) | null
  /** Appended behind the kept ones, in order. */
  readonly addHeaders: readonly RecordHeader[]
}
