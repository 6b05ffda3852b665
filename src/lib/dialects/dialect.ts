import type {KafkaRecord} from '../kafka/record.ts'
import type {DialectId, Failure} from './model.ts'

/** What one dialect found on one record; merged by `decodeFailure` when several match. */
export interface DialectReading {
  /** The failure as this dialect alone tells it (without `dialect` and `chain`). */
  readonly failure: Omit<Failure, 'dialect' | 'chain'>
  /** Index of this dialect's last header; Infinity for an envelope. Ranks hops (spec: dlq-dialects 4.3). */
  readonly lastHeaderIndex: number
}

/**
 * One header family: read, strip, write. A family is one file; `registry.ts` lists them in tie-break order, and adding
 * one is that file and one line there.
 */
export interface Dialect {
  readonly id: DialectId
  /** Words that `--stage` accepts for this family. */
  readonly stages: readonly string[]
  /** Null when the record does not carry this family's signature. Never throws, linear in the record's size. */
  read(record: KafkaRecord): DialectReading | null
  /** True for a header that this family added and a replay has to remove. Compared byte for byte. */
  strips(headerName: Buffer): boolean
  /** True when the dead letter keeps the source record's timestamp (spec: dlq-dialects 4.4). */
  readonly keepsTimestamp: boolean
}
