import {KafkaError, UnreachableError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import {isWritten} from './chunk.ts'
import type {RecordOutcome} from './chunk.ts'
import type {StopReason} from './result.ts'

/** Ends a run from the inside. */
export class Stop extends KafkaError {
  readonly reason: StopReason
  constructor(reason: StopReason, cause: unknown = null) {
    super(`the run was stopped: ${reason}`, {code: 'E_STOPPED', cause})
    this.reason = reason
  }
}

/** Nothing came back: neither an acknowledgement nor a refusal. */
export function isOutOfReach(outcome: RecordOutcome): boolean {
  if (isWritten(outcome)) return false
  return (
    outcome.state === 'unknown' || outcome.error.code === 'E_NOT_WRITTEN' || outcome.error instanceof UnreachableError
  )
}

/** A whole chunk came to nothing: exit 5 whatever its first record's error is on its own. */
export function targetUnreachable(error: KdlqError): UnreachableError {
  const {code, context, hints} = error
  return new UnreachableError(`the target no longer answers: ${error.message}`, {code, context, hints, cause: error})
}

/** Why a run ended, by what ended it. @param outer told it to stop */
export function reasonOf(error: unknown, outer: AbortSignal): StopReason {
  if (error instanceof Stop) return error.reason
  return outer.aborted ? 'signal' : 'error'
}
