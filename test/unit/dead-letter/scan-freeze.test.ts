import {describe, expect, test} from 'vitest'
import {freezeSelection, type FreezeDeps} from '../../../src/lib/dead-letter/freeze.ts'
import {KafkaError, UsageError} from '../../../src/lib/errors.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import type {Position} from '../../../src/lib/select/position.ts'
import {selectAll, type FrozenRange, type Selection} from '../../../src/lib/select/selection.ts'
import {parseSource, isArchiveSource, type TopicSource} from '../../../src/lib/select/source.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {recordWith} from '../../support/records.ts'
import {ScanCluster, type Logs} from './scan-cluster.ts'

const NOW = 1_764_500_000_000
const deps: FreezeDeps = {
  clock: new FakeClock({now: NOW}),
  readBaseline: () => Promise.resolve([{topic: 'orders-dlq', partition: 1, offset: 3n}]),
}

function records(
  from: number,
  count: number,
  timestamp: (offset: number) => number = offset => NOW + offset,
): KafkaRecord[] {
  return Array.from({length: count}, (_, index) =>
    recordWith([], {offset: BigInt(from + index), timestamp: BigInt(timestamp(from + index))}),
  )
}

function topicSources(...texts: readonly string[]): TopicSource[] {
  return texts.map(text => {
    const source = parseSource(text, {exists: () => false})
    if (isArchiveSource(source)) throw new Error(text)
    return source
  })
}

/** `partition:from-to` for each range. */
async function freeze(logs: Logs, other: Partial<Selection> = {}, cluster = new ScanCluster(logs)): Promise<string[]> {
  const frozen = await freezeSelection(cluster.cluster, {...selectAll(topicSources('orders-dlq')), ...other}, deps)
  return frozen.ranges.map(short)
}

function short({topic, partition, from, to}: FrozenRange): string {
  return `${topic}:${partition}:${from}-${to ?? ''}`
}

const three: Logs = {
  'orders-dlq': [
    {parts: [{records: records(0, 10)}]},
    {parts: [{records: records(0, 6)}]},
    {parts: [], start: 500n, end: 500n},
  ],
}

describe('positions in each partition', () => {
  const cases: readonly (readonly [string, Position, readonly string[]])[] = [
    ['start', {kind: 'start'}, ['0:0-10', '1:0-6', '2:500-500']],
    ['end', {kind: 'end'}, ['0:10-10', '1:6-6', '2:500-500']],
    ['end-8', {kind: 'before-end', offsets: 8n}, ['0:2-10', '1:0-6', '2:500-500']],
    ['4', {kind: 'offset', offset: 4n}, ['0:4-10', '1:4-6', '2:500-500']],
    ['8', {kind: 'offset', offset: 8n}, ['0:8-10', '1:6-6', '2:500-500']],
    ['@T', {kind: 'time', ms: BigInt(NOW + 7), assumedZone: null}, ['0:7-10', '1:6-6', '2:500-500']],
    ['baseline:FILE', {kind: 'baseline', file: 'x'}, ['0:0-10', '1:3-6', '2:500-500']],
  ]

  test.each(cases)('--from %s', async (_, from, expected) => {
    expect(await freeze(three, {from})).toEqual(expected.map(text => `orders-dlq:${text}`))
  })

  test.each([
    ['end', {kind: 'end'}, ['0:0-10', '1:0-6', '2:500-500']],
    ['start', {kind: 'start'}, ['0:0-0', '1:0-0', '2:500-500']],
    ['end-8', {kind: 'before-end', offsets: 8n}, ['0:0-2', '1:0-0', '2:500-500']],
    ['4', {kind: 'offset', offset: 4n}, ['0:0-4', '1:0-4', '2:500-500']],
    ['@T', {kind: 'time', ms: BigInt(NOW + 3), assumedZone: null}, ['0:0-10', '1:0-6', '2:500-500']],
    ['baseline:FILE', {kind: 'baseline', file: 'x'}, ['0:0-0', '1:0-3', '2:500-500']],
  ] as const)('--to %s', async (_, to, expected) => {
    expect(await freeze(three, {to})).toEqual(expected.map(text => `orders-dlq:${text}`))
  })

  test('[BR-48] --since applies to each partition of all', async () => {
    const cluster = new ScanCluster(three)
    const selection = {
      ...selectAll(topicSources('orders-dlq')),
      from: {kind: 'time', ms: BigInt(NOW + 4), assumedZone: null} as const,
    }
    const {ranges} = await freezeSelection(cluster.cluster, selection, deps)
    expect(ranges.map(short)).toEqual(['orders-dlq:0:4-10', 'orders-dlq:1:4-6', 'orders-dlq:2:500-500'])
    expect(ranges.map(({fromTimeMs}) => fromTimeMs)).toEqual([BigInt(NOW + 4), BigInt(NOW + 4), BigInt(NOW + 4)])
  })

  test('[CR-08] all partitions, each from where it begins after retention', async () => {
    const logs = {'orders-dlq': [{parts: [{records: records(500, 3)}]}, {parts: [{records: records(7, 1)}]}]}
    expect(await freeze(logs)).toEqual(['orders-dlq:0:500-503', 'orders-dlq:1:7-8'])
  })

  test('a group’s committed offsets, and the start where it has none', async () => {
    const cluster = new ScanCluster(three)
    cluster.committed = {g: [{topic: 'orders-dlq', partition: 1, offset: 5n}]}
    expect(await freeze(three, {from: {kind: 'group', group: 'g'}}, cluster)).toEqual([
      'orders-dlq:0:0-10',
      'orders-dlq:1:5-6',
      'orders-dlq:2:500-500',
    ])
    await expect(freeze(three, {from: {kind: 'group', group: 'other'}}, cluster)).rejects.toMatchObject({
      code: 'E_NO_COMMITTED_OFFSET',
      context: {group: 'other'},
    })
  })

  test('a range never ends before it begins', async () => {
    expect(await freeze(three, {from: {kind: 'offset', offset: 5n}, to: {kind: 'offset', offset: 2n}})).toEqual([
      'orders-dlq:0:5-5',
      'orders-dlq:1:5-5',
      'orders-dlq:2:500-500',
    ])
  })

  test('--follow has no end, unless --to gives one', async () => {
    expect(await freeze(three, {follow: true, from: {kind: 'end'}})).toEqual([
      'orders-dlq:0:10-',
      'orders-dlq:1:6-',
      'orders-dlq:2:500-',
    ])
    expect((await freeze(three, {follow: true, to: {kind: 'offset', offset: 4n}}))[0]).toBe('orders-dlq:0:0-4')
  })

  test('offsets beyond 2^53 keep every digit', async () => {
    const first = 9_007_199_254_740_993n
    const logs = {'orders-dlq': [{parts: [{records: [recordWith([], {offset: first})]}]}]}
    expect(await freeze(logs, {from: {kind: 'before-end', offsets: 1n}})).toEqual([
      `orders-dlq:0:${first}-${first + 1n}`,
    ])
  })
})

describe('sources', () => {
  const log = {parts: [{records: records(0, 3)}]}
  const logs: Logs = {'orders-dlq': [log, log], 'payments-dlq': [log], orders: [log], __consumer_offsets: [log]}
  const names = async (...texts: readonly string[]): Promise<string[]> =>
    freeze(logs, {sources: topicSources(...texts)})

  test('a pattern takes existing topics, in order, each once', async () => {
    expect(await names('*-dlq', 'payments-dlq')).toEqual(['orders-dlq:0:0-3', 'orders-dlq:1:0-3', 'payments-dlq:0:0-3'])
  })

  test('internal topics are taken only by a pattern that means them', async () => {
    expect((await names('*')).some(range => range.startsWith('__'))).toBe(false)
    expect(await names('__consumer*')).toEqual(['__consumer_offsets:0:0-3'])
  })

  test('an archive as a whole takes all its topics', async () => {
    expect(await freeze(logs, {sources: [{kind: 'all'}]})).toHaveLength(5)
    expect(await freeze({}, {sources: [{kind: 'all'}]})).toEqual([])
  })

  test('an unknown topic is named, with the one that was meant', async () => {
    const unknown = names('orders-dlg')
    await expect(unknown).rejects.toThrow(KafkaError)
    await expect(unknown).rejects.toMatchObject({
      code: 'E_UNKNOWN_TOPIC',
      exitCode: 1,
      message: 'topic orders-dlg does not exist in localhost:9092',
      hints: ["did you mean 'orders-dlq'?"],
      context: {topic: 'orders-dlg'},
    })
  })

  test('when no name is near, some that exist are shown', async () => {
    await expect(names('banana')).rejects.toMatchObject({hints: ['topics there: orders, orders-dlq, payments-dlq']})
    const many = Object.fromEntries(Array.from({length: 9}, (_, index) => [`t${index}`, [log]]))
    await expect(freeze(many)).rejects.toMatchObject({hints: ['topics there: t0, t1, t2, t3, t4 and 4 more']})
  })

  test('a pattern without a match is an error, not an empty answer', async () => {
    await expect(names('nothing-*')).rejects.toMatchObject({code: 'E_UNKNOWN_TOPIC', context: {pattern: 'nothing-*'}})
  })

  test('partitions are those of --partition', async () => {
    expect(
      await freeze(three, {
        partitions: [
          [0, 0],
          [2, 2],
        ],
      }),
    ).toEqual(['orders-dlq:0:0-10', 'orders-dlq:2:500-500'])
  })

  test('a partition that does not exist is wrong use and names those that do', async () => {
    const missing = freeze(three, {partitions: [[1, 100_000]]})
    await expect(missing).rejects.toThrow(UsageError)
    await expect(missing).rejects.toThrow('partition 3 does not exist in orders-dlq')
    await expect(missing).rejects.toMatchObject({hints: ['there are partitions 0-2']})
    await expect(names('orders-dlq:7:0')).rejects.toThrow('partition 7 does not exist in orders-dlq')
  })

  test('topic ids come along', async () => {
    const {ranges} = await freezeSelection(
      new ScanCluster(logs).cluster,
      selectAll(topicSources('orders', 'orders-dlq:1:1')),
      deps,
    )
    expect(ranges.map(({topicId}) => topicId)).toEqual(['id-orders', 'id-orders-dlq'])
  })
})

describe('addresses', () => {
  const at = (...texts: readonly string[]): Partial<Selection> => ({sources: topicSources(...texts)})

  test('are one record, whatever the positions say', async () => {
    const time = {kind: 'time', ms: BigInt(NOW + 100), assumedZone: null} as const
    const selection = {...selectAll(topicSources('orders-dlq:0:4')), from: time}
    const {ranges} = await freezeSelection(new ScanCluster(three).cluster, selection, deps)
    expect(ranges.map(short)).toEqual(['orders-dlq:0:4-5'])
    expect(ranges[0]).toMatchObject({fromTimeMs: null, toTimeMs: null})
  })

  test('that hold no record are empty', async () => {
    expect(await freeze(three, at('orders-dlq:0:10', 'orders-dlq:2:499'))).toEqual([
      'orders-dlq:0:10-10',
      'orders-dlq:2:499-499',
    ])
  })

  test('inside a whole topic are read once', async () => {
    expect(await freeze(three, at('orders-dlq:0:4', 'orders-dlq:0:4', 'orders-dlq', 'orders-dlq:1:0'))).toEqual([
      'orders-dlq:0:0-4',
      'orders-dlq:0:4-5',
      'orders-dlq:0:5-10',
      'orders-dlq:1:0-1',
      'orders-dlq:1:1-6',
      'orders-dlq:2:500-500',
    ])
  })
})

describe('the end', () => {
  const open = (timestamp: number): Logs => ({
    'orders-dlq': [
      {
        parts: [{records: records(0, 3)}, {records: records(3, 2, () => timestamp), transactional: true}],
        lastStable: 3n,
      },
    ],
  })
  const frozen = async (logs: Logs, other: Partial<Selection> = {}): Promise<FrozenRange | undefined> =>
    (await freezeSelection(new ScanCluster(logs).cluster, {...selectAll(topicSources('orders-dlq')), ...other}, deps))
      .ranges[0]

  test('is the last stable offset under read_committed, the high watermark else', async () => {
    expect((await frozen(open(NOW)))?.to).toBe(3n)
    expect((await frozen(open(NOW), {isolationLevel: 'read_uncommitted'}))?.to).toBe(5n)
  })

  test('before a transaction that is open for more than 60 s is not complete', async () => {
    expect((await frozen(open(NOW - 60_001)))?.incomplete).toBe('open-transaction')
    expect((await frozen(open(NOW - 60_000)))?.incomplete).toBeNull()
    expect((await frozen(open(NOW)))?.incomplete).toBeNull()
  })

  test('that was asked for explicitly does not look for transactions', async () => {
    const cluster = new ScanCluster(open(NOW - 100_000))
    const selection = {...selectAll(topicSources('orders-dlq')), to: {kind: 'offset', offset: 3n} as const}
    expect((await freezeSelection(cluster.cluster, selection, deps)).ranges[0]?.incomplete).toBeNull()
    expect(cluster.reads).toEqual([])
  })

  test('of a partition without a leader is unknown; the others are read', async () => {
    const logs: Logs = {'orders-dlq': [{parts: [], unavailable: true}, {parts: [{records: records(0, 2)}]}]}
    const {ranges} = await freezeSelection(
      new ScanCluster(logs).cluster,
      {...selectAll(topicSources('orders-dlq')), from: {kind: 'time', ms: 0n, assumedZone: null}},
      deps,
    )
    expect(ranges.map(({incomplete}) => incomplete)).toEqual(['unavailable', null])
    expect(ranges.map(short)).toEqual(['orders-dlq:0:0-0', 'orders-dlq:1:0-2'])
  })

  test('of no partition is an error', async () => {
    await expect(frozen({'orders-dlq': [{parts: [], unavailable: true}]})).rejects.toMatchObject({
      code: 'E_LEADER_NOT_AVAILABLE',
    })
  })
})
