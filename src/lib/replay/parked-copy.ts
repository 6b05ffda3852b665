import {connectHeaders} from '../dialects/connect.ts'
import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'
import type {OutgoingRecord} from '../kafka/records/types.ts'
import type {ChunkEntry, ParkingReason} from './chunk.ts'
import {partitionForKey} from './murmur2.ts'
import {singleBatchBytes} from './record-size.ts'
import {isExpired, outOfRange} from './target.ts'
import type {TargetFacts} from './target.ts'

/** About what the headers about a failed replay add to a record, bytes; the exception's text is of any length. */
const CONTEXT_BYTES = 1024
/** Stands for the class that decided to park a record that was replayed too often. */
const CAP_CLASS = 'kdlq.replay.AttemptCap'

/** A dead letter on its way to the parking topic. */
export interface ParkedCopy {
  readonly place: {readonly topic: string; readonly partition: number}
  readonly entry: ChunkEntry & {readonly parking: ParkingReason}
  readonly record: OutgoingRecord
  /** Bytes of a batch with only this record. */
  readonly bytes: number
}

/**
 * The copy of a dead letter for the parking topic: its key, value and headers as they are, and what is said about the failed
 * replay behind them. Partition by key as Kafka's Java producer, without a key spread; in an archive, its own.
 * @param headers all of them; see `withContext`
 * @param nowMs its time where the topic would refuse or soon delete a record of the dead letter's own
 */
export function parkedCopy(
  facts: TargetFacts,
  entry: ChunkEntry,
  letter: Pick<KafkaRecord, 'key' | 'value' | 'timestamp'> & {readonly headers: readonly RecordHeader[]},
  {reason, nowMs}: {readonly reason: ParkingReason; readonly nowMs: bigint},
): ParkedCopy {
  const {key, value, headers} = letter
  const time = letter.timestamp ?? nowMs
  const keeps = !isExpired(facts, time, nowMs) && outOfRange(facts, time, nowMs) === null
  return {
    place: {topic: facts.topic, partition: partitionOf(facts, entry, key)},
    entry: {...entry, letter: null, parks: false, parking: reason},
    record: {timestamp: keeps ? time : nowMs, key, value, headers},
    bytes: singleBatchBytes({key, value, headers}),
  }
}

/** Headers of a dead letter that is parked because it was replayed as often as allowed. @param run its connector name */
export function capHeaders(letter: KafkaRecord, run: string, message: string): readonly RecordHeader[] {
  const error = {class: CAP_CLASS, message, stack: `${CAP_CLASS}: ${message}\n`}
  const {topic, partition, offset} = letter
  const place = {topic, partition, offset, connector: run, task: 0}
  return [...letter.headers, ...connectHeaders({...place, stage: 'TRANSFORMATION', component: CAP_CLASS, error})]
}

/** Who parked a record, and which: the newest headers say so. Null = nobody, or they are broken. */
export function parkedBy(headers: readonly RecordHeader[]): {readonly run: string; readonly deadLetter: string} | null {
  const newest = (name: string): string | undefined =>
    headers.findLast(header => header.name.equals(Buffer.from(`__connect.errors.${name}`)))?.value?.toString()
  const [topic, partition, offset, run] = ['topic', 'partition', 'offset', 'connector.name'].map(newest)
  if (topic === undefined || partition === undefined || offset === undefined || run === undefined) return null
  return {run, deadLetter: `${topic}:${partition}:${offset}`}
}

/** What a person has to know about a dead letter whose copy may not fit the parking topic; null = nothing. */
export function parkingSizeText(facts: TargetFacts | null, deadLetterBytes: () => number): string | null {
  const most = facts?.maxMessageBytes ?? null
  if (facts === null || most === null) return null
  const bytes = deadLetterBytes() + CONTEXT_BYTES
  if (bytes <= most) return null
  return `a copy has about ${bytes} bytes, ${facts.topic} takes ${most}: counts as failed if it cannot be parked`
}

function partitionOf(facts: TargetFacts, {topic, partition, offset}: ChunkEntry, key: Buffer | null): number {
  if (facts.partitions === null) return partition
  return partitionForKey(key ?? Buffer.from(`${topic}:${partition}:${offset}`), Math.max(1, facts.partitions))
}
