import type {Clock} from '../../clock.ts'
import type {KdlqError} from '../../errors.ts'
import {initProducerIdApi} from '../protocol/generated/init-producer-id.ts'
import {isRetriableCode, protocolError} from '../protocol/errors.ts'
import type {Transport} from '../transport.ts'
import {backoffMs, CODE, failureOf} from './retry.ts'

/** v4: a fenced producer has an error code of its own. */
const MAX_VERSION = 4
/** The broker wants one also where there is no transaction. */
const TRANSACTION_TIMEOUT_MS = 15_000

/** Who the brokers take us for, and the sequence number that each partition expects next (KIP-98). */
export class ProducerIdentity {
  readonly producerId: bigint
  readonly epoch: number
  readonly #sequences = new Map<string, number>()

  constructor(producerId: bigint, epoch: number) {
    this.producerId = producerId
    this.epoch = epoch
  }

  /** Sequence of the next batch of this partition. */
  next(partition: string): number {
    return this.#sequences.get(partition) ?? 0
  }

  /** The batch of `count` records was written; numbers begin at 0 again behind the largest int32. */
  written(partition: string, count: number): void {
    this.#sequences.set(partition, Number(BigInt.asUintN(31, BigInt(this.next(partition)) + BigInt(count))))
  }
}

/**
 * A new producer id from any broker.
 * @param deadline monotonic ms until which errors that pass are waited out
 * @throws KdlqError that the brokers answered last; the signal's reason
 */
export async function newIdentity(
  {transport, clock}: {readonly transport: Transport; readonly clock: Clock},
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<ProducerIdentity> {
  const body = {transactionalId: null, transactionTimeoutMs: TRANSACTION_TIMEOUT_MS}
  for (let attempt = 1; ; attempt++) {
    let failure: KdlqError
    try {
      const {body: answer} = await transport.send('any', initProducerIdApi, body, {signal, maxVersion: MAX_VERSION})
      const {errorCode, producerId, producerEpoch} = answer
      if (errorCode === CODE.NONE) return new ProducerIdentity(producerId, producerEpoch)
      failure = protocolError(errorCode, initProducerIdApi.name)
      if (!isRetriableCode(errorCode)) throw failure
    } catch (error) {
      signal?.throwIfAborted()
      failure = failureOf(error)
      if (!failure.retriable) throw failure
    }
    const wait = backoffMs(attempt)
    if (clock.monotonic() + wait > deadline) throw failure
    await clock.sleep(wait, {signal})
  }
}
