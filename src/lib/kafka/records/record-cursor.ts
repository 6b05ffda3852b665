import {BugError} from '../../errors.ts'
import type {KafkaRecord, Offset, RecordHeader, TimestampType} from '../record.ts'
import {RecordFormatError} from './errors.ts'
import type {RecordCursor} from './types.ts'
import {VarintReader} from './varint.ts'

/** What a cursor has to know of its batch. */
export interface CursorContext {
  readonly baseOffset: Offset
  readonly lastOffsetDelta: number
  readonly baseTimestamp: bigint
  /** The time of every record of a LogAppendTime batch; null = each record has its own. */
  readonly batchTimestamp: bigint | null
  readonly timestampType: TimestampType
  readonly recordCount: number
  readonly maxRecordBytes: number
  /** False once the bytes belong to somebody else. */
  readonly isCurrent: (() => boolean) | null
}

/**
 * Walks the records section of one batch of message format 2.
 *
 * Every length is checked against the record that it lies in, so that hostile bytes end in RecordFormatError.
 */
export class BatchCursor implements RecordCursor {
  readonly bytes: Buffer
  offsetDelta = 0
  keyStart = 0
  keyLength = -1
  valueStart = 0
  valueLength = -1
  headerCount = 0
  headersStart = 0
  headersEnd = 0
  sizeInBytes = 0
  headerNameStart = 0
  headerNameLength = 0
  headerValueStart = 0
  headerValueLength = -1
  headerStart = 0
  headerEnd = 0
  readonly #reader: VarintReader
  readonly #context: CursorContext
  #recordsLeft: number
  #timestampDelta: number | bigint = 0
  #headersLeft = 0

  constructor(bytes: Buffer, context: CursorContext) {
    this.bytes = bytes
    this.#reader = new VarintReader(bytes)
    this.#context = context
    this.#recordsLeft = context.recordCount
  }

  get offset(): Offset {
    return this.#context.baseOffset + BigInt(this.offsetDelta)
  }

  get timestamp(): bigint {
    const {batchTimestamp, baseTimestamp} = this.#context
    return batchTimestamp ?? BigInt.asIntN(64, baseTimestamp + BigInt(this.#timestampDelta))
  }

  get timestampType(): TimestampType {
    return this.#context.timestampType
  }

  next(): boolean {
    const context = this.#context
    if (context.isCurrent !== null && !context.isCurrent()) {
      throw new BugError('a record cursor was used after its bytes were given to another batch')
    }
    const reader = this.#reader
    const start = this.headersEnd
    const sectionEnd = this.bytes.length
    if (this.#recordsLeft === 0) {
      if (start !== sectionEnd) throw this.#malformed(`${sectionEnd - start} bytes lie behind the last record`)
      return false
    }
    this.#recordsLeft--
    reader.position = start
    reader.end = sectionEnd
    const length = reader.readVarint()
    const bodyStart = reader.position
    if (length < 0 || length > sectionEnd - bodyStart) throw this.#malformed(`a record length of ${length}`)
    if (length > context.maxRecordBytes) {
      throw this.#malformed(`a record of ${length} bytes is larger than the limit of ${context.maxRecordBytes}`)
    }
    const recordEnd = bodyStart + length
    reader.end = recordEnd
    // One byte of attributes, unused in message format 2.
    reader.position = bodyStart + 1
    this.#timestampDelta = reader.readVarlong()
    const offsetDelta = reader.readVarint()
    if (offsetDelta < 0 || offsetDelta > context.lastOffsetDelta) {
      throw this.#malformed(`an offset delta of ${offsetDelta}`)
    }
    this.offsetDelta = offsetDelta
    this.keyLength = this.#nullableLength(recordEnd)
    this.keyStart = reader.position
    if (this.keyLength > 0) reader.position += this.keyLength
    this.valueLength = this.#nullableLength(recordEnd)
    this.valueStart = reader.position
    if (this.valueLength > 0) reader.position += this.valueLength
    const headerCount = reader.readVarint()
    this.headersStart = reader.position
    // A header takes two bytes at least.
    if (headerCount < 0 || headerCount > (recordEnd - reader.position) / 2) {
      throw this.#malformed(`a header count of ${headerCount}`)
    }
    if (headerCount === 0 && reader.position !== recordEnd) throw this.#malformed('bytes behind the headers')
    this.headerCount = headerCount
    this.headersEnd = recordEnd
    this.sizeInBytes = recordEnd - start
    // All of them once, so that nothing about this record can fail later, in the middle of somebody's work.
    this.rewindHeaders()
    while (this.nextHeader());
    this.rewindHeaders()
    return true
  }

  rewindHeaders(): void {
    this.#headersLeft = this.headerCount
    this.headerEnd = this.headersStart
  }

  nextHeader(): boolean {
    if (this.#headersLeft === 0) return false
    this.#headersLeft--
    const reader = this.#reader
    const recordEnd = this.headersEnd
    const start = this.headerEnd
    reader.position = start
    reader.end = recordEnd
    const nameLength = reader.readVarint()
    if (nameLength < 0 || nameLength > recordEnd - reader.position) {
      throw this.#malformed(`a header name length of ${nameLength}`)
    }
    this.headerNameLength = nameLength
    this.headerNameStart = reader.position
    reader.position += nameLength
    const valueLength = this.#nullableLength(recordEnd)
    this.headerValueLength = valueLength
    this.headerValueStart = reader.position
    this.headerStart = start
    this.headerEnd = valueLength > 0 ? reader.position + valueLength : reader.position
    if (this.#headersLeft === 0 && this.headerEnd !== recordEnd) throw this.#malformed('bytes behind the headers')
    return true
  }

  findHeader(name: Buffer, which: 'first' | 'last'): boolean {
    this.rewindHeaders()
    let found = false
    let foundStart = 0
    let leftBehind = 0
    while (this.nextHeader()) {
      if (!this.#headerNameEquals(name)) continue
      if (which === 'first') return true
      found = true
      foundStart = this.headerStart
      leftBehind = this.#headersLeft
    }
    if (!found) return false
    this.headerEnd = foundStart
    this.#headersLeft = leftBehind + 1
    return this.nextHeader()
  }

  toRecord(topic: string, partition: number): KafkaRecord {
    // One copy of the whole record; key, value and headers are slices of it.
    const shift = this.keyStart
    const own = Buffer.from(this.bytes.subarray(shift, this.headersEnd))
    const headers: RecordHeader[] = []
    this.rewindHeaders()
    while (this.nextHeader()) {
      headers.push({
        name: slice(own, this.headerNameStart - shift, this.headerNameLength) ?? own.subarray(0, 0),
        value: slice(own, this.headerValueStart - shift, this.headerValueLength),
      })
    }
    const timestamp = this.timestamp
    return {
      topic,
      partition,
      offset: this.offset,
      timestamp: timestamp === -1n ? null : timestamp,
      timestampType: this.timestampType,
      key: slice(own, 0, this.keyLength),
      value: slice(own, this.valueStart - shift, this.valueLength),
      headers,
    }
  }

  #nullableLength(end: number): number {
    const length = this.#reader.readVarint()
    if (length < -1 || length > end - this.#reader.position) throw this.#malformed(`a length of ${length}`)
    return length
  }

  #headerNameEquals(name: Buffer): boolean {
    const length = this.headerNameLength
    if (length !== name.length) return false
    const {bytes, headerNameStart} = this
    // From the end: names of one family share their beginning.
    for (let index = length - 1; index >= 0; index--) {
      if (bytes[headerNameStart + index] !== name[index]) return false
    }
    return true
  }

  #malformed(what: string): RecordFormatError {
    const {baseOffset, recordCount} = this.#context
    return new RecordFormatError(`malformed record batch: ${what}`, {
      context: {baseOffset: String(baseOffset), recordIndex: recordCount - this.#recordsLeft - 1},
    })
  }
}

function slice(bytes: Buffer, start: number, length: number): Buffer | null {
  return length < 0 ? null : bytes.subarray(start, start + length)
}
