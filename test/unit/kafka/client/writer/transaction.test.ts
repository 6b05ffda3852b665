import {describe, expect, test} from 'vitest'
import {BugError} from '../../../../../src/lib/errors.ts'
import {addPartitionsToTxnApi} from '../../../../../src/lib/kafka/protocol/generated/add-partitions-to-txn.ts'
import {endTxnApi} from '../../../../../src/lib/kafka/protocol/generated/end-txn.ts'
import {initProducerIdApi} from '../../../../../src/lib/kafka/protocol/generated/init-producer-id.ts'
import {produceApi} from '../../../../../src/lib/kafka/protocol/generated/produce.ts'
import {connectionLost} from '../fake-transport.ts'
import {
  added,
  ended,
  failure,
  heldBy,
  opened,
  outgoing,
  produced,
  requests,
  sentBatches,
  written,
} from './transaction-support.ts'

const PROTOCOLS = [1, 2] as const

describe.each(PROTOCOLS)('protocol %i', protocol => {
  test('writes as part of the transaction and ends it', async () => {
    const fake = await opened(protocol)
    const {session, transport} = fake
    session.begin()
    expect(session.isOpen).toBe(false)
    await session.produce([outgoing(0, 3), outgoing(1, 1)])
    expect(session.isOpen).toBe(true)
    await session.produce([outgoing(0, 1)])
    await session.commit()
    expect(session.isOpen).toBe(false)
    await written(session)
    await session.abort()
    const add = protocol === 1 ? ['AddPartitionsToTxn'] : []
    const expected = [...add, 'Produce', 'Produce', 'EndTxn', ...add, 'Produce', 'EndTxn']
    expect(requests(fake)).toEqual(expected)
    expect(transport.bodies(produceApi).map(({transactionalId}) => transactionalId)).toEqual(
      Array.from({length: 3}, () => 'kdlq-r1'),
    )
    const versions = new Map(transport.sent.map(({api, maxVersion}) => [api, maxVersion]))
    expect([versions.get('Produce'), versions.get('EndTxn')]).toEqual(protocol === 1 ? [8, 3] : [12, 5])
    // The newer protocol goes on with the epoch that ended the last transaction, from sequence 0.
    const next = protocol === 1 ? {epoch: 3, sequence: 4} : {epoch: 4, sequence: 0}
    expect(sentBatches(fake)).toEqual([
      {partition: 0, epoch: 3, sequence: 0, transactional: true},
      {partition: 1, epoch: 3, sequence: 0, transactional: true},
      {partition: 0, epoch: 3, sequence: 3, transactional: true},
      {partition: 0, transactional: true, ...next},
    ])
    expect(transport.bodies(endTxnApi)).toEqual([
      {transactionalId: 'kdlq-r1', producerId: 500n, producerEpoch: 3, committed: true},
      {transactionalId: 'kdlq-r1', producerId: 500n, producerEpoch: next.epoch, committed: false},
    ])
  })

  test('asks nothing for a transaction without a batch', async () => {
    const fake = await opened(protocol)
    fake.session.begin()
    await fake.session.commit()
    fake.session.begin()
    await fake.session.abort()
    await fake.session.close()
    expect(requests(fake)).toEqual([])
  })

  test('is used in order', async () => {
    const {session} = await opened(protocol)
    await expect(session.produce([outgoing(0)])).rejects.toThrow(BugError)
    await expect(session.commit()).rejects.toThrow(BugError)
    session.begin()
    expect(() => session.begin()).toThrow(BugError)
    const first = session.produce([outgoing(0)])
    await expect(session.commit()).rejects.toThrow('on its way')
    await first
    await session.commit()
  })

  test.each([
    [10, 'E_MESSAGE_TOO_LARGE'],
    [87, 'E_INVALID_RECORD'],
    [32, 'E_INVALID_TIMESTAMP'],
    [29, 'E_TOPIC_AUTHORIZATION_FAILED'],
  ])('a batch refused with %i is data, keeps its sequence, and the transaction goes on', async (errorCode, code) => {
    const fake = await opened(protocol)
    const {session, transport} = fake
    await written(session, 3)
    transport.on(produceApi, body => produced(body, partition => (partition === 0 ? errorCode : 0)))
    expect(await session.produce([outgoing(0, 5), outgoing(1)])).toMatchObject([
      {error: {code}, baseOffset: null},
      {error: null, baseOffset: 40n},
    ])
    transport.on(produceApi, body => produced(body, () => 0))
    expect(await session.produce([outgoing(0, 1)])).toMatchObject([{error: null}])
    await session.commit()
    expect(sentBatches(fake).map(({partition, sequence}) => [partition, sequence])).toEqual([
      [0, 0],
      [0, 3],
      [1, 0],
      [0, 3],
    ])
    expect(transport.bodies(endTxnApi)).toMatchObject([{committed: true}])
  })

  test('where nothing was acknowledged a commit ends as an abort, also when the coordinator knows nothing', async () => {
    const {session, transport} = await opened(protocol)
    transport.on(produceApi, body => produced(body, () => 10))
    transport.on(endTxnApi, () => ended(48))
    session.begin()
    await session.produce([outgoing(0)])
    await session.commit()
    expect(transport.bodies(endTxnApi)).toMatchObject([{committed: false}])
    transport.on(produceApi, body => produced(body, () => 0))
    await written(session)
  })

  test('a lost answer: the same batch with the same sequence again', async () => {
    const fake = await opened(protocol)
    let lost = true
    fake.transport.on(produceApi, body => {
      if (!lost) return produced(body, () => 0)
      lost = false
      throw connectionLost()
    })
    await written(fake.session)
    expect(sentBatches(fake).map(({sequence}) => sequence)).toEqual([0, 0])
    const [first, second] = fake.transport.bodies(produceApi)
    expect(first?.topicData[0]?.partitionData).toEqual(second?.topicData[0]?.partitionData)
    await fake.session.commit()
  })

  test.each([
    [45, 'E_OUT_OF_ORDER_SEQUENCE_NUMBER'],
    [59, 'E_UNKNOWN_PRODUCER_ID'],
    [120, 'E_TRANSACTION_ABORTABLE'],
    [48, 'E_INVALID_TXN_STATE'],
    [49, 'E_INVALID_PRODUCER_ID_MAPPING'],
  ])('Produce answered with %i: the session demands an abort and ends', async (errorCode, cause) => {
    const fake = await opened(protocol)
    const {session, transport} = fake
    await written(session)
    transport.on(produceApi, body => produced(body, () => errorCode))
    const error = await failure(session.produce([outgoing(0)]))
    expect(error).toMatchObject({code: 'E_TRANSACTION_ABORTABLE', retriable: true, cause: {code: cause}})
    expect(await failure(session.commit())).toBe(error)
    expect(await failure(session.produce([outgoing(1)]))).toBe(error)
    await session.abort()
    expect(transport.bodies(endTxnApi)).toMatchObject([{committed: false}])
    expect(transport.bodies(initProducerIdApi)).toHaveLength(1)
    expect(() => session.begin()).toThrow(error)
  })

  test('an outcome that stays unknown demands an abort', async () => {
    const {session, transport} = await opened(protocol, {deliveryTimeoutMs: 2_000})
    session.begin()
    transport.on(produceApi, () => {
      throw connectionLost()
    })
    const error = await failure(session.produce([outgoing(0)]))
    expect(error).toMatchObject({code: 'E_TRANSACTION_ABORTABLE', exitCode: 5, cause: {code: 'E_CONNECTION_CLOSED'}})
    await session.abort()
    expect(transport.bodies(endTxnApi)).toMatchObject([{committed: false}])
  })

  test.each([47, 90])('Produce answered with %i soon after the begin: a twin', async errorCode => {
    const fake = await opened(protocol)
    const {session, transport, clock} = fake
    await written(session)
    await clock.advance(14_000)
    transport.on(produceApi, body => produced(body, () => errorCode))
    const error = await failure(session.produce([outgoing(0)]))
    expect(error).toMatchObject({
      code: 'E_FENCED',
      message: 'another process took over this run',
      retriable: false,
      exitCode: 1,
    })
    await session.abort()
    await session.close()
    expect(requests(fake)).not.toContain('EndTxn')
    expect(() => session.begin()).toThrow(error)
  })

  test('after the timeout the coordinator tells a timeout from a twin by the epoch', async () => {
    const late = async (epoch: number | null): Promise<Error> => {
      const fake = await opened(protocol)
      if (epoch !== null) heldBy(fake, epoch)
      await written(fake.session)
      await fake.clock.advance(15_500)
      fake.transport.on(endTxnApi, () => ended(protocol === 1 ? 90 : 48))
      return failure(fake.session.commit())
    }
    expect(await late(4)).toMatchObject({
      code: 'E_TRANSACTION_TIMED_OUT',
      retriable: true,
      context: {transactionTimeoutMs: 15_000},
    })
    expect(await late(5)).toMatchObject({code: 'E_FENCED'})
    expect(await late(null)).toMatchObject({code: 'E_FENCED'})
  })

  test('a process that slept before its first write did not time out: somebody else has the id', async () => {
    const fake = await opened(protocol)
    const {session, transport, clock} = fake
    heldBy(fake, 4)
    const refuse = async (): Promise<void> => {
      await clock.advance(60_000)
    }
    transport.on(addPartitionsToTxnApi, async body => {
      await refuse()
      return added(body, () => 90)
    })
    transport.on(produceApi, async body => {
      await refuse()
      return produced(body, () => 47)
    })
    session.begin()
    expect(await failure(session.produce([outgoing(0)]))).toMatchObject({code: 'E_FENCED'})
  })

  test('abort after a timeout is done already', async () => {
    const fake = await opened(protocol)
    const {session, transport, clock} = fake
    heldBy(fake, 4)
    await written(session)
    await clock.advance(15_500)
    transport.on(endTxnApi, () => (protocol === 1 ? ended(90) : ended(0, 500n, 4)))
    await session.abort()
    expect(session.isOpen).toBe(false)
  })

  test('a commit whose answer is lost is asked again, with the same epoch', async () => {
    const fake = await opened(protocol)
    const {session, transport} = fake
    await written(session)
    let calls = 0
    transport.on(endTxnApi, ({producerId, producerEpoch}) => {
      if (++calls === 1) throw connectionLost()
      return calls === 2 ? ended(51) : ended(0, producerId, producerEpoch + 1)
    })
    await session.commit()
    expect(transport.bodies(endTxnApi).map(({producerEpoch}) => producerEpoch)).toEqual([3, 3, 3])
    await written(session)
    expect(sentBatches(fake).at(-1)?.epoch).toBe(protocol === 1 ? 3 : 4)
  })

  test.each(['commit', 'abort'] as const)('%s without an answer until the end of patience is unsettled', async step => {
    const {session, transport} = await opened(protocol, {deliveryTimeoutMs: 3_000})
    await written(session)
    transport.on(endTxnApi, () => {
      throw connectionLost()
    })
    const error = await failure(session[step]())
    expect(error).toMatchObject({code: 'E_TRANSACTION_UNSETTLED', exitCode: 5, context: {committed: step === 'commit'}})
    expect(await failure(session.abort())).toBe(error)
    expect(() => session.begin()).toThrow(error)
    const {length} = transport.bodies(endTxnApi)
    await session.close()
    expect(transport.bodies(endTxnApi)).toHaveLength(length)
  })

  test('a signal during the commit leaves it unsettled; before it, the transaction stays open', async () => {
    const {session, transport} = await opened(protocol)
    await written(session)
    const stop = new AbortController()
    stop.abort(new Error('stopped'))
    await expect(session.commit({signal: stop.signal})).rejects.toThrow('stopped')
    expect(session.isOpen).toBe(true)
    const late = new AbortController()
    transport.on(endTxnApi, async () => {
      late.abort(new Error('stopped'))
      return Promise.withResolvers<never>().promise
    })
    expect(await failure(session.commit({signal: late.signal}))).toMatchObject({code: 'E_TRANSACTION_UNSETTLED'})
  })

  test('a signal during a write: whether it was written is not known, so it has to be aborted', async () => {
    const {session, transport} = await opened(protocol)
    session.begin()
    const stop = new AbortController()
    transport.on(produceApi, async () => {
      stop.abort(new Error('stopped'))
      return Promise.withResolvers<never>().promise
    })
    const error = await failure(session.produce([outgoing(0)], {signal: stop.signal}))
    expect(error).toMatchObject({code: 'E_TRANSACTION_ABORTABLE'})
    await session.abort()
    expect(transport.bodies(endTxnApi)).toMatchObject([{committed: false}])
  })

  test('closing aborts what is open, for two seconds at most', async () => {
    const {session, transport, clock} = await opened(protocol)
    await written(session)
    transport.on(endTxnApi, () => ended(51))
    const start = clock.monotonic()
    await session.close()
    await session.close()
    expect(transport.bodies(endTxnApi).every(({committed}) => !committed)).toBe(true)
    expect(transport.bodies(endTxnApi).length).toBeGreaterThan(1)
    expect(clock.monotonic() - start).toBeLessThanOrEqual(2_000)
  })

  test('a right that was taken away is told as such', async () => {
    const {session, transport} = await opened(protocol)
    await written(session)
    transport.on(endTxnApi, () => ended(53))
    expect(await failure(session.commit())).toMatchObject({
      code: 'E_TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
      exitCode: 4,
    })
  })
})
