/** What the headers of a dead letter say, the same for every dialect. Fields that a dialect does not give are absent. */

export interface RecordCoordinates {
  topic?: string
  /** int32; may be negative in corrupt records, then unusable. */
  partition?: number
  /** int64 as decimal string. */
  offset?: string
  /** Epoch ms as decimal string; -1 possible. */
  timestamp?: string
  timestampType?: 'CreateTime' | 'LogAppendTime' | 'NoTimestampType'
}

export interface FailureException {
  class?: string
  message?: string
  /** Root cause class: by header, or by the last `Caused by` at column 0. */
  cause?: string
  causeMessage?: string
  stack?: string
  code?: string
}

export type DialectId = string

/** Facts that a reader noticed while decoding; the words of `Failure.warnings`. */
export type Warning =
  | 'null_header'
  | 'bad_number'
  | 'number_is_text'
  | 'number_is_binary'
  | 'negative_partition'
  | 'negative_offset'
  | 'no_source'
  | 'illegal_topic'
  | 'maybe_topic_id'
  | 'origin_is_dlq'
  | 'origin_from_topic_name'
  | 'invalid_utf8'
  | 'control_chars'
  | 'large_header'
  | 'ragged_hops'
  | 'ambiguous_hop_order'
  | 'exception_is_tostring'
  | 'opaque_java_header'
  | 'value_lost'
  | 'auto_dlq_header'
  | 'maybe_piped_not_dead'
  | 'offset_disagrees'
  | 'multi_record_envelope'
  | 'weak_signature'

/** One decoded failure; JSON as it is. `dialect` is `none` when nothing is known. */
export interface Failure {
  dialect: DialectId
  /** Outermost first; absent when the record has headers of one dialect alone. */
  chain?: DialectId[]
  /** Only if > 1. */
  hops?: number
  /** Where the record failed first: where a replay belongs. */
  origin?: RecordCoordinates
  /** Where it failed most recently; only if hops > 1. */
  last?: RecordCoordinates
  group?: string
  connector?: string
  task?: number
  app?: string
  taskId?: string
  stage?: string
  component?: string
  description?: string
  exception?: FailureException
  keyException?: {class?: string; message?: string; stack?: string}
  /** Failed processing attempts, normalised. */
  attempts?: number
  deliveryAttempt?: number
  kills?: number
  redelivered?: number
  queueId?: string
  traceId?: string
  condition?: string
  /** Epoch ms as decimal strings. */
  dueAt?: string
  failedAt?: string
  firstFailedAt?: string
  failedAtText?: string
  sourceTimestampText?: string
  payload?: 'copied' | 'absent' | 'base64-json' | 'embedded' | 'envelope' | 'value-is-key-copy'
  /** Hex of what failed first, where the record's own key or value is something else. */
  rawKey?: string
  rawValue?: string
  rawHeaders?: [string, string | null][]
  /** Sorted. */
  warnings?: Warning[]
}
