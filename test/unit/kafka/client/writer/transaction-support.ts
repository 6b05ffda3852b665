import {expect} from 'vitest'
import type {TransactionOptions, TransactionSession} from '../../../../../src/lib/kafka/ports.ts'
import {addPartitionsToTxnApi} from '../../../../../src/lib/kafka/protocol/generated/add-partitions-to-txn.ts'
import type {
  AddPartitionsToTxnRequest,
  AddPartitionsToTxnResponse,
} from '../../../../../src/lib/kafka/protocol/generated/add-partitions-to-txn.ts'
import {describeTransactionsApi} from '../../../../../src/lib/kafka/protocol/generated/describe-transactions.ts'
import {endTxnApi} from '../../../../../src/lib/kafka/protocol/generated/end-txn.ts'
import {initProducerIdApi} from '../../../../../src/lib/kafka/protocol/generated/init-producer-id.ts'
import {produceApi} from '../../../../../src/lib/kafka/protocol/generated/produce.ts'
import type {ProduceRequest, ProduceResponse} from '../../../../../src/lib/kafka/protocol/generated/produce.ts'
import {RecordBatchBuilder} from '../../../../../src/lib/kafka/records/batch-builder.ts'
import {parseBatches} from '../../../../../src/lib/kafka/records/batch-view.ts'
import type {OutgoingBatch} from '../../../../../src/lib/kafka/ports.ts'
import {fakeCluster, topic} from '../fake-transport.ts'
import type {FakeCluster} from '../fake-transport.ts'

export const OPTIONS: TransactionOptions = {
  transactionalId: 'kdlq-r1',
  compression: 'none',
  deliveryTimeoutMs: 30_000,
  transactionTimeoutMs: 15_000,
}

/** A broker that leads and coordinates everything and lets all of it succeed. */
export function transactionalCluster(protocol: 1 | 2): FakeCluster {
  const fake = fakeCluster()
  const {transport} = fake
  transport.topics = [topic('t', 4)]
  transport.brokers = [1]
  transport.features.set('transaction.version', protocol)
  transport.on(initProducerIdApi, () => ({throttleTimeMs: 0, errorCode: 0, producerId: 500n, producerEpoch: 3}))
  transport.on(addPartitionsToTxnApi, body => added(body, () => 0))
  transport.on(produceApi, body => produced(body, () => 0))
  transport.on(describeTransactionsApi, () => ({throttleTimeMs: 0, transactionStates: []}))
  transport.on(endTxnApi, ({producerId, producerEpoch}) => ended(0, producerId, producerEpoch + 1))
  return fake
}

export async function opened(
  protocol: 1 | 2,
  options: Partial<TransactionOptions> = {},
): Promise<FakeCluster & {session: TransactionSession}> {
  const fake = transactionalCluster(protocol)
  const session = await fake.cluster.writer.openTransactional({...OPTIONS, ...options})
  return {...fake, session}
}

/** Who holds the transactional id, as its coordinator tells. */
export function heldBy({transport}: FakeCluster, producerEpoch: number, transactionState = 'CompleteAbort'): void {
  transport.on(describeTransactionsApi, ({transactionalIds: [transactionalId = '']}) => ({
    throttleTimeMs: 0,
    transactionStates: [
      {
        errorCode: 0,
        transactionalId,
        transactionState,
        transactionTimeoutMs: 15_000,
        transactionStartTimeMs: -1n,
        producerId: 500n,
        producerEpoch,
        topics: [],
      },
    ],
  }))
}

export function ended(errorCode: number, producerId = -1n, producerEpoch = -1) {
  return {throttleTimeMs: 0, errorCode, producerId, producerEpoch}
}

export function added(
  {v3AndBelowTopics}: AddPartitionsToTxnRequest,
  codeOf: (partition: number) => number,
): AddPartitionsToTxnResponse {
  const resultsByTopicV3AndBelow = v3AndBelowTopics.map(({name, partitions}) => ({
    name,
    resultsByPartition: partitions.map(partitionIndex => ({
      partitionIndex,
      partitionErrorCode: codeOf(partitionIndex),
    })),
  }))
  return {throttleTimeMs: 0, resultsByTopicV3AndBelow}
}

export function produced(body: ProduceRequest, codeOf: (partition: number) => number): ProduceResponse {
  const currentLeader = {leaderId: -1, leaderEpoch: -1}
  const rest = {logAppendTimeMs: -1n, logStartOffset: 0n, recordErrors: [], errorMessage: null, currentLeader}
  const responses = body.topicData.map(({name = '', partitionData}) => ({
    name,
    partitionResponses: partitionData.map(({index}) => {
      const errorCode = codeOf(index)
      return {index, errorCode, baseOffset: errorCode === 0 ? 40n : -1n, ...rest}
    }),
  }))
  return {responses, throttleTimeMs: 0, nodeEndpoints: []}
}

/** All batches that were sent, oldest first. */
export function sentBatches({transport}: FakeCluster): {
  partition: number
  epoch: number
  sequence: number
  transactional: boolean
}[] {
  return transport.bodies(produceApi).flatMap(({topicData}) =>
    topicData.flatMap(({partitionData}) =>
      partitionData.map(({index, records}) => {
        const [batch] = parseBatches(records ?? Buffer.alloc(0)).batches
        if (batch === undefined) throw new Error('the request holds no batch')
        const {producerEpoch: epoch, baseSequence: sequence, isTransactional: transactional} = batch
        return {partition: index, epoch, sequence, transactional}
      }),
    ),
  )
}

/** Names of the requests that were sent since the session was opened. */
export function requests({transport}: FakeCluster): string[] {
  return transport.sent.map(({api}) => api).filter(api => api !== 'InitProducerId')
}

export function outgoing(partition: number, count = 2): OutgoingBatch {
  const records = new RecordBatchBuilder()
  for (let index = 0; index < count; index++) {
    records.append({timestamp: 1_764_500_000_000n, key: null, value: Buffer.from(`v${index}`), headers: []})
  }
  return {topic: 't', partition, records}
}

/** What a promise is rejected with. */
export async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => new Error('nothing failed'),
    (error: unknown) => (error instanceof Error ? error : new Error('not an error', {cause: error})),
  )
}

export async function written(session: TransactionSession, count = 2): Promise<void> {
  session.begin()
  expect(await session.produce([outgoing(0, count)])).toMatchObject([{error: null}])
}
