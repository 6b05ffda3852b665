import type {Clock} from '../../clock.ts'
import {AuthError} from '../../errors.ts'
import type {KdlqError} from '../../errors.ts'
import {describeTransactionsApi} from '../protocol/generated/describe-transactions.ts'
import type {ProducerIdentity} from './producer-identity.ts'
import {CODE, failureOf} from './retry.ts'
import type {TransactionCoordinator} from './transaction-coordinator.ts'
import {abortable, fenced, notAuthorized, timedOut} from './transaction-errors.ts'

/** How long the coordinator is asked who holds the id now, ms. */
const PATIENCE_MS = 5_000

/** Answers after which the transaction cannot be committed. */
const ENDS = new Set<unknown>([
  CODE.UNSUPPORTED_VERSION,
  CODE.OUT_OF_ORDER_SEQUENCE_NUMBER,
  CODE.INVALID_PRODUCER_EPOCH,
  CODE.INVALID_TXN_STATE,
  CODE.INVALID_PRODUCER_ID_MAPPING,
  CODE.TRANSACTION_COORDINATOR_FENCED,
  CODE.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
  CODE.UNKNOWN_PRODUCER_ID,
  CODE.PRODUCER_FENCED,
  CODE.TRANSACTION_ABORTABLE,
])
/** The coordinator knows a newer epoch than ours, or no transaction of ours. */
const LOST = new Set<unknown>([
  CODE.INVALID_PRODUCER_EPOCH,
  CODE.PRODUCER_FENCED,
  CODE.INVALID_TXN_STATE,
  CODE.INVALID_PRODUCER_ID_MAPPING,
])
const FENCED = new Set<unknown>([CODE.INVALID_PRODUCER_EPOCH, CODE.PRODUCER_FENCED])

export interface LostTransaction {
  readonly coordinator: TransactionCoordinator
  readonly clock: Clock
  readonly transactionalId: string
  readonly transactionTimeoutMs: number
  /** How long the transaction may have been open at the coordinator, ms; 0 when none was. */
  readonly openMs: number
  readonly identity: ProducerIdentity
}

/** True for an answer that is not about one batch alone. */
export function endsTransaction(error: KdlqError | null): boolean {
  return error !== null && ENDS.has(error.context['protocolCode'])
}

/**
 * Tell a twin from a timeout: both raise the epoch, and answers are alike. A timeout raises it once and takes as long as
 * the timeout; whoever opens the id raises it once more. In doubt it is a twin, since then stopping is right.
 */
export async function endedBy(cause: KdlqError, lost: LostTransaction): Promise<KdlqError> {
  const {transactionalId, transactionTimeoutMs, openMs} = lost
  const code = cause.context['protocolCode']
  // The feature was turned off while we run: opening again over this connection would meet the same.
  if (code === CODE.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) return notAuthorized(transactionalId, 'Produce', cause)
  if (cause instanceof AuthError || code === CODE.UNSUPPORTED_VERSION) return cause
  if (!LOST.has(code)) return abortable(transactionalId, cause)
  if (openMs < transactionTimeoutMs)
    return FENCED.has(code) ? fenced(transactionalId, cause) : abortable(transactionalId, cause)
  const alone = await onlyTimedOut(lost)
  return alone ? timedOut(transactionalId, openMs, transactionTimeoutMs, cause) : fenced(transactionalId, cause)
}

async function onlyTimedOut({coordinator, clock, transactionalId, identity}: LostTransaction): Promise<boolean> {
  const body = {transactionalIds: [transactionalId]}
  const deadline = clock.monotonic() + PATIENCE_MS
  try {
    const answer = await coordinator.ask(describeTransactionsApi, body, {
      maxVersion: 0,
      deadline,
      signal: undefined,
      codeOf: ({transactionStates}) => transactionStates[0]?.errorCode ?? CODE.TRANSACTIONAL_ID_NOT_FOUND,
    })
    const state = answer.body.transactionStates[0]
    if (answer.code !== CODE.NONE || state === undefined) return false
    return state.producerId === identity.producerId && state.producerEpoch === identity.epoch + 1
  } catch (error) {
    failureOf(error)
    return false
  }
}
