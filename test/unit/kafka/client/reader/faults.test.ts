import {describe, expect, test} from 'vitest'
import {TransportError} from '../../../../../src/lib/kafka/client/transport-error.ts'
import {fetchApi} from '../../../../../src/lib/kafka/protocol/generated/fetch.ts'
import {listOffsetsApi} from '../../../../../src/lib/kafka/protocol/generated/list-offsets.ts'
import {batchAt, connectionLost, fetchAnswer, FakeLog, markerAt, partitionAnswer, topic} from '../fake-transport.ts'
import type {FakeTransport} from '../fake-transport.ts'
import {answerFrom, collect, logOf, range, readFixture, request} from './support.ts'

const CODES = {
  OFFSET_OUT_OF_RANGE: 1,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  NOT_LEADER_OR_FOLLOWER: 6,
  REPLICA_NOT_AVAILABLE: 9,
  TOPIC_AUTHORIZATION_FAILED: 29,
  KAFKA_STORAGE_ERROR: 56,
  FENCED_LEADER_EPOCH: 74,
  UNKNOWN_LEADER_EPOCH: 75,
  UNKNOWN_TOPIC_ID: 100,
}

function answerOffsets(transport: FakeTransport, log: FakeLog): void {
  transport.on(listOffsetsApi, ({topics}) => ({
    throttleTimeMs: 0,
    topics: topics.map(({name, partitions}) => ({
      name,
      partitions: partitions.map(({partitionIndex, timestamp}) => ({
        partitionIndex,
        errorCode: 0,
        timestamp: -1n,
        offset: timestamp === -2n ? log.start : log.end,
        leaderEpoch: 3,
      })),
    })),
  }))
}

describe('a read through faults', () => {
  test.each([
    'NOT_LEADER_OR_FOLLOWER',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'REPLICA_NOT_AVAILABLE',
    'KAFKA_STORAGE_ERROR',
    'FENCED_LEADER_EPOCH',
    'UNKNOWN_LEADER_EPOCH',
    'UNKNOWN_TOPIC_ID',
  ] as const)('%s: fresh metadata, a short wait, the same offset at the new leader', async name => {
    const log = logOf(3)
    const {cluster, transport, clock} = readFixture([log], {tuning: {partitionMaxBytes: 1}})
    let moved = false
    transport.on(fetchApi, (body, {to}) => {
      const offset = body.topics[0]?.partitions[0]?.fetchOffset
      if (offset !== 1n || moved) return answerFrom([log], body)
      moved = true
      expect(to).toBe(1)
      transport.topics = [topic('t', 1, {leader: 2, leaderEpoch: 4})]
      return fetchAnswer(body, () => partitionAnswer({errorCode: CODES[name]}))
    })
    const {records, notices} = await collect(cluster.reader.read(request([range(0, 3n)])))
    expect(records).toEqual(['0:0=v0', '0:1=v1', '0:2=v2'])
    expect(notices).toEqual([])
    const fetches = transport.sent.filter(({api}) => api === 'Fetch')
    expect(fetches.map(({to}) => to)).toEqual([1, 1, 2, 2])
    expect(transport.bodies(fetchApi).at(2)).toMatchObject({
      topics: [{partitions: [{fetchOffset: 1n, currentLeaderEpoch: 4}]}],
    })
    expect(clock.sleeps).toEqual([50])
  })

  test('a broker that is behind does not send the read back to an earlier leader', async () => {
    const log = logOf(2)
    const {cluster, transport} = readFixture([log])
    transport.topics = [topic('t', 1, {leader: 2, leaderEpoch: 9})]
    let failures = 2
    transport.on(fetchApi, body => {
      transport.topics = [topic('t', 1, {leader: 1, leaderEpoch: 8})]
      return failures-- > 0
        ? fetchAnswer(body, () => partitionAnswer({errorCode: CODES.KAFKA_STORAGE_ERROR}))
        : answerFrom([log], body)
    })
    await collect(cluster.reader.read(request([range(0, 2n)])))
    expect(transport.sent.map(({to}) => to)).toEqual([2, 2, 2])
  })

  test('a lost connection is repeated and nothing is lost or doubled', async () => {
    const logs = [logOf(4, 'a'), logOf(4, 'b')]
    const {cluster, transport} = readFixture(logs, {tuning: {partitionMaxBytes: 1}})
    let call = 0
    transport.on(fetchApi, body => {
      call++
      if (call % 3 === 0) throw connectionLost()
      return answerFrom(logs, body)
    })
    const {records} = await collect(cluster.reader.read(request([range(0, 4n), range(1, 4n)])))
    expect(records.toSorted()).toEqual(['0:0=a0', '0:1=a1', '0:2=a2', '0:3=a3', '1:0=b0', '1:1=b1', '1:2=b2', '1:3=b3'])
  })

  test('one partition that stays unavailable ends with a notice, its neighbour is read', async () => {
    const logs = [logOf(2, 'a'), logOf(2, 'b')]
    const {cluster, transport} = readFixture(logs, {tuning: {unavailableAfterMs: 10_000}})
    transport.on(fetchApi, body =>
      fetchAnswer(body, (partition, offset, bytes) =>
        partition === 0
          ? partitionAnswer({errorCode: CODES.KAFKA_STORAGE_ERROR})
          : (logs[1] ?? new FakeLog()).read(offset, bytes),
      ),
    )
    const {records, notices, blocks} = await collect(cluster.reader.read(request([range(0, 2n), range(1, 2n)])))
    expect(records).toEqual(['1:0=b0', '1:1=b1'])
    expect(notices).toMatchObject([
      {kind: 'incomplete', at: 0n, reason: 'unavailable', error: {code: 'E_KAFKA_STORAGE_ERROR'}},
    ])
    expect(blocks.filter(({done}) => done)).toHaveLength(2)
  })

  test('missing rights are a notice of that partition, at once', async () => {
    const {cluster, transport, clock} = readFixture([logOf(1)])
    transport.on(fetchApi, body =>
      fetchAnswer(body, () => partitionAnswer({errorCode: CODES.TOPIC_AUTHORIZATION_FAILED})),
    )
    const {notices} = await collect(cluster.reader.read(request([range(0, 1n)])))
    expect(notices).toMatchObject([
      {kind: 'incomplete', reason: 'unavailable', error: {code: 'E_TOPIC_AUTHORIZATION_FAILED', exitCode: 4}},
    ])
    expect(clock.sleeps).toEqual([])
  })

  test('a partition without a leader is waited for, with fewer and fewer questions', async () => {
    const log = logOf(1)
    const {cluster, transport, clock} = readFixture([log])
    transport.topics = [topic('t', 1, {leader: -1})]
    transport.on(fetchApi, body => answerFrom([log], body))
    transport.onMetadata = call => {
      if (call === 5) transport.topics = [topic('t', 1)]
    }
    const {records, notices} = await collect(cluster.reader.read(request([range(0, 1n)])))
    expect({records, notices}).toEqual({records: ['0:0=v0'], notices: []})
    expect(clock.sleeps.slice(0, 3)).toEqual([50, 100, 200])
  })

  test('no broker answers for too long: the read fails with the cause', async () => {
    const {cluster, transport} = readFixture([logOf(1)], {tuning: {unavailableAfterMs: 5_000}})
    transport.metadataError = connectionLost()
    await expect(collect(cluster.reader.read(request([range(0, 1n)])))).rejects.toMatchObject({
      code: 'E_CONNECTION_CLOSED',
      exitCode: 5,
    })
  })

  test('a refused login fails the read at once', async () => {
    const {cluster, transport, clock} = readFixture([logOf(1)])
    transport.on(fetchApi, () => {
      throw new TransportError('auth', 'b1:9092', 'b1:9092 refused the credentials')
    })
    await expect(collect(cluster.reader.read(request([range(0, 1n)])))).rejects.toMatchObject({exitCode: 4})
    expect(clock.sleeps).toEqual([])
  })

  test('records deleted below the position are a gap, the rest is read', async () => {
    const log = new FakeLog()
    log.start = 5n
    log.append(batchAt({base: 5n, values: ['five', 'six']}))
    const {cluster, transport} = readFixture([log])
    answerOffsets(transport, log)
    const {records, notices} = await collect(cluster.reader.read(request([range(0, 7n, 2n)])))
    expect(notices).toEqual([{kind: 'gap', from: 2n, to: 5n}])
    expect(records).toEqual(['0:5=five', '0:6=six'])
  })

  test('records deleted up to the middle of a batch stay hidden, though the batch comes whole', async () => {
    const log = new FakeLog()
    log.start = 2n
    log.append(batchAt({base: 0n, values: ['a', 'b', 'c', 'd']}))
    const {cluster, transport} = readFixture([log])
    answerOffsets(transport, log)
    const {records, notices} = await collect(cluster.reader.read(request([range(0, 4n)])))
    expect(notices).toEqual([{kind: 'gap', from: 0n, to: 2n}])
    expect(records).toEqual(['0:2=c', '0:3=d'])
  })

  test('a range that was deleted whole ends with its gap', async () => {
    const log = new FakeLog()
    log.start = 50n
    const {cluster, transport} = readFixture([log])
    answerOffsets(transport, log)
    const {notices, blocks} = await collect(cluster.reader.read(request([range(0, 7n)])))
    expect(notices).toEqual([{kind: 'gap', from: 0n, to: 7n}])
    expect(blocks).toMatchObject([{done: true, nextOffset: 7n}])
  })

  test('a log that ends before the position was truncated', async () => {
    const log = logOf(3)
    const {cluster, transport} = readFixture([log])
    answerOffsets(transport, log)
    const {notices} = await collect(cluster.reader.read(request([range(0, 20n, 10n)])))
    expect(notices).toMatchObject([{kind: 'incomplete', at: 10n, reason: 'truncated'}])
  })

  test('a diverging leader epoch is a truncation too', async () => {
    const {cluster, transport} = readFixture([logOf(3)])
    transport.on(fetchApi, body =>
      fetchAnswer(body, () => partitionAnswer({divergingEpoch: {epoch: 2, endOffset: 1n}})),
    )
    const {notices} = await collect(cluster.reader.read(request([range(0, 3n, 2n)])))
    expect(notices).toMatchObject([{kind: 'incomplete', at: 2n, reason: 'truncated'}])
  })

  test('a log that stays below the end of the range is given up after a while', async () => {
    const log = logOf(2)
    const {cluster, clock} = readFixture([log], {tuning: {stalledAfterMs: 3_000, maxWaitMs: 0}})
    const before = clock.monotonic()
    const {records, notices} = await collect(cluster.reader.read(request([range(0, 9n)])))
    expect(records).toHaveLength(2)
    expect(notices).toMatchObject([{kind: 'incomplete', at: 2n, reason: 'truncated'}])
    expect(clock.monotonic() - before).toBe(3_000)
  })

  test('an open transaction below the end of the range is named', async () => {
    const log = logOf(1)
    log.append(batchAt({base: 1n, values: ['open'], transactional: true, producerId: 7n}))
    log.lastStable = 1n
    const {cluster} = readFixture([log], {tuning: {stalledAfterMs: 1_000, maxWaitMs: 0}})
    const {records, notices} = await collect(
      cluster.reader.read(request([range(0, 2n)], {isolationLevel: 'read_committed'})),
    )
    expect(records).toEqual(['0:0=v0'])
    expect(notices).toMatchObject([{kind: 'incomplete', at: 1n, reason: 'open-transaction'}])
  })

  test('a request says how long it waits for an open transaction, counted from the last progress', async () => {
    const log = logOf(1)
    log.append(batchAt({base: 1n, values: ['open'], transactional: true, producerId: 7n}))
    log.lastStable = 1n
    const {cluster, clock} = readFixture([log], {tuning: {stalledAfterMs: 1_000, maxWaitMs: 0}})
    const start = clock.monotonic()
    const {notices} = await collect(
      cluster.reader.read(request([range(0, 2n)], {isolationLevel: 'read_committed', waitForStableMs: 8_000})),
    )
    expect(notices).toMatchObject([{kind: 'incomplete', at: 1n, reason: 'open-transaction'}])
    expect(clock.monotonic() - start).toBeGreaterThanOrEqual(8_000)
    expect(clock.monotonic() - start).toBeLessThan(9_000)
  })

  test('a read_committed range up to the high watermark ends when the open transaction below it has ended', async () => {
    const log = logOf(1)
    log.append(batchAt({base: 1n, values: ['open'], transactional: true, producerId: 7n}))
    log.append(batchAt({base: 2n, values: ['behind']}))
    log.lastStable = 1n
    const {cluster, transport, logs} = readFixture([log], {tuning: {stalledAfterMs: 1_000, maxWaitMs: 0}})
    let fetches = 0
    transport.on(fetchApi, body => {
      if (++fetches === 10) {
        log.append(markerAt(3n, 'abort'))
        log.aborted = [{producerId: 7n, firstOffset: 1n}]
        log.lastStable = null
      }
      return answerFrom(logs, body)
    })
    const {records, notices, blocks} = await collect(
      cluster.reader.read(request([range(0, 3n)], {isolationLevel: 'read_committed'})),
    )
    expect(records).toEqual(['0:0=v0', '0:2=behind'])
    expect(notices).toEqual([])
    expect(blocks.at(-1)).toMatchObject({done: true, nextOffset: 3n})
    expect(fetches).toBe(10)
  })

  test('a topic made anew under the same name is told, not read on', async () => {
    const log = logOf(4)
    const {cluster, transport} = readFixture([log], {tuning: {partitionMaxBytes: 1}})
    transport.on(fetchApi, body => {
      if (body.topics[0]?.partitions[0]?.fetchOffset !== 2n) return answerFrom([log], body)
      transport.topics = [topic('t', 1, {id: 'AAAAAAAAAAAAAAAAAAAAAg'})]
      return fetchAnswer(body, () => partitionAnswer({errorCode: CODES.UNKNOWN_TOPIC_ID}))
    })
    const {records, notices} = await collect(cluster.reader.read(request([range(0, 4n)])))
    expect(records).toEqual(['0:0=v0', '0:1=v1'])
    expect(notices).toMatchObject([{kind: 'incomplete', at: 2n, reason: 'recreated'}])
  })

  test('a deleted topic is told after a short while', async () => {
    const log = logOf(4)
    const {cluster, transport, clock} = readFixture([log], {tuning: {partitionMaxBytes: 1}})
    transport.on(fetchApi, body => {
      if (body.topics[0]?.partitions[0]?.fetchOffset !== 2n) return answerFrom([log], body)
      transport.topics = []
      return fetchAnswer(body, () => partitionAnswer({errorCode: CODES.UNKNOWN_TOPIC_ID}))
    })
    const before = clock.monotonic()
    const {notices} = await collect(cluster.reader.read(request([range(0, 4n)])))
    expect(notices).toMatchObject([
      {kind: 'incomplete', at: 2n, reason: 'deleted', error: {code: 'E_UNKNOWN_TOPIC_OR_PARTITION'}},
    ])
    expect(clock.monotonic() - before).toBeLessThan(7_000)
  })
})

describe('damaged batches', () => {
  test('a wrong checksum leaves out that batch, says which offsets, and goes on behind it', async () => {
    const log = new FakeLog()
    const damaged = batchAt({base: 1n, values: ['bad', 'bad']})
    damaged.writeUInt8(damaged.readUInt8(damaged.length - 3) ^ 0xff, damaged.length - 3)
    log.append(batchAt({base: 0n, values: ['a']}), damaged, batchAt({base: 3n, values: ['b']}))
    const {cluster} = readFixture([log])
    const {records, notices} = await collect(cluster.reader.read(request([range(0, 4n)])))
    expect(records).toEqual(['0:0=a', '0:3=b'])
    expect(notices).toMatchObject([{kind: 'undecodable', from: 1n, to: 3n, error: {code: 'E_RECORD_FORMAT'}}])
  })

  test('records of message format 1 are told in one notice an answer, and what follows is read', async () => {
    const old = (offset: bigint): Buffer => {
      const bytes = Buffer.alloc(40)
      bytes.writeBigInt64BE(offset, 0)
      bytes.writeInt32BE(28, 8)
      bytes.writeInt8(1, 16)
      return bytes
    }
    const log = logOf(1)
    const {cluster, transport} = readFixture([log])
    const records = Buffer.concat([old(0n), old(1n), old(2n), batchAt({base: 3n, values: ['new']})])
    transport.on(fetchApi, body => fetchAnswer(body, () => partitionAnswer({records, highWatermark: 4n})))
    const got = await collect(cluster.reader.read(request([range(0, 4n)])))
    expect(got.records).toEqual(['0:3=new'])
    expect(got.notices).toMatchObject([{kind: 'undecodable', from: 0n, to: 3n, error: {code: 'E_MESSAGE_FORMAT'}}])
  })

  test('a batch whose length cannot be trusted costs its first offset, not the read', async () => {
    const broken = batchAt({base: 0n, values: ['x']})
    broken.writeInt32BE(5, 8)
    const log = new FakeLog()
    log.append(batchAt({base: 1n, values: ['y']}))
    const {cluster, transport} = readFixture([log])
    transport.on(fetchApi, body =>
      fetchAnswer(body, (_, offset, bytes) =>
        offset === 0n ? partitionAnswer({records: broken, highWatermark: 2n}) : log.read(offset, bytes),
      ),
    )
    log.start = 1n
    const {records, notices} = await collect(cluster.reader.read(request([range(0, 2n)])))
    expect(records).toEqual(['0:1=y'])
    expect(notices).toMatchObject([{kind: 'undecodable', from: 0n, to: 1n}])
  })

  test('a control batch without a marker is left out like any damaged batch', async () => {
    const marker = batchAt({base: 1n, values: ['none'], transactional: true, producerId: 7n})
    const good = markerAt(1n, 'commit')
    marker.writeInt16BE(good.readInt16BE(21), 21)
    const log = new FakeLog()
    log.append(batchAt({base: 0n, values: ['a']}), marker, batchAt({base: 2n, values: ['b']}))
    const {cluster} = readFixture([log])
    const {records, notices} = await collect(
      cluster.reader.read(request([range(0, 3n)], {isolationLevel: 'read_committed'})),
    )
    expect(records).toEqual(['0:0=a', '0:2=b'])
    expect(notices).toMatchObject([{kind: 'undecodable', from: 1n, to: 2n}])
  })
})
