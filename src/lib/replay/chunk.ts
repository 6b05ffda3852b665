import type {KdlqError} from '../errors.ts'
import {RecordBatchBuilder} from '../kafka/records/batch-builder.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import type {OutgoingRecord, RecordCursor, Splice} from '../kafka/records/types.ts'
import type {LedgerOrigin} from './ledger/types.ts'
import type {Outgoing} from './outgoing.ts'

/** Why a dead letter goes to the parking topic instead of its target. */
export interface ParkingReason {
  /** True: it was decided so (replayed too often). False: its replay failed. */
  readonly byPolicy: boolean
  readonly code: string
  readonly message: string
}

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
  /** The dead letter itself, when somebody needs it should the write fail: the parking topic, or the log. */
  readonly letter?: KafkaRecord | null | undefined
  /** When its target refuses it, it is parked: nothing is final then. */
  readonly parks?: boolean | undefined
  /** This is its copy for the parking topic, and why. */
  readonly parking?: ParkingReason | undefined
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
  | {
      readonly state: 'parked'
      readonly entry: ChunkEntry
      readonly reason: ParkingReason
      readonly target: {readonly topic: string; readonly partition: number; readonly offset: bigint | null}
    }
  | {readonly state: 'failed' | 'unknown'; readonly entry: ChunkEntry; readonly error: KdlqError}

/** A record that is not where it should be. */
export type Unwritten = Extract<RecordOutcome, {readonly state: 'failed' | 'unknown'}>

/** True when the record, or its parked copy, was acknowledged. */
export function isWritten(outcome: RecordOutcome): outcome is Exclude<RecordOutcome, Unwritten> {
  return outcome.state === 'replayed' || outcome.state === 'parked'
}

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
  /** Memory of dead letters that are kept until their outcome is known. */
  #heldBytes = 0

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
    if (this.#records >= limits.maxRecords || this.#bytes + this.#heldBytes + recordBytes > limits.maxBytes) return true
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
    const batch = this.#batchOf(target)
    const before = batch.records.sizeInBytes
    if (outgoing.spliceable && cursor !== null) batch.records.appendSpliced(cursor, spliceOf(outgoing, timestamp))
    else batch.records.append({timestamp, key: outgoing.key, value: outgoing.value, headers: outgoing.headers()})
    this.#added(batch, entry, before)
    if (entry.letter !== undefined && entry.letter !== null) this.#heldBytes += heldBytes(entry.letter)
  }

  /** Append a record as it is. @param entry says why it is parked */
  park(place: {readonly topic: string; readonly partition: number}, entry: ChunkEntry, record: OutgoingRecord): void {
    const batch = this.#batchOf(place)
    const before = batch.records.sizeInBytes
    batch.records.append(record)
    this.#added(batch, entry, before)
  }

  #batchOf({topic, partition}: {readonly topic: string; readonly partition: number}): TargetBatch {
    const key = keyOf({topic, partition})
    let batch = this.#batches.get(key)
    if (batch === undefined) {
      batch = {topic, partition, records: new RecordBatchBuilder(), entries: []}
      this.#batches.set(key, batch)
    }
    return batch
  }

  #added(batch: TargetBatch, entry: ChunkEntry, before: number): void {
    batch.entries.push(entry)
    this.#records++
    this.#bytes += batch.records.sizeInBytes - before
  }
}

/** About what a record takes as an object, bytes. */
function heldBytes({key, value, headers}: KafkaRecord): number {
  let bytes = 500 + (key?.length ?? 0) + (value?.length ?? 0)
  for (const {name, value: text} of headers) bytes += 250 + name.length + (text?.length ?? 0)
  return bytes
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
