import {describe, expect, test} from 'vitest'
import {formatBaseline, parseBaseline, readBaseline} from '../../../src/lib/cli/baseline.ts'
import {toRequest} from '../../../src/lib/cli/select.ts'

const deps = {now: 1_764_507_200_000, timeZone: 'UTC', exists: (path: string) => path === 'here.ndjson'}

describe('sources and flags as a request', () => {
  test('topics go to a cluster, archives are opened', () => {
    expect(toRequest(['orders-dlq', '*-dlq'], {}, deps)).toMatchObject({
      archives: [],
      selection: {sources: [{kind: 'topic'}, {kind: 'pattern'}]},
    })
    expect(toRequest(['here.ndjson', 'example:x', '-'], {}, deps)).toMatchObject({
      archives: [{kind: 'archive'}, {kind: 'example'}, {kind: 'stdin'}],
      selection: {sources: [{kind: 'all'}]},
    })
    expect(() => toRequest(['orders-dlq', '-'], {}, deps)).toThrow('cannot be read together')
  })

  test('defaults: everything, committed only', () => {
    expect(toRequest(['t'], {}, deps).selection).toMatchObject({
      partitions: null,
      from: {kind: 'start'},
      to: {kind: 'end'},
      limit: null,
      tail: null,
      isolationLevel: 'read_committed',
      filters: {include: {}, exclude: {}},
      follow: false,
    })
  })

  test('flags become positions, partitions, limits and filters', () => {
    const flags = {
      partition: ['0,3-5'],
      since: '2h',
      to: 'end-10',
      limit: 7,
      stage: ['TASK_PUT'],
      'not-key': ['a', 'b'],
    }
    expect(toRequest(['t'], flags, deps).selection).toMatchObject({
      partitions: [
        [0, 0],
        [3, 5],
      ],
      from: {kind: 'time', ms: 1_764_500_000_000n},
      to: {kind: 'before-end', offsets: 10n},
      limit: 7,
      filters: {include: {stage: ['TASK_PUT']}, exclude: {key: ['a', 'b']}},
    })
  })

  test('limit 0 means all', () => {
    expect(toRequest(['t'], {limit: 0}, deps).selection.limit).toBeNull()
  })

  test('[BR-49] the zone of a time without one is told', () => {
    const zone = {...deps, timeZone: 'America/Sao_Paulo'}
    const request = toRequest(['t'], {from: '@2026-03-09T14:00'}, zone)
    expect(request.assumedZone).toBe('America/Sao_Paulo')
    expect(request.selection.from).toMatchObject({ms: BigInt(Date.UTC(2026, 2, 9, 17))})
    expect(toRequest(['t'], {from: '@2026-03-09T14:00Z'}, zone).assumedZone).toBeNull()
  })
})

describe('baseline', () => {
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

  test('keeps ends and groups', () => {
    const text = formatBaseline(scanned, new Map([['{"stage":"TASK_PUT"}', 3]]), 5)
    expect(parseBaseline(text, 'f')).toEqual({
      version: 1,
      savedAt: '5',
      ends: [{topic: 'orders-dlq', partition: 1, offset: '9007199254740993'}],
      groups: {'{"stage":"TASK_PUT"}': 3},
    })
    expect(readBaseline(text, 'f')).toEqual([{topic: 'orders-dlq', partition: 1, offset: 9_007_199_254_740_993n}])
  })

  test.each([
    '',
    '[]',
    '{"version":2}',
    '{"version":1,"savedAt":"1","groups":{},"ends":[{"topic":"t","partition":0,"offset":"-1"}]}',
    '{"version":1,"savedAt":"1","groups":{"a":"b"},"ends":[]}',
  ])('%s is no baseline', text => {
    expect(() => parseBaseline(text, 'f.json')).toThrow('f.json is no baseline')
  })
})
