import type {Failure} from '../dialects/model.ts'
import {UnreachableError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import {isWritten} from './chunk.ts'
import type {ChunkEntry, ParkingReason, RecordOutcome, Unwritten} from './chunk.ts'
import {sourceOf} from './ledger-judge.ts'
import type {LedgerView} from './ledger-judge.ts'
import {isOffset} from './ledger/names.ts'
import type {LedgerOrigin, LedgerOutcome} from './ledger/types.ts'

/** Where a dead letter failed, as the ledger keeps it; null when the headers name no topic. */
export function ledgerOrigin({origin}: Failure): LedgerOrigin | null {
  if (origin?.topic === undefined) return null
  const {topic, partition = null, offset = null} = origin
  return {topic, partition, offset: offset !== null && isOffset(offset) ? BigInt(offset) : null}
}

/**
 * What is written down about one record; null when nothing is: it was not written because the target could not be reached,
 * so that the run offers it again; or it is about to be parked, and a run that ends before that offers it again too.
 * @param targetClusterId null = the cluster of the ledger itself
 */
export function toLedgerOutcome(
  view: Pick<LedgerView, 'refOf'>,
  outcome: RecordOutcome,
  targetClusterId: string | null,
): LedgerOutcome | null {
  const {entry} = outcome
  if (isWritten(outcome)) {
    return {
      ...common(view, entry),
      state: outcome.state,
      target: {...outcome.target, clusterId: targetClusterId},
      reason: outcome.state === 'parked' ? parkedReason(outcome.reason) : null,
    }
  }
  if (outcome.state === 'unknown' || isNotTried(outcome) || entry.parks === true) return null
  const {code, message} = outcome.error
  const {parking} = entry
  const reason = parking === undefined ? `${code}: ${message}` : `${parkedReason(parking)}; not parked: ${message}`
  return {...common(view, entry), state: 'failed', target: null, reason}
}

/** The target was not there: neither written nor refused. */
export function isNotTried({error}: Unwritten): boolean {
  return isUntried(error)
}

/** As `isNotTried`, by the error. */
export function isUntried(error: KdlqError): boolean {
  return error.code === 'E_NOT_WRITTEN' || error instanceof UnreachableError
}

/** As the ledger keeps it; what was decided begins with the word of `isByPolicy`. */
function parkedReason({byPolicy, code, message}: ParkingReason): string {
  return byPolicy ? message : `${code}: ${message}`
}

function common(
  view: Pick<LedgerView, 'refOf'>,
  entry: ChunkEntry,
): Pick<LedgerOutcome, 'source' | 'origin' | 'sha256' | 'attempt' | 'scanFrom'> {
  const {origin, sha256, attempt} = entry
  return {source: sourceOf(view, entry), origin, sha256, attempt, scanFrom: null}
}
