import {describe, expect, test} from 'vitest'
import {createDeadLetter, recordBytes} from '../../../src/lib/dead-letter/dead-letter.ts'
import {failureKind, kindId} from '../../../src/lib/dead-letter/fingerprint.ts'
import {createGrouper} from '../../../src/lib/dead-letter/group.ts'
import {GROUP_KEYS, isGroupKey} from '../../../src/lib/dead-letter/group-keys.ts'
import type {GroupKey} from '../../../src/lib/dead-letter/group-keys.ts'
import {createStatistics} from '../../../src/lib/dead-letter/statistics.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import {connectHeaders} from '../../../src/lib/dialects/connect.ts'
import type {ConnectContext} from '../../../src/lib/dialects/connect.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {recordWith} from '../../support/records.ts'

const context: ConnectContext = {
  topic: 'orders',
  partition: 3,
  offset: 42n,
  connector: 'orders-es',
  task: 1,
  stage: 'TASK_PUT',
  component: 'x.Y',
  error: {class: 'a.B', message: 'bad', stack: 'a.B: bad\nCaused by: c.D: worse'},
}

function letter(change: Partial<ConnectContext> = {}, record: Partial<KafkaRecord> = {}): DeadLetter {
  return createDeadLetter({...recordWith([]), headers: connectHeaders({...context, ...change}), ...record})
}

function report(by: readonly GroupKey[], letters: readonly DeadLetter[], maxGroups?: number) {
  const grouper = createGrouper(by, maxGroups === undefined ? {} : {maxGroups})
  for (const each of letters) grouper.add(each)
  return grouper.report()
}

test('takes every word from a dead letter', () => {
  const words = Object.keys(GROUP_KEYS).filter(isGroupKey)
  const deadLetter = letter()
  const [group] = report(words, [deadLetter]).groups
  expect(group?.by).toEqual({
    fingerprint: deadLetter.fingerprint,
    stage: 'TASK_PUT',
    kind: kindId(failureKind(deadLetter.failure, deadLetter.record)),
    verdict: null,
    exception: 'a.B',
    cause: 'c.D',
    class: 'a.B',
    wrapper: 'a.B',
    component: 'x.Y',
    connector: 'orders-es',
    task: 1,
    group: null,
    app: null,
    dialect: 'connect',
    origin: 'orders-3',
    'origin-topic': 'orders',
    last: 'orders-3',
    topic: 'orders-dlq',
    partition: 0,
    hour: '2025-11-30T10:00:00Z',
    day: '2025-11-30',
  })
  expect(group?.fingerprint).toBe(deadLetter.fingerprint)
})

test('gives null for every word that a bare record does not answer', () => {
  const words = Object.keys(GROUP_KEYS).filter(isGroupKey)
  const [group] = report(words, [createDeadLetter(recordWith([], {timestamp: null}))]).groups
  const known = Object.entries(group?.by ?? {}).filter(([, value]) => value !== null)
  expect(Object.fromEntries(known)).toEqual({dialect: 'none', topic: 'orders-dlq', partition: 0})
  expect(group).not.toHaveProperty('fingerprint')
  expect(group).toMatchObject({firstSeen: null, lastSeen: null})
})

test('tells null from the text null, and knows only its own words', () => {
  const letters = [letter({connector: 'null'}), createDeadLetter(recordWith([]))]
  expect(report(['connector'], letters).groups).toHaveLength(2)
  expect(isGroupKey('stage')).toBe(true)
  expect(isGroupKey('toString')).toBe(false)
  expect(isGroupKey('Stage')).toBe(false)
})

test('counts, shares, first and last time, first example and bytes, largest group first', () => {
  const letters = [
    letter({stage: 'VALUE_CONVERTER'}, {offset: 1n, timestamp: 50n}),
    letter({}, {offset: 2n, timestamp: 9007199254740993n}),
    letter({}, {offset: 3n, timestamp: 7n}),
    letter({}, {offset: 4n, timestamp: null, key: null, value: null}),
  ]
  const {groups, total, ungrouped} = report(['stage'], letters)
  expect({total, ungrouped}).toEqual({total: 4, ungrouped: 0})
  expect(groups).toMatchObject([
    {
      by: {stage: 'TASK_PUT'},
      count: 3,
      share: 0.75,
      firstSeen: '7',
      lastSeen: '9007199254740993',
      example: 'orders-dlq:0:2',
      bytes: {key: 8, value: 18},
      sample: {stage: 'TASK_PUT', exception: 'a.B', message: 'bad', cause: 'c.D', causeMessage: 'worse'},
    },
    {by: {stage: 'VALUE_CONVERTER'}, count: 1, share: 0.25, example: 'orders-dlq:0:1'},
  ])
})

test('groups by several words at once, and does not confuse their order', () => {
  const letters = [
    letter({connector: 'a', topic: 'b'}),
    letter({connector: 'b', topic: 'a'}),
    letter({connector: 'a', topic: 'b'}),
  ]
  expect(report(['connector', 'origin-topic'], letters).groups.map(({by, count}) => ({...by, count}))).toEqual([
    {connector: 'a', 'origin-topic': 'b', count: 2},
    {connector: 'b', 'origin-topic': 'a', count: 1},
  ])
})

test('equal counts come in the same order in every run', () => {
  const names = ['c', 'a', 'b']
  const order = (connectors: string[]): unknown =>
    report(
      ['connector'],
      connectors.map(connector => letter({connector})),
    ).groups.map(({by}) => by.connector)
  expect(order(names)).toEqual(['a', 'b', 'c'])
  expect(order(names.toReversed())).toEqual(['a', 'b', 'c'])
})

describe('bounds', () => {
  test('holds so many groups, counts the rest and says so', () => {
    const letters = ['a', 'b', 'c', 'a', 'c', 'd'].map(connector => letter({connector}))
    const {groups, total, ungrouped} = report(['connector'], letters, 2)
    expect(groups.map(({by, count}) => [by.connector, count])).toEqual([
      ['a', 2],
      ['b', 1],
    ])
    expect({total, ungrouped}).toEqual({total: 6, ungrouped: 3})
  })

  test('holds no more than the beginning of a huge value or message', () => {
    const huge = letter({
      connector: 'x'.repeat(100_000),
      error: {class: 'a.B', message: 'y'.repeat(100_000), stack: ''},
    })
    expect(JSON.stringify(report(['connector'], [huge])).length).toBeLessThan(3000)
  })

  test('refuses no word and a bound below 1', () => {
    expect(() => createGrouper([])).toThrow(RangeError)
    expect(() => createGrouper(['stage'], {maxGroups: 0})).toThrow(RangeError)
  })

  test('an empty stream has no groups and no division by zero', () => {
    expect(report(['stage'], [])).toEqual({groups: [], total: 0, ungrouped: 0})
  })
})

test.each([
  [-5n, null],
  [253_402_300_799_999n, '9999-12-31'],
  [253_402_300_800_000n, null],
  [0n, '1970-01-01'],
])('names the day of the timestamp %s where RFC 3339 can', (timestamp, day) => {
  expect(report(['day'], [letter({}, {timestamp})]).groups[0]?.by.day).toBe(day)
})

test('header bytes are those of names and values, nulls count nothing', () => {
  const record = recordWith(
    [
      ['ab', null],
      ['', 'xyz'],
      [Buffer.from([0xff]), ''],
    ],
    {key: null, value: Buffer.alloc(0)},
  )
  expect(recordBytes(record)).toEqual({key: 0, value: 0, headers: 6})
})

test('statistics count what has no time and what nobody described', () => {
  const statistics = createStatistics({by: ['stage'], maxBuckets: 4})
  statistics.add(letter({}, {timestamp: 1000n}))
  statistics.add(letter({}, {timestamp: null}))
  statistics.add(createDeadLetter(recordWith([], {timestamp: 2500n})))
  const {total, withoutTimestamp, undescribed, histogram, bytes} = statistics.report()
  expect({total, withoutTimestamp, undescribed}).toEqual({total: 3, withoutTimestamp: 1, undescribed: 1})
  expect(histogram.reduce((sum, {count}) => sum + count, 0)).toBe(2)
  expect(bytes).toMatchObject({key: 12, value: 27})
})

test('a dead letter decodes once, when first asked', () => {
  let reads = 0
  const deadLetter = createDeadLetter(recordWith([]), [
    {
      id: 'counting',
      stages: [],
      keepsTimestamp: false,
      strips: () => false,
      read() {
        reads++
        return {failure: {stage: 'x'}, lastHeaderIndex: 0}
      },
    },
  ])
  expect(deadLetter.address).toBe('orders-dlq:0:42')
  expect(reads).toBe(0)
  expect(deadLetter.failure).toBe(deadLetter.failure)
  expect(deadLetter.fingerprint).toBe(deadLetter.fingerprint)
  expect(reads).toBe(1)
})

describe('verdicts of groups', () => {
  const failing = (name: string): DeadLetter => letter({error: {class: name, message: null, stack: name}})

  test('a group has the verdict of its records and why, mixed when they differ, none when no rule fits', () => {
    const transient = failing('java.net.SocketTimeoutException')
    const broken = failing('java.lang.NullPointerException')
    expect(report(['stage'], [transient, transient]).groups[0]).toMatchObject({
      verdict: 'transient',
      verdictReason: 'another system did not answer, or not in time',
    })
    expect(report(['stage'], [transient, broken, transient]).groups[0]?.verdict).toBe('mixed')
    expect(report(['stage'], [transient, failing('a.B')]).groups[0]?.verdict).toBe('mixed')
    expect(report(['stage'], [failing('a.B')]).groups[0]).not.toHaveProperty('verdict')
    expect(report(['verdict'], [transient, broken, failing('a.B')]).groups.map(({by}) => by.verdict)).toEqual([
      null,
      'needs-fix',
      'transient',
    ])
  })
})

test('[BR-03] a listener’s wrapper is looked through: groups by what it wrapped, and shows the wrapper beside it', () => {
  const wrapped = (wrapper: string): DeadLetter =>
    letter({error: {class: wrapper, message: 'w', stack: `${wrapper}: w\nCaused by: m.M: m\nCaused by: c.D: worse`}})
  const listener = 'org.springframework.kafka.listener.ListenerExecutionFailedException'
  const future = 'java.util.concurrent.CompletionException'
  const {groups} = report(['exception'], [wrapped(listener), wrapped(future)])
  expect(groups).toMatchObject([{by: {exception: 'c.D'}, count: 2, sample: {exception: listener, cause: 'c.D'}}])
  expect(report(['wrapper'], [wrapped(listener), wrapped(future)]).groups).toHaveLength(2)
})

test('an exception of its own is its own group; its root cause is another word', () => {
  const caused = (name: string): DeadLetter =>
    letter({error: {class: name, message: 'w', stack: `${name}: w\nCaused by: c.D: worse`}})
  const letters = [caused('a.B'), caused('x.Y'), caused('org.apache.kafka.connect.errors.ConnectException')]
  expect(report(['exception'], letters).groups.map(({by}) => by.exception)).toEqual([
    'a.B',
    'org.apache.kafka.connect.errors.ConnectException',
    'x.Y',
  ])
  expect(report(['cause'], letters).groups).toMatchObject([{by: {cause: 'c.D'}, count: 3}])
})
