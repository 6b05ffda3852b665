import type {CallOptions, OutgoingBatch, ProduceResult, ProducerOptions, ProducerSession} from '../ports.ts'
import {abortable} from './abort.ts'
import type {Delivery} from './delivery.ts'
import {ProduceRounds} from './produce-rounds.ts'
import type {IdentitySource, ProducerDeps, Round} from './produce-rounds.ts'
import type {ProducerIdentity} from './producer-identity.ts'
import {newIdentity} from './producer-identity.ts'
import {failureOf} from './retry.ts'

/** v8: the broker's text, and which records it refused. Later ones say more only where topics have ids or transactions. */
const MAX_VERSION = 8

/** Idempotent producer: where the broker lost its sequence, it goes on with a new producer id. */
export class IdempotentProducer implements ProducerSession, IdentitySource {
  readonly #deps: ProducerDeps
  readonly #rounds: ProduceRounds
  #identity: ProducerIdentity | null
  #renewing: Promise<ProducerIdentity> | null = null

  constructor(deps: ProducerDeps, options: ProducerOptions, identity: ProducerIdentity) {
    this.#deps = deps
    this.#identity = identity
    this.#rounds = new ProduceRounds(deps, {...options, transactionalId: null, maxVersion: MAX_VERSION}, this)
  }

  async produce(batches: readonly OutgoingBatch[], call?: CallOptions): Promise<readonly ProduceResult[]> {
    return this.#rounds.produce(batches, call)
  }

  async close(): Promise<void> {
    await this.#rounds.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** A new identity where the broker lost the old. */
  async identityFor(open: readonly Delivery[], {deadline, signal}: Round): Promise<ProducerIdentity | null> {
    for (const delivery of open) if (delivery.needsIdentity) this.#discard(delivery.identity)
    if (this.#identity !== null) return this.#identity
    this.#renewing ??= newIdentity(this.#deps, deadline, this.#rounds.closing).finally(() => {
      this.#renewing = null
    })
    try {
      this.#identity = await abortable(this.#renewing, signal)
      return this.#identity
    } catch (error) {
      signal.throwIfAborted()
      const failure = failureOf(error)
      for (const delivery of open) delivery.failed(failure, {uncertain: false, mayPass: failure.retriable})
      return null
    }
  }

  /** The next sequence is not known where an outcome is not: whatever follows is written as another producer. */
  settled(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) if (delivery.outcomeUnknown) this.#discard(delivery.identity)
  }

  #discard(identity: ProducerIdentity | null): void {
    if (this.#identity === identity) this.#identity = null
  }
}
