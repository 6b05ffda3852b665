/** How a transaction, or its session, ends badly; worded for whoever has to act. */
import {AuthError, KafkaError, UnreachableError, EXIT} from '../../errors.ts'
import type {ErrorDetails, KdlqError} from '../../errors.ts'

const OTHER_MODE = 'or replay without transactions: --delivery at-least-once'

/** Names the ACL that is missing. @param api what was refused */
export function notAuthorized(transactionalId: string, api: string, cause?: KdlqError): AuthError {
  return new AuthError(`not authorized to use transactional id ${transactionalId} (${api})`, {
    code: 'E_TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
    hints: [`grant WRITE and DESCRIBE on TransactionalId \`${transactionalId}\``, OTHER_MODE],
    context: {transactionalId, api, protocolError: 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED'},
    cause,
  })
}

/** The broker does not allow so long a transaction. @param timeoutMs what was asked for, ms */
export function timeoutRefused(transactionalId: string, timeoutMs: number): KafkaError {
  const message = `the broker does not allow a transaction timeout of ${timeoutMs} ms`
  return new KafkaError(message, {
    code: 'E_INVALID_TRANSACTION_TIMEOUT',
    hints: ['it has to be above 0 and at most transaction.max.timeout.ms of the brokers'],
    context: {transactionalId, transactionTimeoutMs: timeoutMs, protocolError: 'INVALID_TRANSACTION_TIMEOUT'},
  })
}

/** No coordinator took the request in time. @param waitedMs for how long it was tried, ms */
export function noCoordinator(transactionalId: string, waitedMs: number, cause: KdlqError): UnreachableError {
  const message = `no transaction coordinator for ${transactionalId} within ${Math.round(waitedMs)} ms`
  return new UnreachableError(message, {
    code: 'E_NO_TRANSACTION_COORDINATOR',
    retriable: true,
    hints: [`the last attempt ended so: ${cause.message}`, 'look at the brokers that lead __transaction_state'],
    context: {transactionalId},
    cause,
  })
}

/** Somebody else opened this transactional id: this process has to stop. */
export function fenced(transactionalId: string, cause: KdlqError): KafkaError {
  return new KafkaError('another process took over this run', {
    code: 'E_FENCED',
    hints: ['what this process had not committed was aborted; the other one goes on'],
    context: {transactionalId},
    cause,
  })
}

/** The coordinator aborted the transaction by itself. @param openMs how long it was open, ms */
export function timedOut(transactionalId: string, openMs: number, timeoutMs: number, cause: KdlqError): KafkaError {
  const message = `the transaction was open for ${Math.round(openMs)} ms, and the broker aborted it after ${timeoutMs} ms`
  return new KafkaError(message, {
    code: 'E_TRANSACTION_TIMED_OUT',
    retriable: true,
    context: {transactionalId, openMs: Math.round(openMs), transactionTimeoutMs: timeoutMs},
    cause,
  })
}

/** The transaction cannot be committed any more; nothing of it was. */
export function abortable(transactionalId: string, cause: KdlqError): KdlqError {
  const details: ErrorDetails = {
    code: 'E_TRANSACTION_ABORTABLE',
    retriable: true,
    hints: [`the cause: ${cause.message}`],
    context: {transactionalId},
    cause,
  }
  const message = 'the transaction has to be aborted'
  return cause.exitCode === EXIT.UNREACHABLE ? new UnreachableError(message, details) : new KafkaError(message, details)
}

/** Nobody told how the transaction ended; opening the transactional id again settles it. */
export function unsettled(transactionalId: string, committed: boolean, cause: unknown): UnreachableError {
  const message = committed
    ? 'it is not known whether the transaction was committed'
    : 'it is not known whether the transaction was aborted yet; it is not committed'
  const why = cause instanceof Error ? [`the last attempt ended so: ${cause.message}`] : []
  return new UnreachableError(message, {
    code: 'E_TRANSACTION_UNSETTLED',
    hints: [...why, 'open the run again: that ends the transaction, and the ledger tells how'],
    context: {transactionalId, committed},
    cause,
  })
}
