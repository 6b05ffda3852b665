import type {DeadLetter, Handled} from '../dead-letter/model.ts'
import {type RecordBytes, letterBytes} from '../dead-letter/dead-letter.ts'
import type {Failure} from '../dialects/model.ts'
import type {TimestampType} from '../kafka/record.ts'
import {type BytesJson, bytesToJson} from './bytes.ts'
import type {DecodedJson} from './decoded-json.ts'

/** One dead letter in every JSON output; a line of `--output jsonl` is a readable archive line. */
export interface DeadLetterJson {
  readonly address: string
  readonly topic: string
  readonly partition: number
  /** int64 as decimal string. */
  readonly offset: string
  /** Epoch ms as decimal string; null when the record has none. */
  readonly timestamp: string | null
  readonly timestampType: TimestampType
  readonly key: BytesJson
  readonly value: BytesJson
  /** In order; names repeat. A name that is not valid UTF-8 has the same form as a value. */
  readonly headers: readonly (readonly [name: BytesJson, value: BytesJson])[]
  readonly failure: Failure
  /** Null when nothing is known about the failure. */
  readonly fingerprint: string | null
  /** Newest entry of the ledger; null = none; absent when no ledger was read. */
  readonly handled?: Handled | null
  /** Sizes of the real record. */
  readonly bytes: RecordBytes
  /** Something is hidden, so that this is not the record: it cannot be imported. */
  readonly redacted?: true
  readonly decoded?: DecodedJson
}

/** @param decoded as `--decode` asks for */
export function deadLetterToJson(deadLetter: DeadLetter, decoded?: DecodedJson): DeadLetterJson {
  const {record} = deadLetter
  return {
    address: deadLetter.address,
    topic: record.topic,
    partition: record.partition,
    offset: record.offset.toString(),
    timestamp: record.timestamp === null ? null : record.timestamp.toString(),
    timestampType: record.timestampType,
    key: bytesToJson(record.key),
    value: bytesToJson(record.value),
    headers: record.headers.map(({name, value}) => [bytesToJson(name), bytesToJson(value)] as const),
    failure: deadLetter.failure,
    fingerprint: deadLetter.fingerprint,
    ...(deadLetter.handled === undefined ? {} : {handled: deadLetter.handled}),
    bytes: letterBytes(deadLetter),
    ...(deadLetter.unredacted === undefined ? {} : {redacted: true as const}),
    ...(decoded === undefined ? {} : {decoded}),
  }
}
