import {describe, expect, test} from 'vitest'
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
