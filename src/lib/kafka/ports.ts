/**
 * What kdlq wants of a cluster, and of an archive that stands in for one. The client adapter (client/) and the archive
 * adapter (archive/) implement these and pass one contract test (test/contract). Per-topic and per-partition errors are
 * data: nothing throws for a neighbour's error.
 */
import type {KdlqError} from '../errors.ts'
import type {Offset, TopicName} from './record.ts'
import type {CompressionType, RecordBatchView} from './records/types.ts'
import type {RecordBatchBuilder} from './records/batch-builder.ts'

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

export type IsolationLevel = 'read_committed' | 'read_uncommitted'

export interface ClusterDescription {
  readonly kind: 'kafka' | 'archive'
  /** Kafka's cluster id; for an archive `archive:` and its path. Null when an old broker has none. */
  readonly clusterId: string | null
  /** What a person calls it: the bootstrap servers, or the path. */
  readonly name: string
}

/** A connection to one cluster (or one open archive). Closing twice is fine. */
export interface Cluster extends AsyncDisposable {
  readonly description: ClusterDescription
  readonly reader: ClusterReader
  readonly writer: ClusterWriter
  readonly admin: ClusterAdmin
  close(): Promise<void>
}

export interface TopicDescription {
  readonly name: TopicName
  /** Base64 (URL-safe) topic id; null for archives and brokers without ids. */
  readonly id: string | null
  readonly internal: boolean
  readonly partitions: readonly PartitionDescription[]
  /** Set when this topic could not be described (unknown, not authorised); partitions is empty then. */
  readonly error: KdlqError | null
}

export interface PartitionDescription {
  readonly partition: number
  /** Broker id; null without a leader, and for archives. */
  readonly leader: number | null
  readonly error: KdlqError | null
}

/** `last-stable` is where read_committed readers end; `latest` is the high watermark. */
export type OffsetPoint = 'earliest' | 'latest' | 'last-stable' | {readonly timestampMs: bigint}

export interface OffsetQuery {
  readonly topic: TopicName
  readonly partition: number
  readonly at: OffsetPoint
}

export interface OffsetAnswer {
  readonly topic: TopicName
  readonly partition: number
  /** Null when there is no record at or after the time asked for, or on an error. */
  readonly offset: Offset | null
  readonly error: KdlqError | null
}

/** One partition's share of a read: records with from <= offset < to. */
export interface ReadRange {
  readonly topic: TopicName
  readonly partition: number
  readonly from: Offset
  /** Exclusive. Null = follow: never ends by itself. */
  readonly to: Offset | null
}

export interface ReadRequest {
  readonly ranges: readonly ReadRange[]
  readonly isolationLevel: IsolationLevel
  /** `partition`: by topic, partition, offset in the order of `ranges`; `arrival`: as the brokers answer (faster). */
  readonly order: 'partition' | 'arrival'
  /** Upper bound in bytes a second over the whole read. */
  readonly readRate?: number | undefined
  /**
   * read_committed only: how long a range may stand still below its end because a transaction is open there, before it ends
   * as `incomplete` with reason `open-transaction`; ms since the last progress. 30,000 when absent.
   */
  readonly waitForStableMs?: number | undefined
}

/** Something that a reader of this partition has to be told; also counted in `scanned`. */
export type ReadNotice =
  /** Records between these offsets are gone (retention, deleteRecords) or were never there to read. */
  | {readonly kind: 'gap'; readonly from: Offset; readonly to: Offset}
  /** A batch that could not be read (checksum, lengths, compressed data) was left out. */
  | {readonly kind: 'undecodable'; readonly from: Offset; readonly to: Offset; readonly error: KdlqError}
  /** The partition ended below the range's end (truncated, topic recreated or deleted, an open transaction). */
  | {
      readonly kind: 'incomplete'
      readonly at: Offset
      readonly reason: 'truncated' | 'recreated' | 'deleted' | 'open-transaction' | 'unavailable'
      readonly error: KdlqError | null
    }

/** Some consecutive batches of one partition. The bytes are valid until the consumer asks for the next block. */
export interface RecordBlock {
  readonly topic: TopicName
  readonly partition: number
  /** Data batches only; control batches and (read_committed) aborted ones are left out and counted. */
  readonly batches: readonly RecordBatchView[]
  /** Range bounds: records outside are in the batches but not asked for; `recordsIn` leaves them out. */
  readonly from: Offset
  readonly to: Offset | null
  /** Where the reader stands after this block. */
  readonly nextOffset: Offset
  /** Bytes as they came over the wire or from the file. */
  readonly bytes: number
  readonly controlRecords: number
  readonly abortedRecords: number
  readonly notices: readonly ReadNotice[]
  /** Broker's throttle time of this answer in ms. */
  readonly throttleMs: number
  /** True in the last block of this range. */
  readonly done: boolean
}

export interface ClusterReader {
  /** @param names null = all topics; unknown ones come back with `error` set */
  topics(names: readonly TopicName[] | null, options?: CallOptions): Promise<readonly TopicDescription[]>
  /** Same order and length as the queries. */
  offsets(queries: readonly OffsetQuery[], options?: CallOptions): Promise<readonly OffsetAnswer[]>
  /** Group-less read with back-pressure; ends when every range is done, or throws the signal's reason. */
  read(request: ReadRequest, options?: CallOptions): AsyncIterable<RecordBlock>
}

export interface OutgoingBatch {
  readonly topic: TopicName
  readonly partition: number
  readonly records: RecordBatchBuilder
}

export interface ProduceResult {
  readonly topic: TopicName
  readonly partition: number
  /** Offset of the batch's first record; null on an error, and where the target does not number records. */
  readonly baseOffset: Offset | null
  /** Broker's time for LogAppendTime topics, else null. */
  readonly logAppendTimeMs: bigint | null
  readonly error: KdlqError | null
  /** What the broker says about single records of a refused batch; index from 0. */
  readonly recordErrors: readonly {readonly index: number; readonly message: string | null}[]
}

export interface ProducerOptions {
  readonly compression: CompressionType
  /** acks=all and idempotent always. Null = idempotent only (transactions come with the ledger). */
  readonly transactionalId: string | null
  /** Limit for one batch's outcome incl. retries, ms. */
  readonly deliveryTimeoutMs: number
}

/** One idempotent producer. Several partitions go out at once; within a partition in the order of calls. */
export interface ProducerSession extends AsyncDisposable {
  /**
   * Write; resolves when the outcome of every batch is known, same order and length. At most one batch a partition in one call.
   * An outcome that stays unknown within the delivery timeout is an error with code E_OUTCOME_UNKNOWN.
   */
  produce(batches: readonly OutgoingBatch[], options?: CallOptions): Promise<readonly ProduceResult[]>
  close(): Promise<void>
}

/** Options of a transactional producer; the transaction timeout is what a killed process stalls read_committed readers. */
export interface TransactionOptions {
  readonly transactionalId: string
  readonly compression: CompressionType
  readonly deliveryTimeoutMs: number
  /** `transaction.timeout.ms`, ms */
  readonly transactionTimeoutMs: number
}

/**
 * One transactional producer. Opening it fenced whoever held the transactional id before and ended what that left open.
 *
 * Errors that end it: code E_FENCED (somebody else took the id: stop), E_TRANSACTION_TIMED_OUT and
 * E_TRANSACTION_ABORTABLE (abort, open again, read the ledger again), E_TRANSACTION_UNSETTLED (the outcome of the commit is
 * not known: open again decides).
 */
export interface TransactionSession extends ProducerSession {
  /** 2 = transaction.version 2 (KIP-890), 1 = the older protocol. */
  readonly protocol: 1 | 2
  readonly producerId: bigint
  /** True between the first produce of a transaction and its end. */
  readonly isOpen: boolean
  /** Begin; costs no request. @throws BugError when one is open, the error that ended the session */
  begin(): void
  /**
   * As in `ProducerSession`, but only batches that are surely not written come back with an error: a refused one (split it
   * and go on in this transaction), or `E_NOT_WRITTEN` and other retriable ones. What ends the transaction is thrown, an
   * unknown outcome included.
   * @throws KdlqError as above
   */
  produce(batches: readonly OutgoingBatch[], options?: CallOptions): Promise<readonly ProduceResult[]>
  /** Commit what was produced since `begin`. Nothing produced: no request. @throws KdlqError as above */
  commit(options?: CallOptions): Promise<void>
  /** Abort what was produced since `begin`; nothing to do when the cluster or a twin did it. @throws KdlqError as above */
  abort(options?: CallOptions): Promise<void>
  /** Aborts an open transaction first, for two seconds at most. */
  close(): Promise<void>
}

export interface ClusterWriter {
  open(options: ProducerOptions): Promise<ProducerSession>
  /**
   * InitProducerId for the transactional id, then ready to begin.
   * @throws AuthError (code E_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, names the ACL), UnreachableError (no coordinator),
   * UsageError on a target without transactions (archive)
   */
  openTransactional(options: TransactionOptions, call?: CallOptions): Promise<TransactionSession>
}

export interface NewTopic {
  readonly name: TopicName
  readonly partitions: number
  /** -1 = the broker's default */
  readonly replicationFactor: number
  readonly configs: Readonly<Record<string, string>>
}

export interface ConfigEntry {
  readonly value: string | null
  readonly isDefault: boolean
}

export interface TopicConfigs {
  readonly topic: TopicName
  readonly configs: ReadonlyMap<string, ConfigEntry>
  readonly error: KdlqError | null
}

export interface CommittedOffset {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: Offset
}

/** Who writes to a partition, as its leader sees it (KIP-664). */
export interface ActiveProducer {
  readonly producerId: bigint
  readonly producerEpoch: number
  /** Epoch ms of its last record; null when not known. */
  readonly lastTimestampMs: bigint | null
  /** First offset of its open transaction; null when it has none. */
  readonly transactionStartOffset: Offset | null
}

/** A transactional id as its coordinator knows it (KIP-664). */
export interface TransactionDescription {
  readonly transactionalId: string
  /** Kafka's word: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead, PrepareEpochFence. */
  readonly state: string
  readonly producerId: bigint
  /** Epoch ms; null when none is open. */
  readonly startTimeMs: bigint | null
  readonly timeoutMs: number
}

/** One group as its coordinator lists it. */
export interface GroupListing {
  readonly group: string
  /** Kafka's word in lower case: classic, consumer, share, streams; null from brokers older than 3.8. */
  readonly type: string | null
}

/** Configuration of one group (KIP-848, KIP-932); broker defaults included. */
export interface GroupConfigs {
  readonly group: string
  readonly configs: ReadonlyMap<string, ConfigEntry>
  readonly error: KdlqError | null
}

export interface ClusterAdmin {
  /**
   * Groups over all brokers; only those that may be described.
   * @throws KdlqError when a broker cannot be asked: what is missing would be silent
   */
  groups(options?: CallOptions): Promise<readonly GroupListing[]>
  /** Same order and length; brokers without group configurations answer with an error for each. */
  groupConfigs(groups: readonly string[], options?: CallOptions): Promise<readonly GroupConfigs[]>
  /** Producers of one partition, open transactions included (DescribeProducers). @throws KdlqError */
  activeProducers(topic: TopicName, partition: number, options?: CallOptions): Promise<readonly ActiveProducer[]>
  /** Transactional ids that hold this producer id, over all brokers (ListTransactions, DescribeTransactions). */
  transactionsOf(producerId: bigint, options?: CallOptions): Promise<readonly TransactionDescription[]>
  topicConfigs(topics: readonly TopicName[], options?: CallOptions): Promise<readonly TopicConfigs[]>
  /** @throws KafkaError when the topic exists or the broker refuses; RefusedError on an archive that cannot create it */
  createTopic(topic: NewTopic, options?: CallOptions): Promise<void>
  /** Committed offsets of a group; empty when it has none. @throws KafkaError for an unknown group */
  committedOffsets(groupId: string, options?: CallOptions): Promise<readonly CommittedOffset[]>
}
