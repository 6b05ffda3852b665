import {describe, expect, test} from 'vitest'
import {describeProducersApi} from '../../../../../src/lib/kafka/protocol/generated/describe-producers.ts'
import {describeTransactionsApi} from '../../../../../src/lib/kafka/protocol/generated/describe-transactions.ts'
import {listTransactionsApi} from '../../../../../src/lib/kafka/protocol/generated/list-transactions.ts'
import {connectionLost, fakeCluster, topic} from '../fake-transport.ts'

type Producer = readonly [producerId: bigint, lastTimestamp: bigint, currentTxnStartOffset: bigint]

function producers(errorCode: number, ...all: readonly Producer[]) {
  const activeProducers = all.map(([producerId, lastTimestamp, currentTxnStartOffset]) => ({
    producerId,
    producerEpoch: 4,
    lastSequence: 9,
    lastTimestamp,
    coordinatorEpoch: 0,
    currentTxnStartOffset,
  }))
  const partitions = [{partitionIndex: 1, errorCode, errorMessage: null, activeProducers}]
  return {throttleTimeMs: 0, topics: [{name: 't', partitions}]}
}

describe('activeProducers', () => {
  test('as the leader of the partition sees them; what it does not know is null', async () => {
    const {transport, cluster} = fakeCluster()
    transport.topics = [topic('t', 2, {leader: 7})]
    transport.on(describeProducersApi, () => producers(0, [1n, 1_764_500_000_000n, 33n], [2n, -1n, -1n]))
    expect(await cluster.admin.activeProducers('t', 1)).toEqual([
      {producerId: 1n, producerEpoch: 4, lastTimestampMs: 1_764_500_000_000n, transactionStartOffset: 33n},
      {producerId: 2n, producerEpoch: 4, lastTimestampMs: null, transactionStartOffset: null},
    ])
    expect(transport.sent).toMatchObject([{to: 7, body: {topics: [{name: 't', partitionIndexes: [1]}]}}])
  })

  test('goes to the new leader, and tells what does not pass', async () => {
    const {transport, cluster} = fakeCluster()
    transport.topics = [topic('t', 2)]
    const codes = [6, 0]
    transport.on(describeProducersApi, () => producers(codes.shift() ?? 29))
    expect(await cluster.admin.activeProducers('t', 1)).toEqual([])
    expect(transport.metadataCalls).toBe(2)
    await expect(cluster.admin.activeProducers('t', 1)).rejects.toMatchObject({code: 'E_TOPIC_AUTHORIZATION_FAILED'})
  })
})

describe('transactionsOf', () => {
  const state = (transactionalId: string, errorCode = 0, transactionStartTimeMs = 5n) => ({
    errorCode,
    transactionalId,
    transactionState: 'Ongoing',
    transactionTimeoutMs: 15_000,
    transactionStartTimeMs,
    producerId: 9n,
    producerEpoch: 0,
    topics: [],
  })
  const listed = (errorCode: number, ...ids: readonly string[]) => ({
    throttleTimeMs: 0,
    errorCode,
    unknownStateFilters: [],
    transactionStates: ids.map(transactionalId => ({transactionalId, producerId: 9n, transactionState: 'Ongoing'})),
  })

  test('asks every broker, and each about what it coordinates', async () => {
    const {transport, cluster} = fakeCluster()
    transport.brokers = [1, 2, 3]
    const busy = [14]
    transport.on(listTransactionsApi, ({producerIdFilters}, {to}) => {
      expect(producerIdFilters).toEqual([9n])
      return to === 2 ? listed(busy.shift() ?? 0, 'kdlq-a', 'gone') : listed(0)
    })
    transport.on(describeTransactionsApi, ({transactionalIds}) => ({
      throttleTimeMs: 0,
      transactionStates: transactionalIds.map(id => state(id, id === 'gone' ? 105 : 0)),
    }))
    expect(await cluster.admin.transactionsOf(9n)).toEqual([
      {transactionalId: 'kdlq-a', state: 'Ongoing', producerId: 9n, startTimeMs: 5n, timeoutMs: 15_000},
    ])
    expect(transport.sent.filter(({api}) => api === 'DescribeTransactions').map(({to}) => to)).toEqual([2])
  })

  test('a broker that is away matters only when no other one knows the producer', async () => {
    const {transport, cluster} = fakeCluster()
    transport.brokers = [1, 2]
    let known = true
    transport.on(listTransactionsApi, (_, {to}) => {
      if (to === 1) throw connectionLost()
      return known ? listed(0, 'kdlq-a') : listed(0)
    })
    transport.on(describeTransactionsApi, () => ({throttleTimeMs: 0, transactionStates: [state('kdlq-a', 0, -1n)]}))
    expect(await cluster.admin.transactionsOf(9n)).toMatchObject([{transactionalId: 'kdlq-a', startTimeMs: null}])
    known = false
    await expect(cluster.admin.transactionsOf(9n)).rejects.toMatchObject({code: 'E_CONNECTION_CLOSED'})
  })
})
