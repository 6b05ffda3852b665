import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import type {SourceRecord} from '../../sandbox/archive-record.ts'
import {startJavaHelper} from '../../sandbox/java-helper.ts'
import type {JavaHelper} from '../../sandbox/java-helper.ts'
import {ensureLibs} from '../../sandbox/libs.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import type {IsolationLevel, ReadRange} from '../../src/lib/kafka/ports.ts'
import {connectPlain, readAll, setQuota, sorted, wholeTopic} from '../support/kafka-client.ts'
import {bytesOf, inOrder, unique} from '../support/sandbox.ts'

const bootstrapServers = inject('bootstrapServers')
let java: JavaHelper
let cluster: KafkaCluster

beforeAll(async () => {
  java = startJavaHelper(await ensureLibs('4.4.0'), bootstrapServers)
  cluster = await connectPlain(bootstrapServers)
})

afterAll(async () => {
  await cluster.close()
  await java.close()
})

const hex = (text: string): {base64: string} => ({base64: Buffer.from(text, 'hex').toString('base64')})

/** `count` records in partition 0, values `<prefix><n>`. */
function records(topic: string, prefix: string, count: number, key: SourceRecord['key'] = null): SourceRecord[] {
  return Array.from({length: count}, (_, index) => ({topic, partition: 0, key, value: `${prefix}${index}`}))
}

function textOf(value: Buffer | null): string | null {
  return value?.toString() ?? null
}

/** What Kafka's own consumer says is in the range, as offset and value. */
async function javaView(topic: string, isolationLevel: IsolationLevel, range: ReadRange): Promise<string[]> {
  const all = inOrder(await java.consume(topic, isolationLevel))
  return all
    .filter(({partition, offset}) => partition === range.partition && BigInt(offset) >= range.from)
    .map(({offset, value}) => `${offset}=${textOf(bytesOf(value))}`)
}

async function ourView(isolationLevel: IsolationLevel, range: ReadRange): Promise<string[]> {
  const {records: found} = await readAll(cluster, [range], isolationLevel)
  return sorted(found).map(({offset, value}) => `${offset}=${textOf(value)}`)
}

test.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'])(
  'reads what the Java producer wrote with %s, byte for byte',
  async codec => {
    const topic = unique(`reader-${codec}`)
    await java.createTopic(topic, {partitions: 3, configs: {'max.message.bytes': '8000000'}})
    const source: SourceRecord[] = Array.from({length: 300}, (_, index) => ({
      topic,
      partition: index % 3,
      timestamp: String(1_700_000_000_000 + index),
      key: index % 7 === 0 ? null : hex('00ff0a'),
      value: index % 5 === 0 ? null : index === 151 ? 'x'.repeat(1 << 20) : `value-${index}`,
      headers: [
        ['a', '1'],
        ['b', ''],
        ['a', null],
        ['', hex('ff00')],
      ],
    }))
    await java.produce(source, {'compression.type': codec, 'linger.ms': '5'})
    const ranges = await wholeTopic(cluster, topic, 3)
    const {records: found, notices} = await readAll(cluster, ranges)
    expect(notices).toEqual([])
    const expected = inOrder(await java.consume(topic))
    const ours = sorted(found)
    expect(ours).toHaveLength(300)
    expect(
      ours.map(record => [
        record.partition,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        record.headers.map(({name, value}) => [name.toString(), value]),
      ]),
    ).toEqual(
      expected.map(record => [
        record.partition,
        BigInt(record.offset),
        BigInt(record.timestamp),
        bytesOf(record.key),
        bytesOf(record.value),
        record.headers.map(([name, value]) => [name, bytesOf(value)]),
      ]),
    )
  },
)

describe('transactions', () => {
  test('[BR-46] two interleaved aborted ones and a key of int32 0, from every start offset, at both isolation levels', async () => {
    const topic = unique('reader-txn')
    await java.createTopic(topic)
    const [one, two, three] = ['one', 'two', 'three'].map(id => `${topic}-${id}`) as [string, string, string]
    const zero = hex('00000000')
    await java.transactions([
      {id: one, do: 'begin'},
      {id: one, do: 'send', records: records(topic, 'a', 2, zero)},
      {id: two, do: 'begin'},
      {id: two, do: 'send', records: records(topic, 'b', 2, zero)},
      {id: three, do: 'begin'},
      {id: three, do: 'send', records: records(topic, 'kept', 2, zero)},
      {id: one, do: 'send', records: records(topic, 'a-late', 1, zero)},
      {id: one, do: 'abort'},
      {id: two, do: 'send', records: records(topic, 'b-late', 1, zero)},
      {id: three, do: 'commit'},
      {id: two, do: 'abort'},
      {id: one, do: 'begin'},
      {id: one, do: 'send', records: records(topic, 'again', 1, zero)},
      {id: one, do: 'commit'},
      {id: one, do: 'close'},
      {id: two, do: 'close'},
      {id: three, do: 'close'},
    ])
    await java.produce(records(topic, 'plain', 1, zero))
    const [whole] = await wholeTopic(cluster, topic, 1)
    if (whole?.to == null) throw new Error('no range')
    expect(await ourView('read_committed', whole)).toEqual(await javaView(topic, 'read_committed', whole))
    const committed = await javaView(topic, 'read_committed', whole)
    const uncommitted = await javaView(topic, 'read_uncommitted', whole)
    expect(committed.map(text => text.split('=')[1])).toEqual(['kept0', 'kept1', 'again0', 'plain0'])
    expect(uncommitted).toHaveLength(10)
    for (let from = 0n; from < whole.to; from++) {
      const isInside = (text: string): boolean => BigInt(text.split('=')[0] ?? 0) >= from
      expect(await ourView('read_committed', {...whole, from}), `committed from ${from}`).toEqual(
        committed.filter(isInside),
      )
      expect(await ourView('read_uncommitted', {...whole, from}), `all from ${from}`).toEqual(
        uncommitted.filter(isInside),
      )
    }
    const {blocks} = await readAll(cluster, [whole])
    expect(blocks.reduce((sum, block) => sum + block.abortedRecords, 0)).toBe(6)
    expect(blocks.reduce((sum, block) => sum + block.controlRecords, 0)).toBe(4)
    expect(blocks.at(-1)).toMatchObject({done: true, nextOffset: whole.to})
  })

  test('[BR-42] [BR-44] a partition whose last entries are markers ends', async () => {
    const topic = unique('reader-marker')
    await java.createTopic(topic, {configs: {'segment.bytes': '1048576'}})
    await java.transactions([
      {id: topic, do: 'begin'},
      {id: topic, do: 'send', records: records(topic, 'v', 2)},
      {id: topic, do: 'commit'},
      {id: topic, do: 'begin'},
      {id: topic, do: 'send', records: records(topic, 'x', 1)},
      {id: topic, do: 'abort'},
      {id: topic, do: 'close'},
    ])
    const ranges = await wholeTopic(cluster, topic, 1)
    expect(ranges).toEqual([{topic, partition: 0, from: 0n, to: 5n}])
    const {records: found, blocks} = await readAll(cluster, ranges)
    expect(found.map(({value}) => textOf(value))).toEqual(['v0', 'v1'])
    expect(blocks.at(-1)).toMatchObject({done: true, nextOffset: 5n, controlRecords: 2, abortedRecords: 1})
  })

  test('an open transaction holds back the last stable offset, not a read up to it', async () => {
    const topic = unique('reader-open')
    await java.createTopic(topic)
    await java.produce(records(topic, 'before', 2))
    await java.transactions([
      {id: topic, do: 'begin'},
      {id: topic, do: 'send', records: records(topic, 'open', 1)},
    ])
    await java.produce(records(topic, 'behind', 1))
    const place = {topic, partition: 0}
    const ends = await cluster.reader.offsets([{...place, at: 'last-stable'}, {...place, at: 'latest'}]) // prettier-ignore
    expect(ends.map(({offset}) => offset)).toEqual([2n, 4n])
    const stable = await readAll(cluster, [{...place, from: 0n, to: 2n}])
    expect(stable.records.map(({value}) => textOf(value))).toEqual(['before0', 'before1'])
    await using impatient = await connectPlain(bootstrapServers, {tuning: {stalledAfterMs: 500, maxWaitMs: 100}})
    const beyond = await readAll(impatient, [{...place, from: 0n, to: 4n}])
    expect(beyond.notices).toMatchObject([{kind: 'incomplete', at: 2n, reason: 'open-transaction'}])
    await java.transactions([{id: topic, do: 'abort'}, {id: topic, do: 'close'}]) // prettier-ignore
  })
})

describe('what happens to a topic during a read', () => {
  /** Small fetches, so that there is something left to read when the topic changes. */
  const tuning = {partitionMaxBytes: 4_000, queuedAnswers: 1, deletedAfterMs: 1_000}

  async function filled(name: string): Promise<{topic: string; ranges: ReadRange[]; slow: KafkaCluster}> {
    const topic = unique(name)
    await java.createTopic(topic)
    const many = records(topic, 'v'.repeat(500), 200)
    await java.produce(many, {'batch.size': '2000', 'linger.ms': '0'})
    return {topic, ranges: await wholeTopic(cluster, topic, 1), slow: await connectPlain(bootstrapServers, {tuning})}
  }

  test('deleted records are a gap and the rest is read', async () => {
    const {topic, ranges, slow} = await filled('reader-gap')
    await using reader = slow
    let deleted = false
    const {records: found, notices} = await readAll(reader, ranges, 'read_committed', async () => {
      if (deleted) return
      deleted = true
      await java.deleteRecords(topic, 0, '150')
    })
    const [gap, ...others] = notices
    expect(others).toEqual([])
    if (gap?.kind !== 'gap') throw new Error(`not a gap: ${gap?.kind}`)
    expect(gap.to).toBe(150n)
    expect(gap.from).toBeGreaterThan(0n)
    expect(gap.from).toBeLessThan(100n)
    const expected = Array.from({length: 200}, (_, index) => BigInt(index)).filter(
      offset => offset < gap.from || offset >= 150n,
    )
    expect(found.map(({offset}) => offset)).toEqual(expected)
  })

  test('a topic made anew under its name is not read on', async () => {
    const {topic, ranges, slow} = await filled('reader-recreated')
    await using reader = slow
    let recreated = false
    const {records: found, notices} = await readAll(reader, ranges, 'read_committed', async () => {
      if (recreated) return
      recreated = true
      await java.deleteTopic(topic)
      await expect
        .poll(async () => (await reader.reader.topics([topic]))[0]?.error?.code, {timeout: 15_000})
        .toBe('E_UNKNOWN_TOPIC_OR_PARTITION')
      await java.createTopic(topic)
      await java.produce(records(topic, 'new'.repeat(200), 200), {'batch.size': '2000', 'linger.ms': '0'})
    })
    expect(notices).toMatchObject([{kind: 'incomplete', reason: 'recreated'}])
    expect(found.length).toBeLessThan(200)
    expect(found.every(({value}) => textOf(value)?.startsWith('vvv') === true)).toBe(true)
  })

  test('a deleted topic ends the read', async () => {
    const {topic, ranges, slow} = await filled('reader-deleted')
    await using reader = slow
    let deleted = false
    const {notices} = await readAll(reader, ranges, 'read_committed', async () => {
      if (deleted) return
      deleted = true
      await java.deleteTopic(topic)
    })
    expect(notices).toMatchObject([
      {kind: 'incomplete', reason: 'deleted', error: {code: 'E_UNKNOWN_TOPIC_OR_PARTITION'}},
    ])
  })
})

test('a read that the broker throttles is slow and whole', async ({onTestFailed}) => {
  const topic = unique('reader-throttled')
  await java.createTopic(topic, {partitions: 2})
  const big = [0, 1].flatMap(partition =>
    records(topic, 'z'.repeat(10_000), 11).map(record => ({...record, partition})),
  )
  await java.produce(big)
  const clientId = unique('throttled')
  // The broker averages over ten seconds: 200 kB pass at once, the rest has to wait.
  await setQuota(bootstrapServers, {clientId, bytesPerSecond: 20_000})
  const talk: string[] = []
  const debug = (line: string): void => void talk.push(`${Math.round(performance.now())} ms: ${line}`)
  onTestFailed(() => {
    throw new Error(`what the client did:\n${talk.join('\n')}`)
  })
  const tuning = {partitionMaxBytes: 50_000}
  await using slow = await connectPlain(bootstrapServers, {config: {clientId}, tuning, debug})
  const {records: found, blocks, notices} = await readAll(slow, await wholeTopic(cluster, topic, 2))
  expect(found).toHaveLength(22)
  expect(notices).toEqual([])
  expect(Math.max(...blocks.map(({throttleMs}) => throttleMs))).toBeGreaterThan(0)
})

test('offsets and topics of a real broker: points, times, unknown ones', async () => {
  const topic = unique('reader-offsets')
  await java.createTopic(topic)
  await java.produce(
    [1_000, 2_000, 3_000].map(time => ({
      topic,
      partition: 0,
      key: null,
      value: 'v',
      timestamp: String(1_700_000_000_000 + time),
    })),
  )
  const place = {topic, partition: 0}
  const at = (ms: number) => ({...place, at: {timestampMs: BigInt(1_700_000_000_000 + ms)}})
  const answers = await cluster.reader.offsets([
    {...place, at: 'earliest'},
    {...place, at: 'latest'},
    {...place, at: 'last-stable'},
    at(1_500),
    at(9_000),
    {topic: unique('none'), partition: 0, at: 'latest'},
    {topic, partition: 7, at: 'latest'},
  ])
  expect(answers.map(({offset, error}) => error?.code ?? offset)).toEqual([
    0n, 3n, 3n, 1n, null, 'E_UNKNOWN_TOPIC_OR_PARTITION', 'E_UNKNOWN_TOPIC_OR_PARTITION',
  ]) // prettier-ignore
  const [known] = await cluster.reader.topics([topic])
  expect(known).toMatchObject({
    name: topic,
    id: expect.stringMatching(/^[\w-]{22}$/) as string,
    internal: false,
    error: null,
  })
  const all = await cluster.reader.topics(null)
  expect(all.map(({name}) => name)).toContain(topic)
})
