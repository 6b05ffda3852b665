import {BugError} from '../../errors.ts'
import type {
  CallOptions,
  ClusterWriter,
  ProducerOptions,
  ProducerSession,
  TransactionOptions,
  TransactionSession,
} from '../ports.ts'
import {IdempotentProducer} from './producer.ts'
import type {ProducerDeps} from './produce-rounds.ts'
import {newIdentity} from './producer-identity.ts'
import {openTransactional} from './transaction-open.ts'

/** Writes to a cluster; nothing is sent to it before `open`. */
export class KafkaWriter implements ClusterWriter {
  readonly #deps: ProducerDeps

  constructor(deps: ProducerDeps) {
    this.#deps = deps
  }

  /** @throws KdlqError when no producer id is to be had within the delivery timeout (no right to write, no broker) */
  async open(options: ProducerOptions): Promise<ProducerSession> {
    if (options.transactionalId !== null)
      throw new BugError('this session has no begin and commit to end a transaction')
    const deadline = this.#deps.clock.monotonic() + options.deliveryTimeoutMs
    return new IdempotentProducer(this.#deps, options, await newIdentity(this.#deps, deadline, undefined))
  }

  openTransactional(options: TransactionOptions, call?: CallOptions): Promise<TransactionSession> {
    return openTransactional(this.#deps, options, call)
  }
}
