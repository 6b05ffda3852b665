import {describe, expect, test} from 'vitest'
import {listOffsetsApi} from '../../../../../src/lib/kafka/protocol/generated/list-offsets.ts'
import type {
  ListOffsetsRequest,
  ListOffsetsResponse,
} from '../../../../../src/lib/kafka/protocol/generated/list-offsets.ts'
import type {OffsetPoint, OffsetQuery} from '../../../../../src/lib/kafka/ports.ts'
import {connectionLost, fakeCluster, topic} from '../fake-transport.ts'

interface Told {
  readonly errorCode?: number
  readonly offset?: bigint
}

function answer(body: ListOffsetsRequest, of: (partition: number, timestamp: bigint) => Told): ListOffsetsResponse {
  const topics = body.topics.map(({name, partitions}) => ({
    name,
    partitions: partitions.map(({partitionIndex, timestamp}) => {
      const base = {partitionIndex, errorCode: 0, timestamp: -1n, offset: -1n, leaderEpoch: 3}
      return {...base, ...of(partitionIndex, timestamp)}
    }),
  }))
  return {throttleTimeMs: 0, topics}
}

function query(partition: number, at: OffsetPoint): OffsetQuery {
  return {topic: 't', partition, at}
}

describe('offsets', () => {
  test('the points of one partition by their timestamp and isolation, answers in the order of the queries', async () => {
    const {transport, cluster} = fakeCluster()
    transport.topics = [topic('t', 1)]
    transport.on(listOffsetsApi, body =>
      answer(body, (_, timestamp) => ({
        offset: timestamp === -2n ? 5n : timestamp === -1n ? (body.isolationLevel === 1 ? 80n : 90n) : 42n,
      })),
    )
    const points: OffsetPoint[] = ['last-stable', 'earliest', {timestampMs: 1_000n}, 'latest']
    const answers = await cluster.reader.offsets(points.map(at => query(0, at)))
    expect(answers.map(({offset}) => offset)).toEqual([80n, 5n, 42n, 90n])
    // A broker refuses a partition that stands twice in one request.
    for (const {topics} of transport.bodies(listOffsetsApi)) expect(topics[0]?.partitions).toHaveLength(1)
    expect(transport.sent[0]).toMatchObject({to: 1, maxVersion: 7})
  })

  test('no record at or after a time is null without an error', async () => {
    const {transport, cluster} = fakeCluster()
    transport.topics = [topic('t', 1)]
    transport.on(listOffsetsApi, body => answer(body, () => ({offset: -1n})))
    expect(await cluster.reader.offsets([query(0, {timestampMs: 9n})])).toEqual([
      {topic: 't', partition: 0, offset: null, error: null},
    ])
  })

  test('errors stay with their partition, a moved leader is asked again', async () => {
    const {transport, cluster} = fakeCluster()
    transport.topics = [topic('t', 3)]
    transport.on(listOffsetsApi, (body, {to}) =>
      answer(body, partition => {
        if (partition === 1) return {errorCode: 29}
        if (partition === 2 && to === 1) {
          transport.topics = [topic('t', 3, {leader: 2, leaderEpoch: 4})]
          return {errorCode: 6}
        }
        return {offset: 7n}
      }),
    )
    const answers = await cluster.reader.offsets([0, 1, 2].map(partition => query(partition, 'latest')))
    expect(answers).toMatchObject([
      {offset: 7n, error: null},
      {offset: null, error: {code: 'E_TOPIC_AUTHORIZATION_FAILED', exitCode: 4}},
      {offset: 7n, error: null},
    ])
  })

  test('an unknown topic or partition is told at once, one without a leader after a while', async () => {
    const {transport, cluster, clock} = fakeCluster()
    transport.topics = [topic('t', 1), topic('headless', 1, {leader: -1})]
    transport.on(listOffsetsApi, body => answer(body, () => ({offset: 7n})))
    const unknown = await cluster.reader.offsets([
      query(8, 'latest'),
      {...query(0, 'latest'), topic: 'nope'},
      query(0, 'latest'),
    ])
    expect(unknown.map(({error}) => error?.code ?? null)).toEqual([
      'E_UNKNOWN_TOPIC_OR_PARTITION',
      'E_UNKNOWN_TOPIC_OR_PARTITION',
      null,
    ])
    expect(clock.sleeps).toEqual([])
    const before = clock.monotonic()
    const headless = await cluster.reader.offsets([{...query(0, 'latest'), topic: 'headless'}])
    expect(headless).toMatchObject([{offset: null, error: {code: 'E_LEADER_NOT_AVAILABLE'}}])
    expect(clock.monotonic() - before).toBeLessThanOrEqual(5_000)
    expect(clock.monotonic() - before).toBeGreaterThan(2_000)
  })

  test('a lost connection is repeated; no broker at all throws', async () => {
    const {transport, cluster} = fakeCluster()
    transport.topics = [topic('t', 1)]
    let lost = true
    transport.on(listOffsetsApi, body => {
      if (!lost) return answer(body, () => ({offset: 7n}))
      lost = false
      throw connectionLost()
    })
    expect(await cluster.reader.offsets([query(0, 'latest')])).toMatchObject([{offset: 7n}])
    transport.metadataError = connectionLost()
    await expect(cluster.reader.offsets([query(0, 'latest')])).rejects.toMatchObject({exitCode: 5})
  })

  test('an abort during the wait ends it', async () => {
    const {transport, cluster, clock} = fakeCluster({auto: false})
    transport.topics = [topic('t', 1, {leader: -1})]
    const stop = new AbortController()
    const asked = cluster.reader.offsets([query(0, 'latest')], {signal: stop.signal})
    await clock.advance(10)
    stop.abort(new Error('stop'))
    await expect(asked).rejects.toThrow('stop')
    expect(clock.waiting).toBe(0)
  })
})

describe('topics', () => {
  test('come in the order asked for, unknown ones with their error', async () => {
    const {transport, cluster} = fakeCluster()
    transport.topics = [topic('b', 2, {leader: -1}), topic('a', 1)]
    const topics = await cluster.reader.topics(['a', 'nope', 'b'])
    expect(topics).toMatchObject([
      {name: 'a', id: 'AAAAAAAAAAAAAAAAAAAAAQ', error: null, partitions: [{partition: 0, leader: 1, error: null}]},
      {name: 'nope', id: null, error: {code: 'E_UNKNOWN_TOPIC_OR_PARTITION'}, partitions: []},
      {name: 'b', error: null, partitions: [{leader: null, error: {code: 'E_LEADER_NOT_AVAILABLE'}}, {partition: 1}]},
    ])
  })

  test('none asked for is none, without a request', async () => {
    const {transport, cluster} = fakeCluster()
    expect(await cluster.reader.topics([])).toEqual([])
    expect(transport.metadataCalls).toBe(0)
  })
})
