import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'
import type {HeaderTable} from './header-table.ts'
import type {DialectId, Failure} from './model.ts'

/** What one dialect found on one record; merged by `decodeFailure` when several match. */
export interface DialectReading {
  /** The failure as this dialect alone tells it (without `dialect` and `chain`). */
  readonly failure: Omit<Failure, 'dialect' | 'chain'>
  /** Position of this dialect's last header; Infinity for an envelope. Ranks hops. */
  readonly lastHeaderIndex: number
}

/** Decides about one header by its name (compared byte for byte) and its position among all headers of the record. */
export type HeaderTest = (name: Buffer, index: number) => boolean

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
  /**
   * The single failures behind one reading, oldest first, where a family counts them without writing coordinates again;
   * empty when there is only one. Linear in the number of headers.
   */
  history?(headers: HeaderTable, reading: DialectReading['failure']): DialectReading['failure'][]
  /** True for a header that this family added and a replay has to remove. Compared byte for byte. */
  strips(headerName: Buffer): boolean
  /** In place of `strips` where the name alone does not decide: asked once for each record that carries this family. */
  stripsOf?(record: KafkaRecord, headers: HeaderTable): HeaderTest
  /**
   * Headers that did not come from this family itself but from the serializer of its producer, beside or behind its
   * set: a replay that shall equal the original removes them too.
   */
  sideHeaders?(record: KafkaRecord, headers: HeaderTable): HeaderTest
  /** True for a header of this family that breaks the second life of a record when a replay keeps it. */
  harmful?(headerName: Buffer): boolean
  /** True when the dead letter keeps the source record's timestamp. */
  readonly keepsTimestamp: boolean
  /** True when the original time on a replayed record would end its second life early, so that `now` is the default. */
  readonly replaysNow?: boolean
  /** True when a second failure puts its headers in front of the old ones, so that positions do not reveal the order. */
  readonly prepends?: boolean
  /** True for a family of look-alikes: asked only when no other one matched. */
  readonly lastResort?: boolean
  /**
   * One set of headers as this family writes it for a failure, in its order and encoding; what the failure does not tell
   * is left out. Reading it back gives the same failure as far as the family has words for it.
   */
  write?(failure: Failure): RecordHeader[]
}
