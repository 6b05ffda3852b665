import {expect, test} from 'vitest'
import type {Connector} from '../../../../src/lib/connect-rest/connectors.ts'
import {discoverTopics} from '../../../../src/lib/dead-letter/discover/discover.ts'
import type {DiscoverInput} from '../../../../src/lib/dead-letter/discover/discover.ts'
import {KafkaError} from '../../../../src/lib/errors.ts'
import type {ClusterAdmin, ConfigEntry} from '../../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../../src/lib/kafka/record.ts'
import {FakeClock} from '../../../support/fake-clock.ts'
import {recordWith} from '../../../support/records.ts'
import {ScanCluster} from '../scan-cluster.ts'
import type {Log, Logs} from '../scan-cluster.ts'

const NOW = 1_764_500_000_000
const HOUR = 3_600_000

type Header = readonly [name: string, value: string]

const connectSet = (origin: string, offset: number): readonly Header[] => [
  ['__connect.errors.topic', origin],
  ['__connect.errors.partition', '0'],
  ['__connect.errors.offset', `${offset}`],
  ['__connect.errors.connector.name', 'orders-sink'],
  ['__connect.errors.stage', 'TASK_PUT'],
]

const at = (offset: number, age: number, headers: readonly Header[] = []): KafkaRecord =>
  recordWith(headers, {offset: BigInt(offset), timestamp: BigInt(NOW - age)})

const log = (...records: readonly KafkaRecord[]): Log =>
  records.length === 0 ? {parts: [], end: 0n, start: 0n} : {parts: [{records}]}

interface World {
  readonly logs: Logs
  readonly configs?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Share groups and their dead letter topics; null = may not be listed. */
  readonly shares?: Readonly<Record<string, string>> | null
  readonly connectors?: readonly Connector[]
  readonly input?: Partial<DiscoverInput>
}

async function discover({logs, configs = {}, shares = {}, connectors = [], input = {}}: World) {
  const scan = new ScanCluster(logs)
  const toEntries = (own: Readonly<Record<string, string>>): Map<string, ConfigEntry> =>
    new Map(Object.entries(own).map(([key, value]) => [key, {value, isDefault: false}]))
  const admin: ClusterAdmin = {
    ...scan.cluster.admin,
    topicConfigs: topics =>
      Promise.resolve(topics.map(topic => ({topic, configs: toEntries(configs[topic] ?? {}), error: null}))),
    groups: () =>
      shares === null
        ? Promise.reject(new KafkaError('not now'))
        : Promise.resolve([
            {group: 'classic', type: 'classic'},
            ...Object.keys(shares).map(group => ({group, type: 'share'})),
          ]),
    groupConfigs: groups =>
      Promise.resolve(
        groups.map(group => ({
          group,
          configs: toEntries({'errors.deadletterqueue.topic.name': shares?.[group] ?? ''}),
          error: null,
        })),
      ),
  }
  const unknown: unknown[] = []
  const topics = await discoverTopics(
    {cluster: {...scan.cluster, admin}, clock: new FakeClock({now: NOW})},
    {matches: () => true, peek: true, connectors, onUnknownGroups: error => void unknown.push(error), ...input},
  )
  return {topics, unknown, scan}
}

const sink = (config: Readonly<Record<string, string>>, state = 'RUNNING'): Connector => ({
  name: 'orders-sink',
  type: 'sink',
  config,
  state: 'RUNNING',
  tasks: [{id: 0, state}],
})

test('by its records alone: owner, origin, dialect, times, growth; other topics are left out', async () => {
  const {topics} = await discover({
    logs: {
      parking: [log(at(0, 30 * HOUR, connectSet('orders', 3)), at(1, HOUR / 2, connectSet('orders', 7))), log()],
      orders: [log(at(0, HOUR), at(7, HOUR))],
      plain: [log(at(0, HOUR, [['trace', 'x']]))],
      __consumer_offsets: [log(at(0, HOUR, connectSet('orders', 1)))],
    },
  })
  expect(topics).toEqual([
    {
      topic: 'parking',
      kind: 'dead-letter',
      sources: ['headers'],
      owners: ['connector orders-sink'],
      origins: ['orders'],
      dialects: ['connect'],
      partitions: 2,
      depth: 2,
      oldest: `${NOW - 30 * HOUR}`,
      newest: `${NOW - HOUR / 2}`,
      growth: {lastHour: 1, lastDay: 1},
      expiry: {
        retentionMs: null,
        retentionBytes: null,
        headroomMs: null,
        origins: [{topic: 'orders', checked: expect.any(Number) as number, gone: 0, headroomMs: null}],
      },
      warnings: [],
    },
  ])
})

test('by its name alone, without reading a record', async () => {
  const {topics, scan} = await discover({
    logs: {'orders-dlq': [log(at(0, HOUR))], 'orders-retry-0': [log()], orders: [log()]},
    input: {peek: false},
  })
  expect(scan.reads).toEqual([])
  expect(topics).toMatchObject([
    {topic: 'orders-dlq', kind: 'dead-letter', sources: ['name'], origins: ['orders'], oldest: null, warnings: []},
    {topic: 'orders-retry-0', kind: 'retry', sources: ['name'], origins: ['orders'], depth: 0},
  ])
})

test('a topic that is named like one and holds something else says so', async () => {
  const {topics} = await discover({logs: {'login-errors': [log(at(0, HOUR))]}})
  expect(topics).toMatchObject([{topic: 'login-errors', dialects: [], warnings: ['no-error-headers']}])
})

test('a topic that only a connector names: found, and what is wrong with the connector', async () => {
  const config = {topics: 'orders, customers', 'errors.deadletterqueue.topic.name': ' dead '}
  const {topics} = await discover({logs: {orders: [log()]}, connectors: [sink(config, 'FAILED')]})
  expect(topics).toMatchObject([
    {
      topic: 'dead',
      sources: ['connect'],
      owners: ['connector orders-sink'],
      origins: ['customers', 'orders'],
      partitions: 0,
      warnings: ['missing', 'no-context-headers', 'owner-failed', 'tolerance-none'],
    },
  ])
  expect(topics[0]).not.toHaveProperty('expiry')
})

test('a source connector’s key names no dead letter topic', async () => {
  const config = {'errors.deadletterqueue.topic.name': 'dead'}
  const {topics} = await discover({logs: {}, connectors: [{...sink(config), type: 'source'}]})
  expect(topics).toEqual([])
})

test('of a share group: the switch of the topic decides whether anything arrives', async () => {
  const logs = {'dlq.on': [log()], 'dlq.off': [log()]}
  const configs = {'dlq.on': {'errors.deadletterqueue.group.enable': 'true'}}
  const {topics} = await discover({logs, configs, shares: {a: 'dlq.on', b: 'dlq.off', c: 'dlq.gone', d: ''}})
  expect(topics.map(({topic, owners, warnings}) => [topic, owners, warnings])).toEqual([
    ['dlq.gone', ['share group c'], ['missing']],
    ['dlq.off', ['share group b'], ['share-group-switch-off']],
    ['dlq.on', ['share group a'], []],
  ])
})

test('share groups that may not be listed are told, the rest is found', async () => {
  const {topics, unknown} = await discover({logs: {'orders-dlq': [log()]}, shares: null})
  expect(unknown).toHaveLength(1)
  expect(topics).toMatchObject([{topic: 'orders-dlq'}])
})

test('headroom: of the dead letters, of what they point to, and what is gone already', async () => {
  const {topics} = await discover({
    logs: {
      'orders-dlq': [log(at(0, 20 * HOUR, connectSet('orders', 3)), at(1, 2 * HOUR, connectSet('orders', 12)))],
      orders: [{...log(at(10, 3 * HOUR), at(12, 2 * HOUR)), start: 10n}],
    },
    configs: {
      'orders-dlq': {'retention.ms': `${12 * HOUR}`, 'cleanup.policy': 'compact,delete'},
      orders: {'retention.ms': `${24 * HOUR}`},
    },
  })
  expect(topics[0]?.expiry).toMatchObject({
    retentionMs: 12 * HOUR,
    headroomMs: -8 * HOUR,
    origins: [{topic: 'orders', headroomMs: 22 * HOUR}],
  })
  expect(topics[0]?.expiry?.origins[0]?.gone).toBeGreaterThan(0)
  expect(topics[0]?.warnings).toEqual(['compacted', 'expiring', 'origins-expiring'])
})

test('the time of a record whose first hop lost it is not known, though a later hop kept what it got', async () => {
  const smallrye: readonly Header[] = [
    ['dead-letter-reason', 'no'],
    ['dead-letter-topic', 'orders'],
    ['dead-letter-partition', '0'],
    ['dead-letter-offset', '3'],
  ]
  const {topics} = await discover({
    logs: {
      parked: [log(at(0, HOUR, [...smallrye, ...connectSet('orders-dlq', 0)]))],
      orders: [log(at(3, 2 * HOUR))],
    },
    configs: {orders: {'retention.ms': `${24 * HOUR}`}},
    input: {matches: topic => topic === 'parked'},
  })
  expect(topics[0]?.expiry?.origins).toMatchObject([{topic: 'orders', gone: 0, headroomMs: null}])
})

test('compacted topics have no limit by time', async () => {
  const configs = {'orders-dlq': {'retention.ms': '1', 'cleanup.policy': 'compact'}}
  const {topics} = await discover({logs: {'orders-dlq': [log(at(0, HOUR, connectSet('x', 1)))]}, configs})
  expect(topics[0]).toMatchObject({expiry: {retentionMs: null, headroomMs: null}, warnings: ['compacted']})
})

test('only topics that match are looked at', async () => {
  const logs = {'orders-dlq': [log(at(0, HOUR, connectSet('orders', 1)))], 'other-dlq': [log(at(0, HOUR))]}
  const {topics, scan} = await discover({logs, input: {matches: topic => topic.startsWith('orders')}})
  expect(topics.map(({topic}) => topic)).toEqual(['orders-dlq'])
  const read = new Set(scan.reads.flatMap(({ranges}) => ranges.map(({topic}) => topic)))
  expect([...read]).toEqual(['orders-dlq'])
})
