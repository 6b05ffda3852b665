import {KafkaError} from '../../errors.ts'
import type {KdlqError} from '../../errors.ts'
import type {OutgoingBatch, ProduceResult} from '../ports.ts'
import {isRetriableCode, protocolError} from '../protocol/errors.ts'
import type {ProduceResponsePartitionProduce} from '../protocol/generated/produce.ts'
import type {NodeId} from '../protocol/types.ts'
import type {CompressionType} from '../records/types.ts'
import type {LeaderState} from './leaders.ts'
import type {ProducerIdentity} from './producer-identity.ts'
import {CODE} from './retry.ts'

/**
 * Codes after which the leader may still have the batch: it was appended there before the other replicas, or the answer,
 * failed.
 */
const MAY_BE_WRITTEN = new Set<number>([
  CODE.UNKNOWN_SERVER_ERROR,
  CODE.UNKNOWN_TOPIC_OR_PARTITION,
  CODE.NOT_LEADER_OR_FOLLOWER,
  CODE.REQUEST_TIMED_OUT,
  CODE.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  CODE.KAFKA_STORAGE_ERROR,
])

/** The broker does not know our sequence (any more). */
const SEQUENCE_LOST = new Set<number>([
  CODE.OUT_OF_ORDER_SEQUENCE_NUMBER,
  CODE.UNKNOWN_PRODUCER_ID,
  CODE.INVALID_PRODUCER_EPOCH,
])

const LOOKS_FOR_A_NEW_TOPIC = 4

type RecordErrors = ProduceResult['recordErrors']

interface Failure {
  /** The broker may have the batch all the same. */
  readonly uncertain: boolean
  /** Another attempt is of use. */
  readonly mayPass: boolean
  readonly recordErrors?: RecordErrors
}

/**
 * One batch on its way: the same bytes with the same sequence in every attempt, so that the broker tells a repeat. Once
 * an attempt's outcome is uncertain, only an acknowledgement settles it; every other end is "unknown".
 */
export class Delivery {
  readonly batch: OutgoingBatch
  /** `topic:partition` */
  readonly partition: string
  result: ProduceResult | null = null
  /** The broker lost our sequence and nothing is uncertain: send it again as a new producer. */
  needsIdentity = false
  #encoded: {readonly identity: ProducerIdentity; readonly bytes: Buffer} | null = null
  #uncertain = false
  #renewed = false
  #corrupt = 0
  #unknown = 0
  #error: KdlqError | null = null

  readonly #transactional: boolean

  constructor(batch: OutgoingBatch, transactional: boolean) {
    this.batch = batch
    this.#transactional = transactional
    this.partition = `${batch.topic}:${batch.partition}`
  }

  /** The producer that this batch was encoded for; null before the first attempt. */
  get identity(): ProducerIdentity | null {
    return this.#encoded?.identity ?? null
  }

  /** The batch as it goes out; encoded once for a producer identity. */
  bytesFor(identity: ProducerIdentity, compression: CompressionType): Buffer {
    if (this.#encoded !== null && !this.needsIdentity) return this.#encoded.bytes
    const {producerId, epoch: producerEpoch} = identity
    const baseSequence = identity.next(this.partition)
    const options = {compression, producerId, producerEpoch, baseSequence, transactional: this.#transactional}
    this.#encoded = {identity, bytes: this.batch.records.encode(options)}
    this.needsIdentity = false
    return this.#encoded.bytes
  }

  /** What the leader said about this batch. */
  answered(answer: ProduceResponsePartitionProduce, broker: NodeId): void {
    const {errorCode, baseOffset, logAppendTimeMs, errorMessage} = answer
    const duplicate = errorCode === CODE.DUPLICATE_SEQUENCE_NUMBER
    if (errorCode === CODE.NONE || duplicate) {
      this.#encoded?.identity.written(this.partition, this.batch.records.count)
      this.#settle({
        baseOffset: baseOffset >= 0n ? baseOffset : null,
        logAppendTimeMs: logAppendTimeMs >= 0n ? logAppendTimeMs : null,
        error: null,
      })
      return
    }
    const {topic, partition} = this.batch
    const error = protocolError(errorCode, 'Produce', {topic, partition, broker, message: errorMessage})
    // A transaction cannot go on as another producer.
    if (SEQUENCE_LOST.has(errorCode) && !this.#transactional && !this.#uncertain && !this.#renewed) {
      this.#renewed = true
      this.needsIdentity = true
      this.#error = error
      return
    }
    const mayPass = isRetriableCode(errorCode) && (errorCode !== CODE.CORRUPT_MESSAGE || this.#corrupt++ === 0)
    const recordErrors = answer.recordErrors.map(({batchIndex: index, batchIndexErrorMessage: message}) => ({
      index,
      message,
    }))
    this.failed(error, {uncertain: MAY_BE_WRITTEN.has(errorCode), mayPass, recordErrors})
  }

  /** Metadata names no leader. A topic made a moment ago may be unknown to a broker: it is asked a few times. */
  withoutLeader({state, code}: Exclude<LeaderState, {state: 'known'}>): void {
    const {topic, partition} = this.batch
    const mayPass = state === 'leaderless' || (state === 'missing' && this.#unknown++ < LOOKS_FOR_A_NEW_TOPIC)
    this.failed(protocolError(code, 'Metadata', {topic, partition}), {uncertain: false, mayPass})
  }

  /** An attempt failed. */
  failed(error: KdlqError, {uncertain, mayPass, recordErrors}: Failure): void {
    this.#error = error
    this.#uncertain ||= uncertain
    if (!mayPass) this.end(error, recordErrors)
  }

  /** No further attempt. @param reason why, where no attempt has told */
  end(reason: KdlqError, recordErrors: RecordErrors = []): void {
    if (this.result !== null) return
    const error = this.#error ?? reason
    this.#settle({error: this.#uncertain ? this.#outcomeUnknown(error) : error, recordErrors})
  }

  /** Why the last attempt failed; null without one. */
  get lastError(): KdlqError | null {
    return this.#error
  }

  get outcomeUnknown(): boolean {
    return this.#uncertain && this.result?.error !== null
  }

  #outcomeUnknown(cause: KdlqError): KafkaError {
    const {topic, partition, records} = this.batch
    return new KafkaError(`it is not known whether the batch for ${topic}, partition ${partition} was written`, {
      code: 'E_OUTCOME_UNKNOWN',
      cause,
      hints: [
        `the last attempt ended so: ${cause.message}`,
        'look for its records in the target before sending them again',
      ],
      context: {topic, partition, records: records.count},
    })
  }

  #settle(result: Partial<ProduceResult>): void {
    const {topic, partition} = this.batch
    this.result = {topic, partition, baseOffset: null, logAppendTimeMs: null, error: null, recordErrors: [], ...result}
  }
}
