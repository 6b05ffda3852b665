import {describe, expect, test} from 'vitest'
import {AuthError, UnreachableError} from '../../../../../src/lib/errors.ts'
import {protocolError} from '../../../../../src/lib/kafka/protocol/errors.ts'
import {addPartitionsToTxnApi} from '../../../../../src/lib/kafka/protocol/generated/add-partitions-to-txn.ts'
import {endTxnApi} from '../../../../../src/lib/kafka/protocol/generated/end-txn.ts'
import {initProducerIdApi} from '../../../../../src/lib/kafka/protocol/generated/init-producer-id.ts'
import {connectionLost} from '../fake-transport.ts'
import {OPTIONS, added, failure, opened, outgoing, transactionalCluster, written} from './transaction-support.ts'

describe('open', () => {
  test('speaks the newer protocol only where feature and both versions are there', async () => {
    const protocolWith = async (feature: number | null, max: number): Promise<number> => {
      const fake = transactionalCluster(2)
      fake.transport.range = {min: 0, max}
      fake.transport.features.clear()
      if (feature !== null) fake.transport.features.set('transaction.version', feature)
      return (await fake.cluster.writer.openTransactional(OPTIONS)).protocol
    }
    expect(await protocolWith(2, 12)).toBe(2)
    expect(await protocolWith(2, 11)).toBe(1)
    expect(await protocolWith(1, 12)).toBe(1)
    expect(await protocolWith(null, 12)).toBe(1)
  })

  test('waits out what passes, finds a coordinator that moved, and bounds both', async () => {
    const {transport, clock, cluster} = transactionalCluster(2)
    const codes = [51, 14, 16, 15, 0]
    transport.onCoordinator = call => call
    transport.on(initProducerIdApi, () => ({
      throttleTimeMs: 0,
      errorCode: codes.shift() ?? 51,
      producerId: 7n,
      producerEpoch: 1,
    }))
    const session = await cluster.writer.openTransactional(OPTIONS)
    expect(session.producerId).toBe(7n)
    expect(transport.sent.map(({to}) => to)).toEqual([1, 1, 1, 2, 3])
    expect(clock.sleeps).toEqual([20, 40, 50, 100])
    const start = clock.monotonic()
    const error = await failure(cluster.writer.openTransactional({...OPTIONS, deliveryTimeoutMs: 5_000}))
    expect(error).toBeInstanceOf(UnreachableError)
    expect(error).toMatchObject({code: 'E_NO_TRANSACTION_COORDINATOR', exitCode: 5, retriable: true})
    expect(clock.monotonic() - start).toBeLessThanOrEqual(5_000)
  })

  test('a connection that is lost on the way is tried again at the coordinator of then', async () => {
    const {transport, cluster} = transactionalCluster(1)
    let calls = 0
    transport.on(initProducerIdApi, () => {
      if (++calls === 1) throw connectionLost()
      return {throttleTimeMs: 0, errorCode: 0, producerId: 7n, producerEpoch: 1}
    })
    await cluster.writer.openTransactional(OPTIONS)
    expect(transport.coordinatorCalls).toBe(2)
  })

  test.each([
    ['InitProducerId', 53],
    ['FindCoordinator', 53],
  ] as const)('names the ACL and the other mode when %s is not allowed', async (api, code) => {
    const {transport, cluster} = transactionalCluster(2)
    if (api === 'FindCoordinator') {
      transport.onCoordinator = () => {
        throw protocolError(code, api, {transactionalId: 'kdlq-r1'})
      }
    }
    transport.on(initProducerIdApi, () => ({
      throttleTimeMs: 0,
      errorCode: code,
      producerId: -1n,
      producerEpoch: -1,
    }))
    const error = await failure(cluster.writer.openTransactional(OPTIONS))
    expect(error).toBeInstanceOf(AuthError)
    expect(error).toMatchObject({
      code: 'E_TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
      exitCode: 4,
      hints: [
        'grant WRITE and DESCRIBE on TransactionalId `kdlq-r1`',
        'or replay without transactions: --delivery at-least-once',
      ],
    })
  })

  test.each([
    [50, 'E_INVALID_TRANSACTION_TIMEOUT', /transaction\.max\.timeout\.ms/],
    [90, 'E_FENCED', /the other one goes on/],
  ] as const)('answer %i is %s', async (errorCode, code, hint) => {
    const {transport, cluster} = transactionalCluster(2)
    transport.on(initProducerIdApi, () => ({throttleTimeMs: 0, errorCode, producerId: -1n, producerEpoch: -1}))
    const error = await failure(cluster.writer.openTransactional(OPTIONS))
    expect(error).toMatchObject({code, retriable: false, hints: [expect.stringMatching(hint)]})
  })

  test('ends with the reason of its signal', async () => {
    const {transport, cluster} = transactionalCluster(2)
    const stop = new AbortController()
    transport.on(initProducerIdApi, () => {
      stop.abort(new Error('stopped'))
      return {throttleTimeMs: 0, errorCode: 51, producerId: -1n, producerEpoch: -1}
    })
    await expect(cluster.writer.openTransactional(OPTIONS, {signal: stop.signal})).rejects.toThrow('stopped')
  })
})

describe('AddPartitionsToTxn of the older protocol', () => {
  test('only partitions that are new to the transaction, and again in the next one', async () => {
    const {session, transport} = await opened(1)
    for (let round = 0; round < 2; round++) {
      session.begin()
      await session.produce([outgoing(0), outgoing(1)])
      await session.produce([outgoing(1), outgoing(2)])
      await session.commit()
    }
    const asked = transport.bodies(addPartitionsToTxnApi).map(({v3AndBelowTopics}) => v3AndBelowTopics)
    const of = (...partitions: number[]) => [{name: 't', partitions}]
    expect(asked).toEqual([of(0, 1), of(2), of(0, 1), of(2)])
  })

  test('waits until the markers of the transaction before are written', async () => {
    const {session, transport, clock} = await opened(1)
    const codes = [51, 51, 0]
    const before = clock.sleeps.length
    transport.on(addPartitionsToTxnApi, body => {
      const code = codes.shift() ?? 0
      return added(body, () => code)
    })
    await written(session)
    expect(clock.sleeps.slice(before)).toEqual([20, 40])
  })

  test('a partition that may not be written to is refused; its neighbours are added without it', async () => {
    const {session, transport} = await opened(1)
    transport.on(addPartitionsToTxnApi, body => {
      const refused = body.v3AndBelowTopics.some(({partitions}) => partitions.includes(1))
      return added(body, partition => (refused ? (partition === 1 ? 29 : 55) : 0))
    })
    session.begin()
    expect(await session.produce([outgoing(0), outgoing(1)])).toMatchObject([
      {error: null},
      {error: {code: 'E_TOPIC_AUTHORIZATION_FAILED', exitCode: 4}},
    ])
    await session.commit()
    expect(transport.bodies(endTxnApi)).toMatchObject([{committed: true}])
  })

  test('a coordinator that stays away ends the transaction', async () => {
    const {session, transport} = await opened(1, {deliveryTimeoutMs: 2_000})
    transport.on(addPartitionsToTxnApi, body => added(body, () => 15))
    session.begin()
    expect(await failure(session.produce([outgoing(0)]))).toMatchObject({
      code: 'E_TRANSACTION_ABORTABLE',
      exitCode: 5,
      cause: {code: 'E_NO_TRANSACTION_COORDINATOR'},
    })
  })
})
