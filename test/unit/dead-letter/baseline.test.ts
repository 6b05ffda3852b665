import {describe, expect, test} from 'vitest'
import {
  baselineEnds,
  compareWithBaseline,
  formatBaseline,
  otherFilters,
  parseBaseline,
  strangeness,
} from '../../../src/lib/dead-letter/baseline.ts'
import type {FailureGroup} from '../../../src/lib/dead-letter/group.ts'

const scanned = [
  {
    topic: 'orders-dlq',
    partition: 1,
    from: '0',
    to: '9007199254740993',
    records: 3,
    bytes: 1,
    control: 0,
    aborted: 0,
    undecodable: 0,
    complete: true,
  },
]
const place = {clusterId: 'c-1', topics: [{topic: 'orders-dlq', topicId: 't-1'}]}

function group(stage: string, count: number): FailureGroup {
  return {
    by: {stage},
    count,
    share: 1,
    firstSeen: '1',
    lastSeen: '9',
    example: 'orders-dlq:1:0',
    bytes: {key: 0, value: 0, headers: 0},
    sample: {stage, exception: null, message: null, cause: null, causeMessage: null},
  }
}

const saved = (groups: readonly FailureGroup[]) =>
  parseBaseline(formatBaseline({scanned, groups, by: ['stage']}, place, 5), 'f')

test('keeps where partitions end, which topics they were, and the groups', () => {
  const baseline = saved([group('TASK_PUT', 3)])
  expect(baseline).toEqual({
    format: 'kdlq-baseline',
    version: 2,
    rules: 'kdlq-2',
    savedAt: '5',
    clusterId: 'c-1',
    by: ['stage'],
    ends: [{topic: 'orders-dlq', topicId: 't-1', partition: 1, offset: '9007199254740993'}],
    groups: [
      {
        by: {stage: 'TASK_PUT'},
        count: 3,
        lastSeen: '9',
        sample: {stage: 'TASK_PUT', exception: null, message: null, cause: null, causeMessage: null},
      },
    ],
  })
  expect(baselineEnds(baseline)).toEqual([{topic: 'orders-dlq', partition: 1, offset: 9_007_199_254_740_993n}])
})

describe('what is no baseline is told, with the reason', () => {
  const good = JSON.parse(formatBaseline({scanned, groups: [group('A', 1)], by: ['stage']}, place, 5)) as object
  test.each([
    ['', 'not JSON'],
    ['{"format":"kdlq-ba', 'broken JSON'],
    ['[]', 'a JSON object is expected'],
    ['{"name":"x","version":3}', 'not written by stats --save-baseline'],
    ['{"version":1,"savedAt":"1","groups":{},"ends":[]}', 'an older kdlq (version 1)'],
    [JSON.stringify({...good, version: 3}), 'a newer kdlq (version 3)'],
    [JSON.stringify({...good, ends: [{topic: 't', topicId: null, partition: 0, offset: '-1'}]}), 'ends is not'],
    [JSON.stringify({...good, ends: [{topic: 't', topicId: null, partition: 0.5, offset: '1'}]}), 'ends is not'],
    [JSON.stringify({...good, groups: [{by: {stage: 'A'}, count: '1'}]}), 'groups is not'],
    [JSON.stringify({...good, groups: {a: 1}}), 'groups is not'],
    [JSON.stringify({...good, by: ['stag']}), 'by is not'],
    [JSON.stringify({...good, savedAt: 5}), 'savedAt'],
  ])('%s', (text, reason) => {
    expect(() => parseBaseline(text, 'f.json')).toThrow(/^f\.json is no baseline: /)
    expect(() => parseBaseline(text, 'f.json')).toThrow(reason)
  })
})

test('tells new, grown, same and gone, with what there was before', () => {
  const before = saved([group('GROWN', 3), group('SAME', 3), group('FEWER', 3), group('GONE', 2)])
  const now = [group('GROWN', 4), group('SAME', 3), group('FEWER', 1), group('NEW', 1)]
  const compared = compareWithBaseline(now, before, {by: ['stage'], file: 'f', onlyLater: false})
  expect(compared.map(({by, change, before: count}) => [by.stage, change, count])).toEqual([
    ['GROWN', 'grown', 3],
    ['SAME', 'same', 3],
    ['FEWER', 'same', 3],
    ['NEW', 'new', undefined],
    ['GONE', 'gone', 2],
  ])
  expect(compared.at(-1)).toMatchObject({count: 0, lastSeen: '9', example: '', sample: {stage: 'GONE'}})
})

test('records behind the ends of the baseline are growth, and nothing is gone', () => {
  const before = saved([group('A', 30), group('B', 2)])
  const compared = compareWithBaseline([group('A', 1), group('C', 1)], before, {
    by: ['stage'],
    file: 'f',
    onlyLater: true,
  })
  expect(compared.map(({by, change}) => [by.stage, change])).toEqual([
    ['A', 'grown'],
    ['C', 'new'],
  ])
})

test('refuses to compare groups by other words, and fingerprints by other rules', () => {
  const byStage = saved([])
  expect(() => compareWithBaseline([], byStage, {by: ['fingerprint'], file: 'f', onlyLater: false})).toThrow(
    'f has groups by stage, not by fingerprint',
  )
  const old = {...byStage, rules: 'kdlq-1'}
  expect(compareWithBaseline([], old, {by: ['stage'], file: 'f', onlyLater: false})).toEqual([])
  expect(() =>
    compareWithBaseline([], {...old, by: ['fingerprint']}, {by: ['fingerprint'], file: 'f', onlyLater: false}),
  ).toThrow('fingerprints by other rules')
})

test('the order of the words does not matter', () => {
  const both = parseBaseline(
    formatBaseline(
      {scanned, groups: [{...group('A', 1), by: {stage: 'A', connector: 'x'}}], by: ['stage', 'connector']},
      place,
      5,
    ),
    'f',
  )
  const now = {...group('A', 1), by: {connector: 'x', stage: 'A'}}
  expect(compareWithBaseline([now], both, {by: ['connector', 'stage'], file: 'f', onlyLater: false})).toMatchObject([
    {change: 'same'},
  ])
})

test('another cluster and a topic that was created again are told; archives have neither', () => {
  const baseline = saved([])
  expect(strangeness(baseline, place)).toBeNull()
  expect(strangeness(baseline, {...place, clusterId: 'c-2'})).toContain('another cluster (c-1, here c-2)')
  expect(strangeness(baseline, {...place, topics: [{topic: 'orders-dlq', topicId: 't-2'}]})).toContain('created again')
  expect(strangeness(baseline, {clusterId: null, topics: [{topic: 'orders-dlq', topicId: null}]})).toBeNull()
  expect(strangeness(baseline, {...place, topics: [{topic: 'other', topicId: 't-9'}]})).toBeNull()
})

test('keeps the filters that it was saved with, and tells others apart', () => {
  const filters = ['--stage=TASK_PUT', '--limit=5']
  const filtered = parseBaseline(formatBaseline({scanned, groups: [], by: ['stage'], filters}, place, 5), 'f')
  expect(filtered.filters).toEqual(filters)
  expect(otherFilters(filtered, filters.toReversed())).toBeNull()
  expect(otherFilters(saved([]), [])).toBeNull()
  expect(otherFilters(saved([]), ['--stage=TASK_PUT'])).toBe(
    'it was saved with other filters (none; here --stage=TASK_PUT)',
  )
  const broken = formatBaseline({scanned, groups: [], by: ['stage'], filters}, place, 5).replace('"--limit=5"', '5')
  expect(() => parseBaseline(broken, 'f')).toThrow('filters is not a list of flags')
})
