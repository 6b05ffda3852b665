import type {KdlqError} from '../errors.ts'
import {RecordBatchBuilder} from '../kafka/records/batch-builder.ts'
import type {RecordCursor, Splice} from '../kafka/records/types.ts'
import type {LedgerOrigin} from './ledger/types.ts'
import type {Outgoing} from './outgoing.ts'

/** What is remembered of a record until its outcome is known. */
export interface ChunkEntry {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly attempt: number
  /** Null when the headers name no topic. */
  readonly origin: LedgerOrigin | null
  /** Of the dead letter's key and value; see `payloadSha256`. */
  readonly sha256: Buffer
}

/** The records of one chunk that go to one partition, in order; `entries[i]` is record i of `records`. */
export interface TargetBatch {
  readonly topic: string
  readonly partition: number
  readonly records: RecordBatchBuilder
  readonly entries: ChunkEntry[]
}

/** What became of one record. A target offset is null where the target does not number records. */
export type RecordOutcome =
  | {
      readonly state: 'replayed'
      readonly entry: ChunkEntry
      readonly target: {readonly topic: string; readonly partition: number; readonly offset: bigint | null}
    }
  | {readonly state: 'failed' | 'unknown'; readonly entry: ChunkEntry; readonly error: KdlqError}

/** Bounds of one chunk. */
export interface ChunkLimits {
  readonly maxRecords: number
  readonly maxBytes: number
}

/** Records that are written together: collected without waiting, then written in one go. */
export class Chunk {
  readonly #batches = new Map<string, TargetBatch>()
  #records = 0
  #bytes = 0

  get records(): number {
    return this.#records
  }

  get bytes(): number {
    return this.#bytes
  }

  batches(): readonly TargetBatch[] {
    return [...this.#batches.values()]
  }

  /** True when one more record of this size has to go into the next chunk. An empty chunk takes every record. */
  isFull(
    limits: ChunkLimits,
    target: {topic: string; partition: number},
    batchBytes: number,
    recordBytes: number,
  ): boolean {
    if (this.#records === 0) return false
    if (this.#records >= limits.maxRecords || this.#bytes + recordBytes > limits.maxBytes) return true
    const batch = this.#batches.get(keyOf(target))
    return batch !== undefined && batch.records.sizeInBytes + recordBytes > batchBytes
  }

  /**
   * Append a dead letter; its bytes are copied.
   * @param cursor stands on it; null = it is no longer in a block
   * @param timestamp epoch ms
   */
  add(
    target: {readonly topic: string; readonly partition: number},
    entry: ChunkEntry,
    cursor: RecordCursor | null,
    outgoing: Outgoing,
    timestamp: bigint,
  ): void {
    let batch = this.#batches.get(keyOf(target))
    if (batch === undefined) {
      batch = {topic: target.topic, partition: target.partition, records: new RecordBatchBuilder(), entries: []}
      this.#batches.set(keyOf(target), batch)
    }
    const before = batch.records.sizeInBytes
    if (outgoing.spliceable && cursor !== null) batch.records.appendSpliced(cursor, spliceOf(outgoing, timestamp))
    else batch.records.append({timestamp, key: outgoing.key, value: outgoing.value, headers: outgoing.headers()})
    batch.entries.push(entry)
    this.#records++
    this.#bytes += batch.records.sizeInBytes - before
  }
}

/** For one `appendSpliced`: it asks about every header once, in order. */
function spliceOf({drops, addHeaders}: Outgoing, timestamp: bigint): Splice {
  let index = 0
  return {
    timestamp,
    dropHeader: at => drops(at.bytes.subarray(at.headerNameStart, at.headerNameStart + at.headerNameLength), index++),
    addHeaders,
  }
}

function keyOf({topic, partition}: {readonly topic: string; readonly partition: number}): string {
  return `${partition} ${topic}`
}
