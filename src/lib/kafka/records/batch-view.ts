import {decompress, type DecompressionScratch} from '../compression/decompress.ts'
import type {Offset, TimestampType} from '../record.ts'
import {crc32c} from './crc32c.ts'
import {messageFormatError, RecordFormatError} from './errors.ts'
import {DEFAULT_LIMITS, type RecordLimits} from './limits.ts'
import {BatchCursor} from './record-cursor.ts'
import type {CompressionType, RecordBatchView, RecordCursor} from './types.ts'

/** Bytes before the records section of a batch of message format 2. */
export const BATCH_HEADER_BYTES = 61
/** Base offset and batch length; the length counts what follows them. */
const LOG_OVERHEAD = 12
const MAGIC_AT = 16
/** Smallest batch length of the oldest message format: what every framing check can rely on. */
const SMALLEST_LENGTH = 14
/** Checksum, attributes: where the checked bytes begin. */
const CRC_AT = 17
const ATTRIBUTES_AT = 21
const LAST_OFFSET_DELTA_AT = 23

const CODECS: readonly CompressionType[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

export interface ParseOptions {
  readonly limits?: RecordLimits | undefined
  /**
   * Output buffer shared by the batches of this reader: a cursor is then valid until the next one is opened. Without it
   * each compressed batch has a buffer of its own.
   */
  readonly scratch?: DecompressionScratch | undefined
}

export interface ParsedBatches {
  /** Whole batches in order, control batches included. */
  readonly batches: readonly RecordBatch[]
  /** Bytes of these batches; what follows is cut off (null error) or unreadable. */
  readonly bytesUsed: number
  /** Why the bytes behind `bytesUsed` could not be taken as a batch; context has its `baseOffset`. */
  readonly error: RecordFormatError | null
}

/**
 * Divide the records section of a fetch answer (or of a log segment) into lazy views; nothing is copied.
 *
 * A batch cut off at the end is left alone, as brokers cut at a byte limit. Never throws: a section that cannot be
 * divided further ends in `error`, with the batches before it.
 * @see Kafka's message format 2 (KIP-98)
 */
export function parseBatches(bytes: Buffer, options: ParseOptions = {}): ParsedBatches {
  const batches: RecordBatch[] = []
  let position = 0
  while (bytes.length - position > MAGIC_AT) {
    const baseOffset = bytes.readBigInt64BE(position)
    const length = bytes.readInt32BE(position + 8)
    const magic = bytes.readInt8(position + MAGIC_AT)
    const fail = (message: string): ParsedBatches => ({
      batches,
      bytesUsed: position,
      error: new RecordFormatError(`malformed record batch: ${message}`, {context: {baseOffset: String(baseOffset)}}),
    })
    if (length < SMALLEST_LENGTH || baseOffset < 0n) return fail(`offset ${baseOffset}, length ${length}`)
    if (magic !== 2) return {batches, bytesUsed: position, error: messageFormatError(magic, String(baseOffset))}
    const size = LOG_OVERHEAD + length
    if (size < BATCH_HEADER_BYTES) return fail(`length ${length}`)
    if (size > bytes.length - position) break
    const batch = bytes.subarray(position, position + size)
    const lastOffsetDelta = batch.readInt32BE(LAST_OFFSET_DELTA_AT)
    if (lastOffsetDelta < 0) return fail(`last offset delta ${lastOffsetDelta}`)
    const codec = batch.readInt16BE(ATTRIBUTES_AT) & 7
    if (codec >= CODECS.length) return fail(`unknown compression ${codec}`)
    batches.push(new RecordBatch(batch, options))
    position += size
  }
  return {batches, bytesUsed: position, error: null}
}

/** One batch of message format 2 over its bytes. Fields are read from the header when asked for. */
export class RecordBatch implements RecordBatchView {
  readonly bytes: Buffer
  readonly #options: ParseOptions
  #verified = false

  /** @param bytes exactly one batch, its header checked by `parseBatches` */
  constructor(bytes: Buffer, options: ParseOptions) {
    this.bytes = bytes
    this.#options = options
  }

  get baseOffset(): Offset {
    return this.bytes.readBigInt64BE(0)
  }

  get lastOffset(): Offset {
    return this.baseOffset + BigInt(this.bytes.readInt32BE(LAST_OFFSET_DELTA_AT))
  }

  get partitionLeaderEpoch(): number {
    return this.bytes.readInt32BE(12)
  }

  get compression(): CompressionType {
    return CODECS[this.bytes.readInt16BE(ATTRIBUTES_AT) & 7] ?? 'none'
  }

  get timestampType(): TimestampType {
    return (this.bytes.readInt16BE(ATTRIBUTES_AT) & 8) === 0 ? 'CreateTime' : 'LogAppendTime'
  }

  get isTransactional(): boolean {
    return (this.bytes.readInt16BE(ATTRIBUTES_AT) & 16) !== 0
  }

  get isControl(): boolean {
    return (this.bytes.readInt16BE(ATTRIBUTES_AT) & 32) !== 0
  }

  get baseTimestamp(): bigint {
    return this.bytes.readBigInt64BE(27)
  }

  get maxTimestamp(): bigint {
    return this.bytes.readBigInt64BE(35)
  }

  get producerId(): bigint {
    return this.bytes.readBigInt64BE(43)
  }

  get producerEpoch(): number {
    return this.bytes.readInt16BE(51)
  }

  get baseSequence(): number {
    return this.bytes.readInt32BE(53)
  }

  get recordCount(): number {
    return this.bytes.readInt32BE(57)
  }

  get sizeInBytes(): number {
    return this.bytes.length
  }

  /**
   * Check the CRC-32C over attributes to end; once, later calls cost nothing.
   * @throws RecordFormatError if it is another one
   */
  verify(): void {
    if (this.#verified) return
    const expected = this.bytes.readUInt32BE(CRC_AT)
    const actual = crc32c(this.bytes.subarray(ATTRIBUTES_AT))
    if (actual !== expected) {
      throw new RecordFormatError('the checksum of a record batch is wrong', {
        context: {baseOffset: String(this.baseOffset), expected, actual},
      })
    }
    this.#verified = true
  }

  cursor(): RecordCursor {
    this.verify()
    const {recordCount} = this
    const limits = this.#options.limits ?? DEFAULT_LIMITS
    if (recordCount < 0) {
      throw new RecordFormatError(`malformed record batch: a record count of ${recordCount}`, {
        context: {baseOffset: String(this.baseOffset)},
      })
    }
    const section = this.bytes.subarray(BATCH_HEADER_BYTES)
    const {scratch} = this.#options
    const usesScratch = scratch !== undefined && this.compression !== 'none'
    const bytes = decompress(this.compression, section, limits.maxDecompressedBytes, scratch)
    const generation = scratch?.generation
    return new BatchCursor(bytes, {
      baseOffset: this.baseOffset,
      lastOffsetDelta: this.bytes.readInt32BE(LAST_OFFSET_DELTA_AT),
      baseTimestamp: this.baseTimestamp,
      batchTimestamp: this.timestampType === 'LogAppendTime' ? this.maxTimestamp : null,
      timestampType: this.timestampType,
      recordCount,
      maxRecordBytes: limits.maxRecordBytes,
      isCurrent: usesScratch ? () => scratch.generation === generation : null,
    })
  }
}
