/** Who holds transactions open: looked up at the leaders and coordinators (KIP-664). */
import type {Clock} from '../../clock.ts'
import type {KdlqError} from '../../errors.ts'
import type {ActiveProducer, CallOptions, TransactionDescription} from '../ports.ts'
import {protocolError} from '../protocol/errors.ts'
import {describeProducersApi} from '../protocol/generated/describe-producers.ts'
import {describeTransactionsApi} from '../protocol/generated/describe-transactions.ts'
import {listTransactionsApi} from '../protocol/generated/list-transactions.ts'
import type {NodeId} from '../protocol/types.ts'
import type {Transport} from '../transport.ts'
import {Leaders} from './leaders.ts'
import {CODE, failureOf} from './retry.ts'
import {untilSettled} from './settle.ts'

interface LookUpDeps {
  readonly transport: Transport
  readonly clock: Clock
}

/** Producers that the partition's leader remembers. @throws KdlqError (no leader, no right to read the topic) */
export async function activeProducers(
  {transport, clock}: LookUpDeps,
  topic: string,
  partition: number,
  options: CallOptions = {},
): Promise<readonly ActiveProducer[]> {
  const leaders = new Leaders(transport)
  leaders.add([topic])
  let producers: readonly ActiveProducer[] = []
  await untilSettled(clock, options, async () => {
    await leaders.refresh(options)
    const leader = leaders.of(topic, partition)
    if (leader.state !== 'known') return protocolError(leader.code, 'Metadata', {topic, partition})
    const body = {topics: [{name: topic, partitionIndexes: [partition]}]}
    const answer = await transport.send(leader.node, describeProducersApi, body, options)
    const part = answer.body.topics.flatMap(({partitions}) => partitions)[0]
    const {errorCode = CODE.UNKNOWN_SERVER_ERROR, errorMessage: message = null} = part ?? {}
    if (errorCode !== CODE.NONE)
      return protocolError(errorCode, describeProducersApi.name, {topic, partition, broker: leader.node, message})
    producers = (part?.activeProducers ?? []).map(producer => ({
      producerId: producer.producerId,
      producerEpoch: producer.producerEpoch,
      lastTimestampMs: producer.lastTimestamp < 0n ? null : producer.lastTimestamp,
      transactionStartOffset: producer.currentTxnStartOffset < 0n ? null : producer.currentTxnStartOffset,
    }))
    return null
  })
  return producers
}

/**
 * Transactional ids of a producer id; each broker tells about those that it coordinates and that may be described.
 * @throws KdlqError when a broker cannot be asked and no other one knows the producer
 */
export async function transactionsOf(
  deps: LookUpDeps,
  producerId: bigint,
  options: CallOptions = {},
): Promise<readonly TransactionDescription[]> {
  await deps.transport.metadata([], options)
  const answers = await Promise.all(
    deps.transport.nodes().map(async ({id}) => {
      try {
        return await atBroker(deps, id, producerId, options)
      } catch (error) {
        options.signal?.throwIfAborted()
        return failureOf(error)
      }
    }),
  )
  const found = answers.flatMap(answer => (answer instanceof Error ? [] : answer))
  const failure = answers.find(answer => answer instanceof Error)
  if (found.length === 0 && failure !== undefined) throw failure
  return found
}

async function atBroker(
  {transport, clock}: LookUpDeps,
  broker: NodeId,
  producerId: bigint,
  options: CallOptions,
): Promise<readonly TransactionDescription[]> {
  let found: readonly TransactionDescription[] = []
  await untilSettled(clock, options, async (): Promise<KdlqError | null> => {
    const filters = {stateFilters: [], producerIdFilters: [producerId]}
    const {body: list} = await transport.send(broker, listTransactionsApi, filters, options)
    if (list.errorCode !== CODE.NONE) return protocolError(list.errorCode, listTransactionsApi.name, {broker})
    const transactionalIds = list.transactionStates.map(({transactionalId}) => transactionalId)
    if (transactionalIds.length === 0) return null
    const {body} = await transport.send(broker, describeTransactionsApi, {transactionalIds}, options)
    // One that moved or expired between the two requests is told about by its new coordinator, or by nobody.
    found = body.transactionStates
      .filter(({errorCode}) => errorCode === CODE.NONE)
      .map(state => ({
        transactionalId: state.transactionalId,
        state: state.transactionState,
        producerId: state.producerId,
        startTimeMs: state.transactionStartTimeMs < 0n ? null : state.transactionStartTimeMs,
        timeoutMs: state.transactionTimeoutMs,
      }))
    return null
  })
  return found
}
