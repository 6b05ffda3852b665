import type {Clock} from '../../clock.ts'
import {BugError, KafkaError, UnreachableError} from '../../errors.ts'
import type {KdlqError} from '../../errors.ts'
import type {CallOptions, OutgoingBatch, ProduceResult} from '../ports.ts'
import {produceApi} from '../protocol/generated/produce.ts'
import type {NodeId} from '../protocol/types.ts'
import type {CompressionType} from '../records/types.ts'
import type {Transport} from '../transport.ts'
import {abortable, EitherSignal} from './abort.ts'
import {Delivery} from './delivery.ts'
import {Leaders} from './leaders.ts'
import type {ProducerIdentity} from './producer-identity.ts'
import {backoffMs, failureOf, mayBeSent} from './retry.ts'

/** How long a leader may wait for its replicas, ms. */
const ACKS_TIMEOUT_MS = 15_000
/** After so long without an answer the batch goes out again, over a new connection, ms. */
const ANSWER_TIMEOUT_MS = 20_000

export interface ProducerDeps {
  readonly transport: Transport
  readonly clock: Clock
}

/** Limits of one call; monotonic ms. */
export interface Round {
  readonly deadline: number
  readonly signal: AbortSignal
}

export interface ProduceSettings {
  readonly compression: CompressionType
  /** Limit for one batch's outcome incl. retries, ms. */
  readonly deliveryTimeoutMs: number
  /** Null = idempotent only. */
  readonly transactionalId: string | null
  /** Newest Produce that may be spoken. */
  readonly maxVersion: number
}

/** As whom the batches of a session are written. */
export interface IdentitySource {
  /**
   * The identity for these attempts, with whatever has to be asked before.
   * @returns null when none is to be had now; the deliveries were told why. Those that have a result then do not go out
   */
  identityFor(open: readonly Delivery[], round: Round): Promise<ProducerIdentity | null>
  /** Every delivery of a call has its result; the next call for these partitions waits for the return of this. */
  settled(deliveries: readonly Delivery[]): void
}

/**
 * Brings batches to their leaders: rounds of requests, one a leader, until each outcome is known. One batch of a
 * partition in flight at a time, all partitions of a call at once.
 */
export class ProduceRounds {
  readonly #deps: ProducerDeps
  readonly #settings: ProduceSettings
  readonly #identities: IdentitySource
  readonly #leaders: Leaders
  readonly #closing = new AbortController()
  /** By partition: the last call that writes to it. */
  readonly #turns = new Map<string, Promise<void>>()

  constructor(deps: ProducerDeps, settings: ProduceSettings, identities: IdentitySource) {
    this.#deps = deps
    this.#settings = settings
    this.#identities = identities
    this.#leaders = new Leaders(deps.transport)
  }

  /** Aborts when the session is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Calls that have not ended. */
  get busy(): boolean {
    return this.#turns.size > 0
  }

  /**
   * See the port. The builders must not change before this settles. When the signal aborts, what was not acknowledged is
   * told at once: `E_OUTCOME_UNKNOWN`, or `E_NOT_WRITTEN` for batches of which no attempt was made.
   */
  async produce(batches: readonly OutgoingBatch[], {signal}: CallOptions = {}): Promise<readonly ProduceResult[]> {
    if (this.#closing.signal.aborted) throw new BugError('the producer is closed')
    const transactional = this.#settings.transactionalId !== null
    const deliveries = batches.map(batch => new Delivery(batch, transactional))
    const partitions = new Set(deliveries.map(({partition}) => partition))
    if (partitions.size < deliveries.length) throw new BugError('one call takes one batch a partition')
    const turn = Promise.withResolvers<void>()
    const before = [...partitions].map(async partition => this.#turns.get(partition))
    for (const partition of partitions) this.#turns.set(partition, turn.promise)
    const deadline = this.#deps.clock.monotonic() + this.#settings.deliveryTimeoutMs
    // No `using`: the parser of the boundary check does not know it.
    const stop = new EitherSignal(signal, this.#closing.signal)
    try {
      await abortable(Promise.all(before), stop.signal)
      await this.#deliver(deliveries, {deadline, signal: stop.signal})
    } catch (error) {
      if (!stop.signal.aborted) throw error
      for (const delivery of deliveries) delivery.end(notWritten(delivery, 'the run was stopped before'))
    } finally {
      stop.release()
      this.#identities.settled(deliveries)
      turn.resolve()
      for (const partition of partitions) {
        if (this.#turns.get(partition) === turn.promise) this.#turns.delete(partition)
      }
    }
    return deliveries.map(({result}) => result ?? missing())
  }

  /** Calls that still run end with what is known. Closing twice is fine; the connection is not this session's to close. */
  async close(): Promise<void> {
    this.#closing.abort(new KafkaError('the producer was closed', {code: 'E_CLOSED'}))
    await Promise.allSettled(this.#turns.values())
  }

  async #deliver(deliveries: readonly Delivery[], round: Round): Promise<void> {
    const {clock} = this.#deps
    let stale = this.#leaders.add(deliveries.map(({batch}) => batch.topic))
    for (let attempt = 1; ; attempt++) {
      const open = deliveries.filter(({result}) => result === null)
      if (open.length === 0) return
      round.signal.throwIfAborted()
      if (!stale || (await this.#refreshed(open, round))) await this.#sendAll(open, round)
      stale = true
      if (open.every(({result}) => result !== null)) return
      const wait = open.some(({needsIdentity, result}) => !needsIdentity && result === null) ? backoffMs(attempt) : 0
      if (clock.monotonic() + wait >= round.deadline) {
        for (const delivery of open) delivery.end(notWritten(delivery, 'the delivery timeout passed before'))
        return
      }
      await clock.sleep(wait, {signal: round.signal})
    }
  }

  /** @returns false when no broker told; the deliveries know why then */
  async #refreshed(open: readonly Delivery[], {signal}: Round): Promise<boolean> {
    try {
      await abortable(this.#leaders.refresh({signal: this.#closing.signal}), signal)
      return true
    } catch (error) {
      signal.throwIfAborted()
      const failure = failureOf(error)
      for (const delivery of open) delivery.failed(failure, {uncertain: false, mayPass: failure.retriable})
      return false
    }
  }

  async #sendAll(open: readonly Delivery[], round: Round): Promise<void> {
    const nodes = new Map<Delivery, NodeId>()
    for (const delivery of open) {
      const leader = this.#leaders.of(delivery.batch.topic, delivery.batch.partition)
      if (leader.state === 'known') nodes.set(delivery, leader.node)
      else delivery.withoutLeader(leader)
    }
    if (nodes.size === 0) return
    const identity = await this.#identities.identityFor([...nodes.keys()], round)
    if (identity === null) return
    const going = [...nodes.keys()].filter(({result}) => result === null)
    const byLeader = Map.groupBy(going, delivery => nodes.get(delivery) ?? -1)
    await Promise.all([...byLeader].map(([node, of]) => this.#send(node, of, identity, round)))
  }

  async #send(node: NodeId, deliveries: readonly Delivery[], identity: ProducerIdentity, round: Round): Promise<void> {
    const {transport, clock} = this.#deps
    const byTopic = Map.groupBy(deliveries, ({batch}) => batch.topic)
    const topicData = [...byTopic].map(([name, of]) => ({
      name,
      partitionData: of.map(delivery => ({
        index: delivery.batch.partition,
        records: delivery.bytesFor(identity, this.#settings.compression),
      })),
    }))
    const left = Math.max(1, Math.ceil(round.deadline - clock.monotonic()))
    const {transactionalId, maxVersion} = this.#settings
    const body = {transactionalId, acks: -1, timeoutMs: Math.min(left, ACKS_TIMEOUT_MS), topicData}
    try {
      const options = {signal: round.signal, maxVersion, timeoutMs: Math.min(left, ANSWER_TIMEOUT_MS)}
      const answer = await transport.send(node, produceApi, body, options)
      const waiting = new Map(deliveries.map(delivery => [delivery.partition, delivery]))
      for (const {name, partitionResponses} of answer.body.responses) {
        for (const part of partitionResponses) {
          const partition = `${name}:${part.index}`
          waiting.get(partition)?.answered(part, node)
          waiting.delete(partition)
        }
      }
      for (const delivery of waiting.values()) {
        const error = lacking(delivery, node)
        delivery.failed(error, {uncertain: true, mayPass: true})
      }
    } catch (error) {
      const failure = round.signal.aborted ? stoppedWaiting() : failureOf(error)
      for (const delivery of deliveries) {
        delivery.failed(failure, {uncertain: mayBeSent(failure), mayPass: failure.retriable})
      }
    }
  }
}

function notWritten({batch: {topic, partition}}: Delivery, why: string): KdlqError {
  const message = `${why} the batch for ${topic}, partition ${partition} was sent`
  return new KafkaError(message, {code: 'E_NOT_WRITTEN', retriable: true, context: {topic, partition}})
}

function lacking({batch: {topic, partition}}: Delivery, broker: NodeId): KdlqError {
  const message = `the broker's answer lacks topic ${topic}, partition ${partition}`
  return new KafkaError(message, {code: 'E_ANSWER_INCOMPLETE', context: {topic, partition, broker}})
}

function stoppedWaiting(): KdlqError {
  const context = {kind: 'closed'}
  return new UnreachableError('the run was stopped before the broker answered', {
    code: 'E_STOPPED',
    retriable: true,
    context,
  })
}

function missing(): never {
  throw new BugError('a delivery ended without a result')
}
