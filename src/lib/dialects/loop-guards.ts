import type {RecordHeader} from '../kafka/record.ts'
import {headerName} from './primitives.ts'

/** Names that applications of several worlds count their own retries under; data, no family. */
const GUARDS = ['x-retries', 'retries', 'x-replay-count'].map(headerName)

/**
 * True for a header with which an application counts how often it saw a record. No family owns it, so a replay keeps it; a
 * count of the first life may end the second one early.
 */
export function isLoopGuard({name}: RecordHeader): boolean {
  return GUARDS.some(guard => guard.equals(name))
}
