import {BugError} from '../../errors.ts'
import {compress} from '../compression/compress.ts'
import type {Offset, RecordHeader, TimestampType} from '../record.ts'
import {BATCH_HEADER_BYTES} from './batch-view.ts'
import {crc32c} from './crc32c.ts'
import {BatchCursor} from './record-cursor.ts'
import type {CompressionType, OutgoingRecord, RecordBatchView, RecordCursor, Splice} from './types.ts'
import {varintSize, varlongSize, writeVarint, writeVarlong} from './varint.ts'

const CODEC_IDS: Readonly<Record<CompressionType, number>> = {none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4}
const FIRST_CAPACITY = 16_384

export interface EncodeOptions {
  readonly compression: CompressionType
  /** -1 = not idempotent */
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly transactional: boolean
}

/** Where the view of a builder lies in its partition; see `RecordBatchBuilder.view`. */
export interface ViewOptions {
  readonly baseOffset: Offset
  readonly timestampType: TimestampType
}

/**
 * Collects records in the layout of message format 2 and encodes them as one batch; the buffer grows and is reused.
 *
 * The first record's timestamp is the batch's base, the largest its maximum; null is written as -1.
 * @see Kafka's message format 2 (KIP-98)
 */
export class RecordBatchBuilder {
  #buffer = Buffer.allocUnsafeSlow(FIRST_CAPACITY)
  #end = BATCH_HEADER_BYTES
  #count = 0
  #lastOffsetDelta = -1
  #baseTimestamp = -1n
  #maxTimestamp = -1n
  /** Start and end of the header bytes that a splice keeps, by turns. */
  readonly #kept: number[] = []
  #keptBytes = 0
  #keptCount = 0

  /** Records appended since the last reset. */
  get count(): number {
    return this.#count
  }

  /** Bytes of the batch without compression, header included. */
  get sizeInBytes(): number {
    return this.#end
  }

  /** Largest timestamp in epoch ms; -1 when empty or when no record has one. */
  get maxTimestamp(): bigint {
    return this.#maxTimestamp
  }

  /** Forget all records; the buffer stays. */
  reset(): void {
    this.#end = BATCH_HEADER_BYTES
    this.#count = 0
    this.#lastOffsetDelta = -1
    this.#baseTimestamp = -1n
    this.#maxTimestamp = -1n
  }

  /** Bytes that `append` would add to `sizeInBytes`. */
  sizeOf(record: OutgoingRecord): number {
    const body = this.#bodySize(record, this.#timestampDelta(record.timestamp ?? -1n), this.#lastOffsetDelta + 1)
    return varintSize(body) + body
  }

  /** Bytes that `appendSpliced` would add to `sizeInBytes`; asks `dropHeader` about every header. */
  sizeOfSpliced(cursor: RecordCursor, splice: Splice): number {
    const delta = this.#timestampDelta(splice.timestamp ?? -1n)
    const body = this.#splicedBodySize(cursor, splice, delta, this.#lastOffsetDelta + 1)
    return varintSize(body) + body
  }

  /**
   * Append a record.
   * @param offsetDelta position behind the batch's base offset; without it one behind the last record
   * @throws BugError if it does not ascend
   */
  append(record: OutgoingRecord, offsetDelta: number = this.#lastOffsetDelta + 1): void {
    const timestamp = record.timestamp ?? -1n
    const timestampDelta = this.#timestampDelta(timestamp)
    let position = this.#begin(this.#bodySize(record, timestampDelta, offsetDelta), timestampDelta, offsetDelta)
    position = this.#writeBytes(position, record.key)
    position = this.#writeBytes(position, record.value)
    position = writeVarint(this.#buffer, position, record.headers.length)
    this.#commit(this.#writeHeaders(position, record.headers), timestamp, offsetDelta)
  }

  /**
   * Append the record under a cursor: key, value and kept headers are copied as bytes, everything else is new.
   */
  appendSpliced(cursor: RecordCursor, splice: Splice): void {
    const timestamp = splice.timestamp ?? -1n
    const timestampDelta = this.#timestampDelta(timestamp)
    const offsetDelta = this.#lastOffsetDelta + 1
    const bodySize = this.#splicedBodySize(cursor, splice, timestampDelta, offsetDelta)
    let position = this.#begin(bodySize, timestampDelta, offsetDelta)
    const buffer = this.#buffer
    const source = cursor.bytes
    position = writeVarint(buffer, position, cursor.keyLength)
    position += source.copy(buffer, position, cursor.keyStart, valueEnd(cursor))
    position = writeVarint(buffer, position, this.#keptCount + splice.addHeaders.length)
    for (let index = 0; index < this.#kept.length; index += 2) {
      position += source.copy(buffer, position, this.#kept[index], this.#kept[index + 1])
    }
    this.#commit(this.#writeHeaders(position, splice.addHeaders), timestamp, offsetDelta)
  }

  /**
   * Encode as one batch with base offset 0, ready for a Produce request; the result is the caller's own.
   * @throws BugError if there is no record
   */
  encode(options: EncodeOptions): Buffer {
    if (this.#count === 0) throw new BugError('an empty record batch cannot be written')
    const records = this.#buffer.subarray(BATCH_HEADER_BYTES, this.#end)
    const payload = compress(options.compression, records)
    const batch = Buffer.allocUnsafe(BATCH_HEADER_BYTES + payload.length)
    payload.copy(batch, BATCH_HEADER_BYTES)
    batch.writeBigInt64BE(0n, 0)
    batch.writeInt32BE(batch.length - 12, 8)
    batch.writeInt32BE(-1, 12)
    batch.writeInt8(2, 16)
    batch.writeInt16BE(CODEC_IDS[options.compression] | (options.transactional ? 16 : 0), 21)
    batch.writeInt32BE(this.#lastOffsetDelta, 23)
    batch.writeBigInt64BE(this.#baseTimestamp, 27)
    batch.writeBigInt64BE(this.#maxTimestamp, 35)
    batch.writeBigInt64BE(options.producerId, 43)
    batch.writeInt16BE(options.producerEpoch, 51)
    batch.writeInt32BE(options.baseSequence, 53)
    batch.writeInt32BE(this.#count, 57)
    batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
    return batch
  }

  /** The records as a readable batch over this builder's buffer: valid until the next change. */
  view(options: ViewOptions): RecordBatchView {
    const bytes = this.#buffer.subarray(BATCH_HEADER_BYTES, this.#end)
    const recordCount = this.#count
    const baseTimestamp = this.#baseTimestamp
    const lastOffsetDelta = this.#lastOffsetDelta
    return {
      ...options,
      lastOffset: options.baseOffset + BigInt(lastOffsetDelta),
      partitionLeaderEpoch: -1,
      compression: 'none',
      baseTimestamp,
      maxTimestamp: this.#maxTimestamp,
      isTransactional: false,
      isControl: false,
      producerId: -1n,
      producerEpoch: -1,
      baseSequence: -1,
      recordCount,
      sizeInBytes: this.#end,
      cursor: () =>
        new BatchCursor(bytes, {
          ...options,
          lastOffsetDelta,
          baseTimestamp,
          batchTimestamp: null,
          recordCount,
          maxRecordBytes: bytes.length,
          isCurrent: null,
        }),
    }
  }

  /** The records from index `from` to before `to` in a builder of their own, to send them apart. */
  slice(from: number, to: number): RecordBatchBuilder {
    const part = new RecordBatchBuilder()
    const cursor = this.view({baseOffset: 0n, timestampType: 'CreateTime'}).cursor()
    for (let index = 0; index < to && cursor.next(); index++) {
      if (index < from) continue
      part.appendSpliced(cursor, {timestamp: cursor.timestamp, dropHeader: null, addHeaders: []})
    }
    return part
  }

  #timestampDelta(timestamp: bigint): number | bigint {
    if (this.#count === 0) return 0
    const delta = BigInt.asIntN(64, timestamp - this.#baseTimestamp)
    const near = Number(delta)
    return near > -0x8_0000_0000_0000 && near < 0x8_0000_0000_0000 ? near : delta
  }

  #bodySize(record: OutgoingRecord, timestampDelta: number | bigint, offsetDelta: number): number {
    return (
      1 +
      varlongSize(timestampDelta) +
      varintSize(offsetDelta) +
      bytesSize(record.key) +
      bytesSize(record.value) +
      varintSize(record.headers.length) +
      headersSize(record.headers)
    )
  }

  #splicedBodySize(cursor: RecordCursor, splice: Splice, timestampDelta: number | bigint, offsetDelta: number): number {
    this.#keepHeaders(cursor, splice.dropHeader)
    return (
      1 +
      varlongSize(timestampDelta) +
      varintSize(offsetDelta) +
      varintSize(cursor.keyLength) +
      (valueEnd(cursor) - cursor.keyStart) +
      varintSize(this.#keptCount + splice.addHeaders.length) +
      this.#keptBytes +
      headersSize(splice.addHeaders)
    )
  }

  /** Note which header bytes stay; neighbours become one piece. */
  #keepHeaders(cursor: RecordCursor, dropHeader: Splice['dropHeader']): void {
    const kept = this.#kept
    kept.length = 0
    if (dropHeader === null) {
      this.#keptCount = cursor.headerCount
      this.#keptBytes = cursor.headersEnd - cursor.headersStart
      kept.push(cursor.headersStart, cursor.headersEnd)
      return
    }
    this.#keptBytes = 0
    this.#keptCount = 0
    cursor.rewindHeaders()
    while (cursor.nextHeader()) {
      const {headerStart, headerEnd} = cursor
      if (dropHeader(cursor)) continue
      this.#keptCount++
      this.#keptBytes += headerEnd - headerStart
      if (kept.length > 0 && kept[kept.length - 1] === headerStart) kept[kept.length - 1] = headerEnd
      else kept.push(headerStart, headerEnd)
    }
  }

  #begin(bodySize: number, timestampDelta: number | bigint, offsetDelta: number): number {
    if (offsetDelta <= this.#lastOffsetDelta) throw new BugError('offsets of a record batch have to ascend')
    this.#reserve(varintSize(bodySize) + bodySize)
    const buffer = this.#buffer
    let position = writeVarint(buffer, this.#end, bodySize)
    buffer[position++] = 0
    position = writeVarlong(buffer, position, timestampDelta)
    return writeVarint(buffer, position, offsetDelta)
  }

  #commit(end: number, timestamp: bigint, offsetDelta: number): void {
    if (this.#count === 0) this.#baseTimestamp = timestamp
    if (timestamp > this.#maxTimestamp) this.#maxTimestamp = timestamp
    this.#end = end
    this.#count++
    this.#lastOffsetDelta = offsetDelta
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.#buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(grown, 0, 0, this.#end)
    this.#buffer = grown
  }

  #writeBytes(position: number, bytes: Buffer | null): number {
    if (bytes === null) return writeVarint(this.#buffer, position, -1)
    const start = writeVarint(this.#buffer, position, bytes.length)
    return start + bytes.copy(this.#buffer, start)
  }

  #writeHeaders(position: number, headers: readonly RecordHeader[]): number {
    let end = position
    for (const header of headers) end = this.#writeBytes(this.#writeBytes(end, header.name), header.value)
    return end
  }
}

function valueEnd(cursor: RecordCursor): number {
  return cursor.valueLength > 0 ? cursor.valueStart + cursor.valueLength : cursor.valueStart
}

function bytesSize(bytes: Buffer | null): number {
  return bytes === null ? 1 : varintSize(bytes.length) + bytes.length
}

function headersSize(headers: readonly RecordHeader[]): number {
  let size = 0
  for (const header of headers) size += bytesSize(header.name) + bytesSize(header.value)
  return size
}
