import type {KafkaRecord} from '../kafka/record.ts'
import type {HeaderTable} from './header-table.ts'
import type {DialectId, Failure} from './model.ts'

/** What one dialect found on one record; merged by `decodeFailure` when several match. */
export interface DialectReading {
  /** The failure as this dialect alone tells it (without `dialect` and `chain`). */
  readonly failure: Omit<Failure, 'dialect' | 'chain'>
  /** Position of this dialect's last header; Infinity for an envelope. Ranks hops. */
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
  /**
   * Null when the record does not carry this family's signature. Never throws, linear in the record's size.
   * @param headers the record's headers by name, built once for all dialects
   */
  read(record: KafkaRecord, headers: HeaderTable): DialectReading | null
  /** True for a header that this family added and a replay has to remove. Compared byte for byte. */
  strips(headerName: Buffer): boolean
  /** True when the dead letter keeps the source record's timestamp. */
  readonly keepsTimestamp: boolean
  /** True when a second failure puts its headers in front of the old ones, so that positions do not reveal the order. */
  readonly prepends?: boolean
}
