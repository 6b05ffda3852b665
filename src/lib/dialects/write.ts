import type {RecordHeader} from '../kafka/record.ts'
import type {Dialect} from './dialect.ts'
import type {DialectId, Failure} from './model.ts'
import {DIALECTS} from './registry.ts'

/** Families that can be written. */
export function writableDialects(dialects: readonly Dialect[] = DIALECTS): DialectId[] {
  return dialects.filter(dialect => dialect.write !== undefined).map(({id}) => id)
}

/**
 * The headers of a record with one more failure on it, as a family writes them: in front of those that are there or
 * behind them, in its own encoding, so that the tools of its world read what was parked.
 * @returns null when that family is not written here
 */
export function writeFailure(
  headers: readonly RecordHeader[],
  failure: Failure,
  as: DialectId,
  dialects: readonly Dialect[] = DIALECTS,
): RecordHeader[] | null {
  const dialect = dialects.find(({id}) => id === as)
  if (dialect?.write === undefined) return null
  const set = dialect.write(failure)
  return dialect.prepends === true ? [...set, ...headers] : [...headers, ...set]
}
