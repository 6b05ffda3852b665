import type {CallOptions, TransactionOptions} from '../ports.ts'
import {protocolError} from '../protocol/errors.ts'
import {endTxnApi} from '../protocol/generated/end-txn.ts'
import {initProducerIdApi} from '../protocol/generated/init-producer-id.ts'
import {produceApi} from '../protocol/generated/produce.ts'
import type {NodeId} from '../protocol/types.ts'
import type {Transport} from '../transport.ts'
import type {ProducerDeps} from './produce-rounds.ts'
import {ProducerIdentity} from './producer-identity.ts'
import {CODE} from './retry.ts'
import {TransactionCoordinator} from './transaction-coordinator.ts'
import {fenced, timeoutRefused} from './transaction-errors.ts'
import {TransactionalProducer} from './transaction.ts'

/** v4: a fenced producer has an error code of its own. */
const INIT_VERSION = 4
/** First versions that speak transaction.version 2 (KIP-890); brokers advertise them also where the feature is off. */
const SECOND_PROTOCOL = {feature: 2, produce: 12, endTxn: 5}

/**
 * Take a transactional id: whoever held it is fenced, what it left open is aborted, and its markers are written.
 * @throws AuthError, KafkaError (`E_INVALID_TRANSACTION_TIMEOUT`), UnreachableError without a coordinator within the
 * delivery timeout, the signal's reason
 */
export async function openTransactional(
  deps: ProducerDeps,
  options: TransactionOptions,
  {signal}: CallOptions = {},
): Promise<TransactionalProducer> {
  const {transactionalId, transactionTimeoutMs, deliveryTimeoutMs} = options
  const coordinator = new TransactionCoordinator(deps, transactionalId)
  const deadline = deps.clock.monotonic() + deliveryTimeoutMs
  const body = {transactionalId, transactionTimeoutMs}
  const answer = await coordinator.ask(initProducerIdApi, body, {
    maxVersion: INIT_VERSION,
    deadline,
    signal,
    codeOf: ({errorCode}) => errorCode,
  })
  if (answer.code === CODE.INVALID_TRANSACTION_TIMEOUT) throw timeoutRefused(transactionalId, transactionTimeoutMs)
  if (answer.code !== CODE.NONE) {
    const failure = protocolError(answer.code, initProducerIdApi.name, {transactionalId})
    const twin = answer.code === CODE.PRODUCER_FENCED || answer.code === CODE.INVALID_PRODUCER_EPOCH
    throw twin ? fenced(transactionalId, failure) : failure
  }
  const {producerId, producerEpoch} = answer.body
  const protocol = protocolOf(deps.transport, await coordinator.node(deadline, signal))
  return new TransactionalProducer(deps, {
    ...options,
    coordinator,
    protocol,
    identity: new ProducerIdentity(producerId, producerEpoch),
  })
}

/** The newer protocol only where every broker that may be written to speaks it. */
function protocolOf(transport: Transport, coordinator: NodeId): 1 | 2 {
  if ((transport.features.get('transaction.version') ?? 0) < SECOND_PROTOCOL.feature) return 1
  const nodes = [coordinator, ...transport.nodes().map(({id}) => id)]
  const all = (api: number, version: number): boolean =>
    nodes.every(node => (transport.supports(node, api)?.max ?? -1) >= version)
  return all(produceApi.key, SECOND_PROTOCOL.produce) && all(endTxnApi.key, SECOND_PROTOCOL.endTxn) ? 2 : 1
}
