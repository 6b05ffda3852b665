import {AuthError, BugError} from '../../errors.ts'
import type {KdlqError} from '../../errors.ts'
import type {CallOptions, OutgoingBatch, ProduceResult, TransactionOptions, TransactionSession} from '../ports.ts'
import {protocolError} from '../protocol/errors.ts'
import {addPartitionsToTxnApi} from '../protocol/generated/add-partitions-to-txn.ts'
import type {AddPartitionsToTxnResponse} from '../protocol/generated/add-partitions-to-txn.ts'
import {endTxnApi} from '../protocol/generated/end-txn.ts'
import type {EndTxnResponse} from '../protocol/generated/end-txn.ts'
import type {Delivery} from './delivery.ts'
import {ProduceRounds} from './produce-rounds.ts'
import type {IdentitySource, ProducerDeps, Round} from './produce-rounds.ts'
import {ProducerIdentity} from './producer-identity.ts'
import {CODE, failureOf} from './retry.ts'
import type {TransactionCoordinator} from './transaction-coordinator.ts'
import {unsettled} from './transaction-errors.ts'
import {endedBy, endsTransaction} from './transaction-end.ts'

const PRODUCE_VERSION = {1: 8, 2: 12} as const
const END_VERSION = {1: 3, 2: 5} as const
/** Later ones are between brokers. */
const ADD_VERSION = 3
/** Closing with an open transaction aborts it, so that nobody waits for its timeout; it is not tried for longer, ms. */
const CLOSE_PATIENCE_MS = 2_000

export interface TransactionParts extends TransactionOptions {
  readonly coordinator: TransactionCoordinator
  readonly protocol: 1 | 2
  readonly identity: ProducerIdentity
}

/** One moment on both clocks. */
interface Opened {
  readonly monotonicMs: number
  readonly wallMs: number
}

/** One transactional producer in either protocol; the newer one adds partitions with the first write (KIP-890). */
export class TransactionalProducer implements TransactionSession, IdentitySource {
  readonly protocol: 1 | 2
  readonly #deps: ProducerDeps
  readonly #options: TransactionOptions
  readonly #coordinator: TransactionCoordinator
  readonly #rounds: ProduceRounds
  #identity: ProducerIdentity
  #begun = false
  /** Since when a transaction may be open at the coordinator. */
  #opened: Opened | null = null
  /** A batch was acknowledged in this transaction. */
  #written = false
  /** Older protocol: partitions that the coordinator knows to be part of this transaction. */
  readonly #added = new Set<string>()
  /** Why the session cannot go on, from the moment that it is known that it cannot. */
  #ending: Promise<KdlqError> | null = null
  #end: KdlqError | null = null

  constructor(deps: ProducerDeps, {coordinator, protocol, identity, ...options}: TransactionParts) {
    this.#deps = deps
    this.#options = options
    this.#coordinator = coordinator
    this.#identity = identity
    this.protocol = protocol
    const {compression, deliveryTimeoutMs, transactionalId} = options
    const settings = {compression, deliveryTimeoutMs, transactionalId, maxVersion: PRODUCE_VERSION[protocol]}
    this.#rounds = new ProduceRounds(deps, settings, this)
  }

  get producerId(): bigint {
    return this.#identity.producerId
  }

  get isOpen(): boolean {
    return this.#opened !== null
  }

  begin(): void {
    if (this.#end !== null) throw this.#end
    if (this.#begun) throw new BugError('a transaction is open already')
    this.#begun = true
  }

  /** Results hold what was refused for good or not sent, and the transaction goes on; what ends it is thrown. */
  async produce(batches: readonly OutgoingBatch[], call?: CallOptions): Promise<readonly ProduceResult[]> {
    if (!this.#begun) throw new BugError('no transaction was begun')
    const results = await this.#rounds.produce(batches, call)
    if (this.#ending !== null) throw await this.#ending
    return results
  }

  async commit({signal}: CallOptions = {}): Promise<void> {
    if (!this.#begun) throw new BugError('no transaction was begun')
    if (this.#rounds.busy) throw new BugError('a batch is on its way')
    if (this.#ending !== null) throw await this.#ending
    signal?.throwIfAborted()
    // Where nothing was acknowledged, nothing can be lost: an abort is also right where the coordinator knows no partition.
    await this.#endTransaction(this.#written, signal, this.#options.deliveryTimeoutMs)
  }

  async abort({signal}: CallOptions = {}): Promise<void> {
    if (this.#rounds.busy) throw new BugError('a batch is on its way')
    const end = await this.#ending
    if (end !== null && !needsAbort(end)) {
      this.#reset()
      if (end.code === 'E_TRANSACTION_UNSETTLED') throw end
      return
    }
    await this.#endTransaction(false, signal, this.#options.deliveryTimeoutMs)
  }

  async close(): Promise<void> {
    await this.#rounds.close()
    const end = await this.#ending
    if (this.#opened === null || (end !== null && !needsAbort(end))) return
    // Best effort: the coordinator does it itself after the transaction's timeout.
    await this.#endTransaction(false, undefined, CLOSE_PATIENCE_MS).catch(failureOf)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async identityFor(open: readonly Delivery[], {deadline, signal}: Round): Promise<ProducerIdentity | null> {
    if (this.#ending !== null) {
      const end = await this.#ending
      for (const delivery of open) delivery.end(end)
      return null
    }
    const {clock} = this.#deps
    this.#opened ??= {monotonicMs: clock.monotonic(), wallMs: clock.now()}
    const missing = open.filter(({partition}) => !this.#added.has(partition))
    if (this.protocol === 2 || missing.length === 0) return this.#identity
    return (await this.#add(missing, {deadline, signal})) ? this.#identity : null
  }

  settled(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      const {result, lastError, outcomeUnknown} = delivery
      if (result === null || result.error === null) this.#written ||= result !== null
      else if (outcomeUnknown || endsTransaction(lastError)) this.#endWith(lastError ?? result.error)
    }
  }

  /** Older protocol: tell the coordinator before the first write. @returns false when these batches cannot go now */
  async #add(missing: readonly Delivery[], {deadline, signal}: Round): Promise<boolean> {
    const {transactionalId} = this.#options
    const byTopic = Map.groupBy(missing, ({batch}) => batch.topic)
    const body = {
      v3AndBelowTransactionalId: transactionalId,
      v3AndBelowProducerId: this.#identity.producerId,
      v3AndBelowProducerEpoch: this.#identity.epoch,
      v3AndBelowTopics: [...byTopic].map(([name, of]) => ({name, partitions: of.map(({batch}) => batch.partition)})),
    }
    const codeOf = (answer: AddPartitionsToTxnResponse): number => transactionCode(partitionCodes(answer))
    const options = {maxVersion: ADD_VERSION, deadline, signal, codeOf}
    const failed = (failure: KdlqError): false => {
      this.#endWith(failure)
      for (const delivery of missing) delivery.end(failure)
      return false
    }
    try {
      const {body: answer, code} = await this.#coordinator.ask(addPartitionsToTxnApi, body, options)
      if (code !== CODE.NONE) return failed(protocolError(code, addPartitionsToTxnApi.name, {transactionalId}))
      const codes = partitionCodes(answer)
      for (const delivery of missing) this.#addedOrRefused(delivery, codes.get(delivery.partition))
      return missing.every(({partition}) => this.#added.has(partition))
    } catch (error) {
      signal.throwIfAborted()
      return failed(failureOf(error))
    }
  }

  /** One refused partition keeps all of a request out; the others are not attempted and are asked for again. */
  #addedOrRefused(delivery: Delivery, code: number | undefined): void {
    const {topic, partition} = delivery.batch
    if (code === CODE.NONE) this.#added.add(delivery.partition)
    else if (code === CODE.UNKNOWN_TOPIC_OR_PARTITION) delivery.withoutLeader({state: 'missing', code, topicId: null})
    else if (code !== undefined && code !== CODE.OPERATION_NOT_ATTEMPTED)
      delivery.failed(protocolError(code, addPartitionsToTxnApi.name, {topic, partition}), {
        uncertain: false,
        mayPass: false,
      })
  }

  /** EndTxn, again after a lost answer: a coordinator that has ended the transaction says the same once more. */
  async #endTransaction(committed: boolean, signal: AbortSignal | undefined, patienceMs: number): Promise<void> {
    if (this.#opened === null) return this.#reset()
    const {transactionalId} = this.#options
    const {producerId, epoch: producerEpoch} = this.#identity
    const body = {transactionalId, producerId, producerEpoch, committed}
    const deadline = this.#deps.clock.monotonic() + patienceMs
    const codeOf = ({errorCode}: EndTxnResponse): number => errorCode
    const maxVersion = END_VERSION[this.protocol]
    let answer
    try {
      answer = await this.#coordinator.ask(endTxnApi, body, {maxVersion, deadline, signal, codeOf})
    } catch (error) {
      if (signal?.aborted === true) throw this.#finish(unsettled(transactionalId, committed, signal.reason))
      const failure = failureOf(error)
      throw this.#finish(failure instanceof AuthError ? failure : unsettled(transactionalId, committed, failure))
    }
    const nothingOpen = !committed && answer.code === CODE.INVALID_TXN_STATE
    if (answer.code === CODE.NONE || nothingOpen) {
      const {producerId: nextId, producerEpoch: nextEpoch} = answer.body
      if (answer.code === CODE.NONE && this.protocol === 2) this.#identity = new ProducerIdentity(nextId, nextEpoch)
      return this.#reset()
    }
    this.#endWith(protocolError(answer.code, endTxnApi.name, {transactionalId}))
    const end = await this.#ending
    // The coordinator has aborted it already: that is what was asked for.
    if (!committed && end?.code === 'E_TRANSACTION_TIMED_OUT') return this.#reset()
    throw end ?? new BugError('a transaction failed without a reason')
  }

  /** The session is at its end; why exactly is found out aside. */
  #endWith(cause: KdlqError): void {
    this.#ending ??= this.#reasonFor(cause).then(end => this.#finish(end))
  }

  async #reasonFor(cause: KdlqError): Promise<KdlqError> {
    const {transactionalId, transactionTimeoutMs} = this.#options
    const {clock} = this.#deps
    // Only a transaction that is known to have been open can have timed out.
    const opened = this.#written || this.#added.size > 0 ? this.#opened : null
    // A suspended machine stops the monotonic clock, a set clock moves the other: the coordinator's timeout saw the longer.
    const openMs = opened === null ? 0 : Math.max(clock.monotonic() - opened.monotonicMs, clock.now() - opened.wallMs)
    return endedBy(cause, {
      coordinator: this.#coordinator,
      clock,
      transactionalId,
      transactionTimeoutMs,
      openMs,
      identity: this.#identity,
    })
  }

  #finish(end: KdlqError): KdlqError {
    this.#end ??= end
    this.#ending ??= Promise.resolve(this.#end)
    return this.#end
  }

  #reset(): void {
    this.#begun = false
    this.#opened = null
    this.#written = false
    this.#added.clear()
  }
}

/** After these the transaction is not ours to abort: it is ended already, or somebody else's. */
const NOT_OURS = new Set(['E_FENCED', 'E_TRANSACTION_TIMED_OUT', 'E_TRANSACTION_UNSETTLED'])

function needsAbort(end: KdlqError): boolean {
  return !NOT_OURS.has(end.code)
}

const OF_ONE_PARTITION = new Set<number>([
  CODE.UNKNOWN_TOPIC_OR_PARTITION,
  CODE.TOPIC_AUTHORIZATION_FAILED,
  CODE.OPERATION_NOT_ATTEMPTED,
])

function partitionCodes({resultsByTopicV3AndBelow}: AddPartitionsToTxnResponse): Map<string, number> {
  const codes = new Map<string, number>()
  for (const {name, resultsByPartition} of resultsByTopicV3AndBelow) {
    for (const {partitionIndex, partitionErrorCode} of resultsByPartition)
      codes.set(`${name}:${partitionIndex}`, partitionErrorCode)
  }
  return codes
}

/** What concerns the whole transaction stands at every partition. */
function transactionCode(codes: ReadonlyMap<string, number>): number {
  for (const code of codes.values()) if (code !== CODE.NONE && !OF_ONE_PARTITION.has(code)) return code
  return CODE.NONE
}
