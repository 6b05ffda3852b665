import {JavaException} from '../connect-engine/errors.ts'
import type {KdlqError} from '../errors.ts'

const COMMON = 'org.apache.kafka.common'

/** What Kafka's own producer throws where a broker refuses a record, by our code; the names do not follow from each other. */
const CLASSES: Readonly<Record<string, string>> = {
  E_MESSAGE_TOO_LARGE: 'errors.RecordTooLargeException',
  E_RECORD_LIST_TOO_LARGE: 'errors.RecordBatchTooLargeException',
  E_INVALID_TIMESTAMP: 'errors.InvalidTimestampException',
  E_INVALID_RECORD: 'InvalidRecordException',
  E_CORRUPT_MESSAGE: 'errors.CorruptRecordException',
  E_INVALID_TOPIC_EXCEPTION: 'errors.InvalidTopicException',
  E_POLICY_VIOLATION: 'errors.PolicyViolationException',
  E_TOPIC_AUTHORIZATION_FAILED: 'errors.TopicAuthorizationException',
  E_CLUSTER_AUTHORIZATION_FAILED: 'errors.ClusterAuthorizationException',
  E_TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'errors.TransactionalIdAuthorizationException',
  E_UNKNOWN_TOPIC_OR_PARTITION: 'errors.UnknownTopicOrPartitionException',
  E_UNSUPPORTED_FOR_MESSAGE_FORMAT: 'errors.UnsupportedForMessageFormatException',
  E_UNSUPPORTED_COMPRESSION_TYPE: 'errors.UnsupportedCompressionTypeException',
  E_NOT_ENOUGH_REPLICAS: 'errors.NotEnoughReplicasException',
  E_NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'errors.NotEnoughReplicasAfterAppendException',
  E_KAFKA_STORAGE_ERROR: 'errors.KafkaStorageException',
  E_NOT_WRITTEN: 'errors.TimeoutException',
  E_REQUEST_TIMED_OUT: 'errors.TimeoutException',
  E_UNREACHABLE: 'errors.TimeoutException',
}

/**
 * A failed write as Kafka's Java producer would name it, so that who filters dead letters by class finds it; else Kafka's
 * general exception. Never retriable to the engine: the client has repeated what can be repeated.
 */
export function produceException({code, message}: Pick<KdlqError, 'code' | 'message'>): JavaException {
  return new JavaException({className: `${COMMON}.${CLASSES[code] ?? 'KafkaException'}`, message, family: 'exception'})
}
