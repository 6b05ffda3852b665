import {getEventListeners} from 'node:events'
import {describe, expect, test} from 'vitest'
import type {OutgoingBatch, ProducerSession} from '../../../../../src/lib/kafka/ports.ts'
import {initProducerIdApi} from '../../../../../src/lib/kafka/protocol/generated/init-producer-id.ts'
import {produceApi} from '../../../../../src/lib/kafka/protocol/generated/produce.ts'
import type {ProduceRequest, ProduceResponse} from '../../../../../src/lib/kafka/protocol/generated/produce.ts'
import {RecordBatchBuilder} from '../../../../../src/lib/kafka/records/batch-builder.ts'
import {parseBatches} from '../../../../../src/lib/kafka/records/batch-view.ts'
import type {RecordBatch} from '../../../../../src/lib/kafka/records/batch-view.ts'
import {connectionLost, fakeCluster, topic} from '../fake-transport.ts'
import type {FakeCluster} from '../fake-transport.ts'

type Part = ProduceResponse['responses'][number]['partitionResponses'][number]

function part(index: number, other: Partial<Part> = {}): Part {
  const leader = {leaderId: -1, leaderEpoch: -1}
  const fields = {baseOffset: 40n, logAppendTimeMs: -1n, logStartOffset: 0n, recordErrors: [], errorMessage: null}
  return {index, errorCode: 0, ...fields, currentLeader: leader, ...other}
}

/** Answers for every partition of the request, as `of` says. */
function answer(body: ProduceRequest, of: (partition: number, batch: RecordBatch) => Partial<Part>): ProduceResponse {
  const responses = body.topicData.map(({name = '', partitionData}) => ({
    name,
    partitionResponses: partitionData.map(({index, records}) => part(index, of(index, batchOf(records)))),
  }))
  return {responses, throttleTimeMs: 0, nodeEndpoints: []}
}

function batchOf(records: Buffer | null): RecordBatch {
  const [batch] = parseBatches(records ?? Buffer.alloc(0)).batches
  if (batch === undefined) throw new Error('the request holds no batch')
  return batch
}

/** Producer id, epoch and first sequence of everything that was sent, oldest first. */
function sentBatches({transport}: FakeCluster): {partition: number; producerId: bigint; sequence: number}[] {
  return transport.bodies(produceApi).flatMap(({topicData}) =>
    topicData.flatMap(({partitionData}) =>
      partitionData.map(({index, records}) => {
        const {producerId, baseSequence} = batchOf(records)
        return {partition: index, producerId, sequence: baseSequence}
      }),
    ),
  )
}

function outgoing(partition: number, count = 2): OutgoingBatch {
  const records = new RecordBatchBuilder()
  for (let index = 0; index < count; index++) {
    records.append({timestamp: 1_764_500_000_000n, key: null, value: Buffer.from(`v${index}`), headers: []})
  }
  return {topic: 't', partition, records}
}

async function fixture(deliveryTimeoutMs = 30_000): Promise<FakeCluster & {producer: ProducerSession}> {
  const fake = fakeCluster()
  fake.transport.topics = [topic('t', 4)]
  let producerId = 500n
  fake.transport.on(initProducerIdApi, () => ({
    throttleTimeMs: 0,
    errorCode: 0,
    producerId: producerId++,
    producerEpoch: 0,
  }))
  fake.transport.on(produceApi, body => answer(body, () => ({})))
  const producer = await fake.cluster.writer.open({compression: 'none', transactionalId: null, deliveryTimeoutMs})
  return {...fake, producer}
}

describe('produce', () => {
  test('acknowledgements of all replicas, one request a leader, results in the order of the batches', async () => {
    const {producer, transport} = await fixture()
    const [first, second] = topic('t', 2).partitions
    if (first === undefined || second === undefined) throw new Error('two partitions')
    transport.topics = [{...topic('t', 2), partitions: [first, {...second, leader: 2}]}]
    transport.on(produceApi, body => answer(body, index => ({baseOffset: BigInt(index * 100), logAppendTimeMs: 5n})))
    const results = await producer.produce([outgoing(1), outgoing(0)])
    expect(results).toEqual([
      {topic: 't', partition: 1, baseOffset: 100n, logAppendTimeMs: 5n, error: null, recordErrors: []},
      {topic: 't', partition: 0, baseOffset: 0n, logAppendTimeMs: 5n, error: null, recordErrors: []},
    ])
    const requests = transport.sent.filter(({api}) => api === 'Produce')
    expect(new Set(requests.map(({to}) => to))).toEqual(new Set([1, 2]))
    expect(requests).toHaveLength(2)
    expect(requests[0]).toMatchObject({body: {acks: -1, transactionalId: null}, maxVersion: 8})
  })

  test('sequences go on by the records of each partition', async () => {
    const fake = await fixture()
    await fake.producer.produce([outgoing(0, 3), outgoing(1, 1)])
    await fake.producer.produce([outgoing(0, 2), outgoing(1, 5)])
    await fake.producer.produce([outgoing(0, 1)])
    expect(sentBatches(fake)).toEqual([
      {partition: 0, producerId: 500n, sequence: 0},
      {partition: 1, producerId: 500n, sequence: 0},
      {partition: 0, producerId: 500n, sequence: 3},
      {partition: 1, producerId: 500n, sequence: 1},
      {partition: 0, producerId: 500n, sequence: 5},
    ])
  })

  test('calls for one partition go out one behind the other, in their order', async () => {
    const fake = await fixture()
    let inFlight = 0
    fake.transport.on(produceApi, async body => {
      expect(++inFlight).toBe(1)
      await Promise.resolve()
      inFlight--
      return answer(body, () => ({}))
    })
    await Promise.all([1, 2, 3].map(count => fake.producer.produce([outgoing(0, count)])))
    expect(sentBatches(fake).map(({sequence}) => sequence)).toEqual([0, 1, 3])
  })

  test('a lost connection: the same batch with the same sequence again', async () => {
    const fake = await fixture()
    let lost = true
    fake.transport.on(produceApi, body => {
      if (!lost) return answer(body, () => ({}))
      lost = false
      throw connectionLost()
    })
    const [result] = await fake.producer.produce([outgoing(0)])
    expect(result).toMatchObject({baseOffset: 40n, error: null})
    expect(sentBatches(fake)).toEqual([
      {partition: 0, producerId: 500n, sequence: 0},
      {partition: 0, producerId: 500n, sequence: 0},
    ])
    const [first, second] = fake.transport.bodies(produceApi)
    expect(first?.topicData[0]?.partitionData[0]?.records).toEqual(second?.topicData[0]?.partitionData[0]?.records)
  })

  test('DUPLICATE_SEQUENCE_NUMBER is an acknowledgement without an offset', async () => {
    const fake = await fixture()
    let lost = true
    fake.transport.on(produceApi, body => {
      if (!lost) return answer(body, () => ({errorCode: 46, baseOffset: -1n}))
      lost = false
      throw connectionLost()
    })
    expect(await fake.producer.produce([outgoing(0)])).toMatchObject([{baseOffset: null, error: null}])
    fake.transport.on(produceApi, body => answer(body, () => ({})))
    await fake.producer.produce([outgoing(0)])
    expect(sentBatches(fake).at(-1)).toEqual({partition: 0, producerId: 500n, sequence: 2})
  })

  test('a moved leader: fresh metadata, then the new one gets only what is not acknowledged', async () => {
    const fake = await fixture()
    fake.transport.on(produceApi, (body, {to}) => {
      if (to === 2) return answer(body, () => ({}))
      fake.transport.topics = [topic('t', 4, {leader: 2, leaderEpoch: 4})]
      return answer(body, index => (index === 0 ? {errorCode: 6, baseOffset: -1n} : {}))
    })
    const results = await fake.producer.produce([outgoing(0), outgoing(1)])
    expect(results.map(({error}) => error)).toEqual([null, null])
    expect(sentBatches(fake).map(({partition}) => partition)).toEqual([0, 1, 0])
    expect(fake.transport.sent.filter(({api}) => api === 'Produce').map(({to}) => to)).toEqual([1, 2])
  })

  test('a partition that the answer lacks is not acknowledged', async () => {
    const fake = await fixture(1_000)
    fake.transport.on(produceApi, body => {
      const {responses, ...rest} = answer(body, () => ({}))
      return {
        ...rest,
        responses: responses.map(({name, partitionResponses}) => ({
          name,
          partitionResponses: partitionResponses.slice(1),
        })),
      }
    })
    const results = await fake.producer.produce([outgoing(0), outgoing(1)])
    // The second attempt asks for partition 0 alone, and again nothing is said about it.
    expect(results).toMatchObject([
      {error: {code: 'E_OUTCOME_UNKNOWN', cause: {code: 'E_ANSWER_INCOMPLETE'}}},
      {error: null},
    ])
  })

  test('an outcome that stays uncertain is told as unknown, and what follows is written as another producer', async () => {
    const fake = await fixture(2_000)
    fake.transport.on(produceApi, () => {
      throw connectionLost()
    })
    const [result] = await fake.producer.produce([outgoing(0)])
    expect(result).toMatchObject({
      baseOffset: null,
      error: {code: 'E_OUTCOME_UNKNOWN', exitCode: 1, context: {partition: 0, records: 2}},
    })
    const attempts = sentBatches(fake)
    expect(attempts.length).toBeGreaterThan(2)
    expect(new Set(attempts.map(({sequence}) => sequence))).toEqual(new Set([0]))
    fake.transport.on(produceApi, body => answer(body, () => ({})))
    expect(await fake.producer.produce([outgoing(0), outgoing(1)])).toMatchObject([{error: null}, {error: null}])
    expect(sentBatches(fake).slice(-2)).toEqual([
      {partition: 0, producerId: 501n, sequence: 0},
      {partition: 1, producerId: 501n, sequence: 0},
    ])
  })

  test('a refusal after an uncertain attempt is no proof that nothing was written', async () => {
    const fake = await fixture()
    let lost = true
    fake.transport.on(produceApi, body => {
      if (!lost) return answer(body, () => ({errorCode: 10, baseOffset: -1n}))
      lost = false
      throw connectionLost()
    })
    expect(await fake.producer.produce([outgoing(0)])).toMatchObject([
      {error: {code: 'E_OUTCOME_UNKNOWN', cause: {code: 'E_MESSAGE_TOO_LARGE'}}},
    ])
  })

  test('errors that pass before anything is appended end as what they are', async () => {
    const fake = await fixture(1_000)
    fake.transport.on(produceApi, body => answer(body, () => ({errorCode: 19, baseOffset: -1n})))
    const [result] = await fake.producer.produce([outgoing(0)])
    expect(result).toMatchObject({error: {code: 'E_NOT_ENOUGH_REPLICAS', retriable: true}})
    expect(fake.clock.sleeps.slice(0, 3)).toEqual([50, 100, 200])
  })

  test('a refused batch is told with the records that the broker names, at once, and its sequence is used again', async () => {
    const fake = await fixture()
    const recordErrors = [{batchIndex: 1, batchIndexErrorMessage: 'Timestamp 99 is too far in the future'}]
    fake.transport.on(produceApi, body =>
      answer(body, () => ({
        errorCode: 32,
        baseOffset: -1n,
        recordErrors,
        errorMessage: 'One or more records have been rejected',
      })),
    )
    const [result] = await fake.producer.produce([outgoing(0)])
    expect(result).toMatchObject({
      error: {code: 'E_INVALID_TIMESTAMP'},
      recordErrors: [{index: 1, message: 'Timestamp 99 is too far in the future'}],
    })
    expect(result?.error?.message).toContain('One or more records have been rejected')
    expect(fake.clock.sleeps).toEqual([])
    fake.transport.on(produceApi, body => answer(body, () => ({})))
    await fake.producer.produce([outgoing(0)])
    expect(sentBatches(fake).map(({sequence}) => sequence)).toEqual([0, 0])
  })

  test.each([
    ['OUT_OF_ORDER_SEQUENCE_NUMBER', 45],
    ['UNKNOWN_PRODUCER_ID', 59],
  ])('%s with nothing uncertain: once more as a new producer', async (name, code) => {
    const fake = await fixture()
    await fake.producer.produce([outgoing(0)])
    fake.transport.on(produceApi, body =>
      answer(body, (_, {producerId}) => (producerId === 500n ? {errorCode: code, baseOffset: -1n} : {})),
    )
    expect(await fake.producer.produce([outgoing(0), outgoing(1)])).toMatchObject([{error: null}, {error: null}])
    expect(sentBatches(fake).slice(1)).toEqual([
      {partition: 0, producerId: 500n, sequence: 2},
      {partition: 1, producerId: 500n, sequence: 0},
      {partition: 0, producerId: 501n, sequence: 0},
      {partition: 1, producerId: 501n, sequence: 0},
    ])
    fake.transport.on(produceApi, body => answer(body, () => ({errorCode: code, baseOffset: -1n})))
    expect(await fake.producer.produce([outgoing(2)])).toMatchObject([{error: {code: `E_${name}`}}])
  })

  test('a lost sequence after an uncertain attempt stays unknown', async () => {
    const fake = await fixture()
    let lost = true
    fake.transport.on(produceApi, body => {
      if (!lost) return answer(body, () => ({errorCode: 45, baseOffset: -1n}))
      lost = false
      throw connectionLost()
    })
    expect(await fake.producer.produce([outgoing(0)])).toMatchObject([{error: {code: 'E_OUTCOME_UNKNOWN'}}])
    expect(sentBatches(fake).map(({producerId}) => producerId)).toEqual([500n, 500n])
  })

  test('a partition that does not exist is refused after a few looks, its neighbour is written', async () => {
    const fake = await fixture()
    const results = await fake.producer.produce([outgoing(9), outgoing(0)])
    expect(results).toMatchObject([{error: {code: 'E_UNKNOWN_TOPIC_OR_PARTITION'}}, {error: null}])
    expect(sentBatches(fake)).toHaveLength(1)
  })

  test('an abort tells at once what is unknown and what was never sent', async () => {
    const fake = await fixture()
    const stop = new AbortController()
    const [first, second] = topic('t', 2).partitions
    if (first === undefined || second === undefined) throw new Error('two partitions')
    fake.transport.topics = [{...topic('t', 2), partitions: [first, {...second, leader: -1}]}]
    const {promise: never} = Promise.withResolvers<ProduceResponse>()
    fake.transport.on(produceApi, () => {
      queueMicrotask(() => stop.abort(new Error('stop')))
      return never
    })
    const results = await fake.producer.produce([outgoing(0), outgoing(1)], {signal: stop.signal})
    expect(results).toMatchObject([{error: {code: 'E_OUTCOME_UNKNOWN'}}, {error: {code: 'E_LEADER_NOT_AVAILABLE'}}])
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
    expect(await fake.producer.produce([outgoing(2)], {signal: stop.signal})).toMatchObject([
      {error: {code: 'E_NOT_WRITTEN'}},
    ])
  })

  test('two batches for one partition in a call, a transactional id and a closed session are bugs of the caller', async () => {
    const fake = await fixture()
    await expect(fake.producer.produce([outgoing(0), outgoing(0)])).rejects.toMatchObject({code: 'E_BUG'})
    const options = {compression: 'none', transactionalId: 'x', deliveryTimeoutMs: 1} as const
    await expect(fake.cluster.writer.open(options)).rejects.toMatchObject({code: 'E_BUG'})
    await fake.producer.close()
    await fake.producer.close()
    await expect(fake.producer.produce([outgoing(0)])).rejects.toMatchObject({code: 'E_BUG'})
  })

  test('opening waits out errors that pass and tells those that do not', async () => {
    const fake = fakeCluster()
    let answers = [14, 0]
    fake.transport.on(initProducerIdApi, () => ({
      throttleTimeMs: 0,
      errorCode: answers.shift() ?? 31,
      producerId: 1n,
      producerEpoch: 0,
    }))
    const options = {compression: 'none', transactionalId: null, deliveryTimeoutMs: 5_000} as const
    await fake.cluster.writer.open(options)
    answers = []
    await expect(fake.cluster.writer.open(options)).rejects.toMatchObject({
      code: 'E_CLUSTER_AUTHORIZATION_FAILED',
      exitCode: 4,
    })
  })
})
