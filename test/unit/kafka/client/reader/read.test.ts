import {getEventListeners} from 'node:events'
import {setImmediate} from 'node:timers/promises'
import {describe, expect, test} from 'vitest'
import {fetchApi} from '../../../../../src/lib/kafka/protocol/generated/fetch.ts'
import {batchAt, FakeLog, fetchAnswer, markerAt, partitionAnswer, topic} from '../fake-transport.ts'
import {answerFrom, collect, logOf, range, readFixture, request, valuesOf} from './support.ts'

describe('a read', () => {
  test('yields the records of each range once, in the order of their partition', async () => {
    const {cluster} = readFixture([logOf(5, 'a'), logOf(3, 'b')])
    const {records, blocks} = await collect(cluster.reader.read(request([range(0, 5n), range(1, 3n)])))
    expect(records.filter(text => text.startsWith('0:'))).toEqual(['0:0=a0', '0:1=a1', '0:2=a2', '0:3=a3', '0:4=a4'])
    expect(records.filter(text => text.startsWith('1:'))).toEqual(['1:0=b0', '1:1=b1', '1:2=b2'])
    expect(blocks.filter(({done}) => done)).toHaveLength(2)
  })

  test('keeps to the frozen bounds when the log goes on behind them and a batch reaches over them', async () => {
    const log = new FakeLog()
    log.append(batchAt({base: 0n, values: ['a', 'b', 'c']}), batchAt({base: 3n, values: ['d', 'e', 'f']}))
    const {cluster} = readFixture([log])
    const {records} = await collect(cluster.reader.read(request([range(0, 5n, 1n)])))
    expect(records).toEqual(['0:1=b', '0:2=c', '0:3=d', '0:4=e'])
  })

  test('tells an empty range as done without asking any broker', async () => {
    const {cluster, transport} = readFixture([logOf(2)])
    const {blocks} = await collect(cluster.reader.read(request([range(0, 0n)])))
    expect(blocks).toMatchObject([{done: true, batches: [], nextOffset: 0n}])
    expect(transport.sent).toEqual([])
  })

  test('asks for the next offset before the consumer has taken the block', async () => {
    const {cluster, transport} = readFixture([logOf(4, 'v', 600)], {tuning: {partitionMaxBytes: 100}})
    const blocks = cluster.reader.read(request([range(0, 4n)]))[Symbol.asyncIterator]()
    const first = await blocks.next()
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    const asked = transport.bodies(fetchApi).map(({topics}) => topics[0]?.partitions[0]?.fetchOffset)
    expect(first.value).toMatchObject({nextOffset: 1n})
    // Two more answers wait (the queue's bound), nothing beyond them is asked for.
    expect(asked).toEqual([0n, 1n, 2n])
    await blocks.return?.()
  })

  test('takes the next offset from the batch, so that compacted offsets are passed', async () => {
    const log = new FakeLog()
    log.append(batchAt({base: 0n, values: ['a', 'b'], lastDelta: 9}), batchAt({base: 10n, values: ['c']}))
    const {cluster, transport} = readFixture([log], {tuning: {partitionMaxBytes: 10}})
    const {records} = await collect(cluster.reader.read(request([range(0, 11n)])))
    expect(records).toEqual(['0:0=a', '0:9=b', '0:10=c'])
    const asked = transport.bodies(fetchApi).map(({topics}) => topics[0]?.partitions[0]?.fetchOffset)
    expect(asked).toEqual([0n, 10n])
  })

  test('[BR-39] an empty answer is not the end', async () => {
    const log = logOf(2)
    const {cluster, transport} = readFixture([log, new FakeLog(), new FakeLog()])
    let empties = 3
    transport.on(fetchApi, body =>
      empties-- > 0
        ? fetchAnswer(body, () => partitionAnswer({highWatermark: 0n, records: Buffer.alloc(0)}))
        : answerFrom([log], body),
    )
    const {records, notices} = await collect(cluster.reader.read(request([range(0, 2n)])))
    expect(records).toEqual(['0:0=v0', '0:1=v1'])
    expect(notices).toEqual([])
  })

  test('[BR-42] a range that ends behind a transaction marker ends', async () => {
    const log = new FakeLog()
    log.append(batchAt({base: 0n, values: ['a', 'b'], transactional: true, producerId: 7n}), markerAt(2n, 'commit'))
    const {cluster} = readFixture([log])
    const {records, blocks} = await collect(
      cluster.reader.read(request([range(0, 3n)], {isolationLevel: 'read_committed'})),
    )
    expect(records).toEqual(['0:0=a', '0:1=b'])
    expect(blocks.at(-1)).toMatchObject({done: true, nextOffset: 3n})
    expect(blocks.reduce((sum, {controlRecords}) => sum + controlRecords, 0)).toBe(1)
  })

  test('[BR-44] passes markers at the end of every segment', async () => {
    const log = new FakeLog()
    for (let segment = 0n; segment < 4n; segment++) {
      const base = segment * 2n
      log.append(
        batchAt({base, values: [`s${segment}`], transactional: true, producerId: 7n}),
        markerAt(base + 1n, 'commit'),
      )
    }
    const {cluster} = readFixture([log], {tuning: {partitionMaxBytes: 1}})
    const {records} = await collect(cluster.reader.read(request([range(0, 8n)], {isolationLevel: 'read_committed'})))
    expect(records).toEqual(['0:0=s0', '0:2=s1', '0:4=s2', '0:6=s3'])
  })

  test('[BR-46] hides aborted records under read_committed and counts them', async () => {
    const log = new FakeLog()
    log.append(
      batchAt({base: 0n, values: ['x', 'y'], transactional: true, producerId: 7n}),
      markerAt(2n, 'abort'),
      batchAt({base: 3n, values: ['kept'], transactional: true, producerId: 8n}),
      markerAt(4n, 'commit', 8n),
    )
    log.aborted = [{producerId: 7n, firstOffset: 0n}]
    const {cluster} = readFixture([log])
    const committed = await collect(cluster.reader.read(request([range(0, 5n)], {isolationLevel: 'read_committed'})))
    expect(committed.records).toEqual(['0:3=kept'])
    expect(committed.blocks[0]).toMatchObject({abortedRecords: 2, controlRecords: 2})
    const all = await collect(cluster.reader.read(request([range(0, 5n)])))
    expect(all.records).toEqual(['0:0=x', '0:1=y', '0:3=kept'])
  })

  test('ends a range whose tail compaction has emptied', async () => {
    const log = logOf(2)
    const {cluster, transport} = readFixture([log])
    transport.on(fetchApi, body =>
      fetchAnswer(body, (_, offset, bytes) => ({
        ...(offset < 2n ? log.read(offset, bytes) : partitionAnswer({})),
        highWatermark: 9n,
      })),
    )
    const {records, blocks} = await collect(cluster.reader.read(request([range(0, 9n)])))
    expect(records).toEqual(['0:0=v0', '0:1=v1'])
    expect(blocks.at(-1)).toMatchObject({done: true, nextOffset: 9n, notices: []})
  })

  test('does not take an answer that had no room left for the end of a range', async () => {
    const logs = [logOf(3, 'a', 500), logOf(3, 'b', 500)]
    const {cluster, transport} = readFixture(logs, {tuning: {requestsPerBroker: 1}})
    // The whole answer is full after the first partition, again and again.
    transport.on(fetchApi, body => {
      const first = body.topics[0]?.partitions[0]?.partition
      return fetchAnswer(body, (partition, offset) => {
        const log = logs[partition] ?? new FakeLog()
        return partition === first
          ? log.read(offset, 1)
          : partitionAnswer({highWatermark: log.end, records: Buffer.alloc(7)})
      })
    })
    const {records} = await collect(cluster.reader.read(request([range(0, 3n), range(1, 3n)])))
    expect(records).toHaveLength(6)
  })

  test('a throttled answer without topics is asked again after the throttle time', async () => {
    const log = logOf(1)
    const {cluster, transport, clock} = readFixture([log])
    let first = true
    transport.on(fetchApi, body => {
      if (!first) return answerFrom([log], body)
      first = false
      return {...fetchAnswer({...body, topics: []}, () => partitionAnswer({})), throttleTimeMs: 1_234}
    })
    const before = clock.monotonic()
    const {records, blocks} = await collect(cluster.reader.read(request([range(0, 1n)])))
    expect(records).toEqual(['0:0=v0'])
    expect(clock.monotonic() - before).toBe(1_234)
    expect(blocks[0]?.throttleMs).toBe(1_234)
  })

  test('keeps several requests in flight to one broker, never two for one partition', async () => {
    const logs = [logOf(9), logOf(9), logOf(9), logOf(9)]
    const {cluster, transport} = readFixture(logs, {tuning: {requestsPerBroker: 2, partitionMaxBytes: 1}})
    let inFlight: number[][] = []
    let most = 0
    transport.on(fetchApi, async body => {
      const own = body.topics.flatMap(({partitions}) => partitions.map(({partition}) => partition))
      const others = inFlight.flat()
      expect(own.filter(partition => others.includes(partition))).toEqual([])
      inFlight.push(own)
      most = Math.max(most, inFlight.length)
      await setImmediate()
      inFlight = inFlight.filter(entry => entry !== own)
      return answerFrom(logs, body)
    })
    const {records} = await collect(cluster.reader.read(request(logs.map((_, index) => range(index, 9n)))))
    expect(new Set(records).size).toBe(36)
    expect(most).toBe(2)
  })

  test('in the order partition, blocks come range by range and only the next ranges are read ahead', async () => {
    const logs = Array.from({length: 6}, (_, index) => logOf(3, `p${index}-`))
    const {cluster, transport} = readFixture(logs, {tuning: {partitionMaxBytes: 1, rangesAhead: 2}})
    const ranges = logs.map((_, index) => range(index, 3n))
    const blocks = cluster.reader.read(request(ranges, {order: 'partition'}))
    const partitions: number[] = []
    for await (const block of blocks) {
      partitions.push(...valuesOf(block).map(text => Number(text.split(':')[0])))
      const asked = transport
        .bodies(fetchApi)
        .flatMap(({topics}) => topics.flatMap(({partitions: of}) => of.map(({partition}) => partition)))
      expect(Math.max(...asked)).toBeLessThanOrEqual(block.partition + 2)
    }
    expect(partitions).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5])
  })

  test('asks for no more than its bound while the consumer is slow', async () => {
    const logs = Array.from({length: 8}, () => logOf(4, 'v', 900))
    const tuning = {partitionMaxBytes: 1_000, maxBytes: 2_000, bufferBytes: 4_000, requestsPerBroker: 4}
    const {cluster, transport} = readFixture(logs, {tuning})
    const blocks = cluster.reader.read(request(logs.map((_, index) => range(index, 4n))))[Symbol.asyncIterator]()
    let got = await blocks.next()
    for (let turn = 0; turn < 10; turn++) await setImmediate()
    const asked = transport.bodies(fetchApi).reduce((sum, {maxBytes = 0}) => sum + maxBytes, 0)
    expect(asked).toBeLessThanOrEqual(4_000)
    let count = 0
    for (; got.done !== true; got = await blocks.next()) count += valuesOf(got.value).length
    expect(count).toBe(32)
  })

  test('a batch larger than every limit still comes', async () => {
    const log = new FakeLog()
    log.append(batchAt({base: 0n, values: ['x'.repeat(1 << 20)]}), batchAt({base: 1n, values: ['y']}))
    const {cluster} = readFixture([log], {tuning: {partitionMaxBytes: 1_000, maxBytes: 1_000, bufferBytes: 2_000}})
    const {records} = await collect(cluster.reader.read(request([range(0, 2n)])))
    expect(records.map(({length}) => length)).toEqual([(1 << 20) + 4, 5])
  })

  test('the read rate bounds bytes a second over the whole read', async () => {
    const logs = [logOf(20, 'a', 1_000), logOf(20, 'b', 1_000)]
    const {cluster, clock} = readFixture(logs)
    const before = clock.monotonic()
    const ranges = [range(0, 20n), range(1, 20n)]
    const {blocks} = await collect(cluster.reader.read(request(ranges, {readRate: 4_000})))
    const bytes = blocks.reduce((sum, block) => sum + block.bytes, 0)
    const last = blocks.at(-1)?.bytes ?? 0
    // The last answer needs no wait behind it.
    expect(clock.monotonic() - before).toBeGreaterThanOrEqual(((bytes - last - 16_384) / 4_000) * 1_000)
    expect(bytes).toBeGreaterThan(40_000)
  })

  test('follows past the end until it is told to stop, and leaves no listener and no timer', async () => {
    const log = logOf(1)
    const {cluster, clock} = readFixture([log], {auto: false})
    const stop = new AbortController()
    const blocks = cluster.reader.read(request([range(0, null)]), {signal: stop.signal})[Symbol.asyncIterator]()
    const first = await blocks.next()
    expect(first.value).toMatchObject({done: false, nextOffset: 1n, to: null})
    const next = blocks.next()
    log.append(batchAt({base: 1n, values: ['later']}))
    const later = await next
    expect(later.done === true ? [] : valuesOf(later.value)).toEqual(['0:1=later'])
    const never = blocks.next()
    const reason = new Error('enough')
    stop.abort(reason)
    await expect(never).rejects.toBe(reason)
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
    expect(clock.waiting).toBe(0)
  })

  test('followed partitions without news share one request that waits at the broker', async () => {
    const logs = [logOf(1), logOf(1), logOf(1), logOf(1), logOf(1), logOf(1)]
    const {cluster, transport, clock} = readFixture(logs)
    const stop = new AbortController()
    const waiting: number[] = []
    transport.on(fetchApi, async body => {
      if (body.maxWaitMs > 0) waiting.push(body.topics[0]?.partitions.length ?? 0)
      if (waiting.length === 5) stop.abort(new Error('seen'))
      await clock.sleep(body.maxWaitMs)
      return answerFrom(logs, body)
    })
    const ranges = logs.map((_, index) => range(index, null))
    await expect(collect(cluster.reader.read(request(ranges), {signal: stop.signal}))).rejects.toThrow('seen')
    expect(waiting).toEqual([6, 6, 6, 6, 6])
    expect(transport.bodies(fetchApi).length).toBeLessThan(15)
  })

  test('a range that is stuck does not stop with the full queue of the next one behind it', async () => {
    const stuck = logOf(1)
    stuck.append(batchAt({base: 1n, values: ['open'], transactional: true, producerId: 7n}))
    stuck.lastStable = 1n
    const tuning = {stalledAfterMs: 1_000, partitionMaxBytes: 1, queuedAnswers: 1}
    const {cluster} = readFixture([stuck, logOf(5)], {tuning})
    const ranges = [range(0, 2n), range(1, 5n)]
    const asked = request(ranges, {order: 'partition', isolationLevel: 'read_committed'})
    const {records, notices} = await collect(cluster.reader.read(asked))
    expect(records).toEqual(['0:0=v0', '1:0=v0', '1:1=v1', '1:2=v2', '1:3=v3', '1:4=v4'])
    expect(notices).toMatchObject([{kind: 'incomplete', at: 1n, reason: 'open-transaction'}])
  })

  test('a consumer that leaves early ends what is in flight', async () => {
    const {cluster, transport, clock} = readFixture([logOf(50)], {auto: false, tuning: {partitionMaxBytes: 1}})
    for await (const block of cluster.reader.read(request([range(0, 50n)]))) {
      expect(block.nextOffset).toBe(1n)
      break
    }
    const sent = transport.sent.length
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    expect(transport.sent).toHaveLength(sent)
    expect(clock.waiting).toBe(0)
  })

  test('an aborted signal reads nothing', async () => {
    const {cluster, transport} = readFixture([logOf(1)])
    await expect(collect(cluster.reader.read(request([range(0, 1n)]), {signal: AbortSignal.abort('no')}))).rejects.toBe(
      'no',
    )
    expect(transport.sent).toEqual([])
  })

  test('asks by topic id and with the last batch epoch where the broker can, else by name', async () => {
    const byId = readFixture([logOf(2)], {tuning: {partitionMaxBytes: 1}})
    await collect(byId.cluster.reader.read(request([range(0, 2n)])))
    expect(byId.transport.bodies(fetchApi)).toMatchObject([
      {topics: [{topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', partitions: [{lastFetchedEpoch: -1, currentLeaderEpoch: 3}]}]},
      {topics: [{topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', partitions: [{lastFetchedEpoch: 3}]}]},
    ])
    const byName = readFixture([logOf(2)], {tuning: {partitionMaxBytes: 1}})
    byName.transport.range = {min: 4, max: 11}
    byName.transport.topics = [topic('t', 1, {id: null})]
    await collect(byName.cluster.reader.read(request([range(0, 2n)])))
    expect(byName.transport.bodies(fetchApi)).toMatchObject([
      {topics: [{topic: 't', partitions: [{lastFetchedEpoch: -1}]}], sessionId: 0, sessionEpoch: -1, replicaId: -1},
      {topics: [{topic: 't', partitions: [{lastFetchedEpoch: -1}]}]},
    ])
  })
})
