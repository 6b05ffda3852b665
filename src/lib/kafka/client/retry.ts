/** When to ask again, and how long to wait before. Which codes are retriable at all is Kafka's own table (protocol/). */
import {isKdlqError} from '../../errors.ts'
import type {KdlqError} from '../../errors.ts'

/** Protocol error codes that the client acts on by itself; the names are Kafka's. */
export const CODE = {
  UNKNOWN_SERVER_ERROR: -1,
  NONE: 0,
  OFFSET_OUT_OF_RANGE: 1,
  CORRUPT_MESSAGE: 2,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  LEADER_NOT_AVAILABLE: 5,
  NOT_LEADER_OR_FOLLOWER: 6,
  REQUEST_TIMED_OUT: 7,
  COORDINATOR_LOAD_IN_PROGRESS: 14,
  COORDINATOR_NOT_AVAILABLE: 15,
  NOT_COORDINATOR: 16,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 20,
  TOPIC_AUTHORIZATION_FAILED: 29,
  UNSUPPORTED_VERSION: 35,
  TOPIC_ALREADY_EXISTS: 36,
  OUT_OF_ORDER_SEQUENCE_NUMBER: 45,
  DUPLICATE_SEQUENCE_NUMBER: 46,
  INVALID_PRODUCER_EPOCH: 47,
  INVALID_TXN_STATE: 48,
  INVALID_PRODUCER_ID_MAPPING: 49,
  INVALID_TRANSACTION_TIMEOUT: 50,
  CONCURRENT_TRANSACTIONS: 51,
  TRANSACTION_COORDINATOR_FENCED: 52,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 53,
  OPERATION_NOT_ATTEMPTED: 55,
  KAFKA_STORAGE_ERROR: 56,
  UNKNOWN_PRODUCER_ID: 59,
  GROUP_ID_NOT_FOUND: 69,
  PRODUCER_FENCED: 90,
  UNKNOWN_TOPIC_ID: 100,
  TRANSACTIONAL_ID_NOT_FOUND: 105,
  TRANSACTION_ABORTABLE: 120,
} as const

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 1_000

/**
 * Wait before the next attempt; doubles from 50 ms to 1 s.
 * @param failures failed attempts in a row, from 1
 * @returns delay in ms
 */
export function backoffMs(failures: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(10, failures - 1))
}

/**
 * What was thrown, as an error of ours.
 * @throws what is none: a bug is never retried
 */
export function failureOf(error: unknown): KdlqError {
  if (isKdlqError(error)) return error
  throw error
}

/** True when a request may have reached the broker although no answer came. */
export function mayBeSent(error: KdlqError): boolean {
  const {kind} = error.context
  return kind === 'timeout' || kind === 'closed'
}
