import {describe, expect, test} from 'vitest'
import {connect, connectHeaders} from '../../../src/lib/dialects/connect.ts'
import {decodeFailure, readHops} from '../../../src/lib/dialects/decode.ts'
import type {Dialect} from '../../../src/lib/dialects/dialect.ts'
import {originalTimestamp} from '../../../src/lib/dialects/restore.ts'
import {header, recordWith} from '../../support/records.ts'

/** A family of the tests: `NAME-topic`, and optionally `NAME-timestamp` and `NAME-group`. */
function family(name: string, traits: {prepends?: boolean; keepsTimestamp?: boolean} = {}): Dialect {
  const text = (value: Buffer | null | undefined): string | undefined => value?.toString()
  return {
    id: name,
    stages: [],
    keepsTimestamp: traits.keepsTimestamp ?? false,
    ...(traits.prepends === undefined ? {} : {prepends: traits.prepends}),
    strips: header => header.toString().startsWith(`${name}-`),
    read(_record, headers) {
      if (!headers.has(`${name}-topic`)) return null
      const topic = text(headers.first(`${name}-topic`)?.value)
      const timestamp = text(headers.first(`${name}-timestamp`)?.value)
      const group = text(headers.first(`${name}-group`)?.value)
      return {
        failure: {
          ...(topic === undefined
            ? {}
            : {origin: {topic, partition: 0, offset: '1', ...(timestamp === undefined ? {} : {timestamp})}}),
          ...(group === undefined ? {} : {group}),
        },
        lastHeaderIndex: headers.lastIndexOfPrefix(`${name}-`),
      }
    },
  }
}

const spring = family('spring')
const mirror = family('mirror', {prepends: true})
const parked = connectHeaders({
  topic: 'orders',
  partition: 3,
  offset: 42n,
  connector: 'c',
  task: 0,
  stage: 'TASK_PUT',
  component: 'x.Y',
})

describe('several families on one record', () => {
  test('takes the origin from the first failure and everything else from the last', () => {
    const record = {
      ...recordWith([]),
      headers: [...parked, header('spring-topic', 'connect-dlq'), header('spring-group', 'billing')],
    }
    expect(decodeFailure(record, [connect, spring])).toEqual({
      dialect: 'spring',
      chain: ['spring', 'connect'],
      hops: 2,
      origin: {topic: 'orders', partition: 3, offset: '42'},
      last: {topic: 'connect-dlq', partition: 0, offset: '1'},
      group: 'billing',
    })
  })

  test('a dead letter topic as source outranks the position of the headers', () => {
    const record = {...recordWith([]), headers: [header('mirror-topic', 'orders-dlq'), ...parked]}
    const failure = decodeFailure(record, [connect, mirror])
    expect(failure.chain).toEqual(['mirror', 'connect'])
    expect(failure.warnings).toBeUndefined()
  })

  test('says that the order is a guess when a family that prepends leaves only the positions', () => {
    const record = {...recordWith([]), headers: [header('mirror-topic', 'a'), ...parked]}
    const failure = decodeFailure(record, [connect, mirror])
    expect(failure.chain).toEqual(['connect', 'mirror'])
    expect(failure.warnings).toEqual(['ambiguous_hop_order'])
  })

  test('an envelope is outermost, and a tie goes by the order of the registry', () => {
    const envelope: Dialect = {
      ...spring,
      id: 'envelope',
      read: () => ({failure: {payload: 'envelope'}, lastHeaderIndex: Infinity}),
    }
    const ids = (dialects: Dialect[]): string[] =>
      readHops({...recordWith([]), headers: parked}, dialects).hops.map(({dialect}) => dialect.id)
    expect(ids([connect, envelope])).toEqual(['envelope', 'connect'])
    expect(ids([{...envelope, id: 'first'}, connect, {...envelope, id: 'second'}])).toEqual([
      'first',
      'second',
      'connect',
    ])
  })

  test('counts repeats inside a family as hops and takes the newest of them as last', () => {
    const again = connectHeaders({
      topic: 'orders-dlq',
      partition: 0,
      offset: 9n,
      connector: 'c',
      task: 0,
      stage: 'TASK_PUT',
      component: 'x.Y',
    })
    const record = {...recordWith([]), headers: [header('spring-topic', 'first'), ...parked, ...again]}
    expect(decodeFailure(record, [connect, spring])).toMatchObject({
      chain: ['connect', 'spring'],
      hops: 3,
      origin: {topic: 'first'},
      last: {topic: 'orders-dlq', partition: 0, offset: '9'},
    })
  })

  test('unites the warnings, sorted', () => {
    const bad = header('__connect.errors.partition', 'x')
    const record = {...recordWith([]), headers: [header('mirror-topic', 'orders-retry'), bad]}
    expect(decodeFailure(record, [connect, mirror]).warnings).toEqual(['bad_number', 'origin_is_dlq'])
  })
})

describe('the time of the first failure', () => {
  const at = (dialects: Dialect[], headers: ReturnType<typeof header>[], other = {}): bigint | null => {
    const record = {...recordWith([], other), headers}
    return originalTimestamp(record, decodeFailure(record, dialects), dialects)
  }
  const recorded = [header('spring-topic', 'connect-dlq'), header('spring-timestamp', '1700000000000')]

  test('is the record time when every family keeps it', () => {
    expect(at([connect], parked)).toBe(1_764_500_000_123n)
  })

  test('is lost when the broker overwrote it, when there is none, and when it is negative', () => {
    expect(at([connect], parked, {timestampType: 'LogAppendTime'})).toBeNull()
    expect(at([connect], parked, {timestamp: null})).toBeNull()
    expect(at([connect], parked, {timestamp: -2n})).toBeNull()
  })

  test('comes from the next family outwards when the inner one only keeps it', () => {
    expect(at([connect, spring], [...parked, ...recorded], {timestamp: 5n})).toBe(1_700_000_000_000n)
  })

  test('is lost with an inner family that neither records nor keeps it', () => {
    expect(at([connect, spring], [header('spring-topic', 'a'), ...parked])).toBeNull()
  })

  test('is unusable when the recorded one is negative', () => {
    expect(at([spring], [header('spring-topic', 'a'), header('spring-timestamp', '-1')])).toBeNull()
  })

  test('is the record time of a bare copy', () => {
    expect(at([connect], [])).toBe(1_764_500_000_123n)
  })
})
