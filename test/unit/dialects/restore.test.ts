import {describe, expect, test} from 'vitest'
import {connectHeaders} from '../../../src/lib/dialects/connect.ts'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import {hasConsistentOrigin, headerStripper, originalPayload, replayBlocks} from '../../../src/lib/dialects/restore.ts'
import {isDlqName} from '../../../src/lib/dialects/topic-name.ts'
import type {RecordHeader} from '../../../src/lib/kafka/record.ts'
import {header, recordWith} from '../../support/records.ts'

const parked = connectHeaders({
  topic: 'orders',
  partition: 3,
  offset: 42n,
  connector: 'c',
  task: 0,
  stage: 'TASK_PUT',
  component: 'x.Y',
})

function kept(headers: readonly RecordHeader[], extra?: (name: Buffer) => boolean): RecordHeader[] {
  const record = {...recordWith([]), headers}
  const strips = headerStripper(record, decodeFailure(record), extra === undefined ? {} : {extra})
  return headers.filter(({name}, index) => !strips(name, index))
}

describe('headers', () => {
  test('[BR-21] keeps repeated headers in order', () => {
    const own = [header('a', '1'), header('b', '2'), header('a', '3')]
    expect(kept([...own, ...parked])).toEqual(own)
  })

  test('keeps null, empty and binary values and near-miss names', () => {
    const own = [
      header('n', null),
      header('e', ''),
      header('', 'empty name'),
      header(Buffer.from([0xff]), Buffer.from([0, 0xff])),
      header('__connect.error', 'mine'),
      header('__Connect.errors.topic', 'mine'),
    ]
    expect(kept([...own, ...parked])).toEqual(own)
  })

  test('[BR-30] keeps an empty header value empty, and decodes the failure beside it', () => {
    const headers = [header('traceId', ''), ...parked]
    expect(decodeFailure({...recordWith([]), headers}).stage).toBe('TASK_PUT')
    expect(kept(headers)).toEqual([header('traceId', '')])
  })

  test('[BR-32] keeps a header that looks like base64 as the text it is', () => {
    expect(kept([header('testHeader', 'SGVhZGVyVmFsdWU='), ...parked])).toEqual([
      header('testHeader', 'SGVhZGVyVmFsdWU='),
    ])
  })

  test('[BR-33] keeps every header that no failure added, wherever it stands', () => {
    const own = [header('type', 'order.v2'), header('traceparent', '00-1'), header('__TypeId__', 'com.acme.Order')]
    expect(kept([...own.slice(0, 1), ...parked.slice(0, 4), ...own.slice(1), ...parked.slice(4)])).toEqual(own)
  })

  test('[BR-64] removes every header of the failure, unknown suffixes of the reserved prefix too', () => {
    expect(kept([...parked, header('__connect.errors.future', '1'), ...parked])).toEqual([])
  })

  test('removes our provenance header, from a bare copy too', () => {
    expect(kept([header('kdlq.replay', '{}'), header('kdlq.replays', 'mine'), header('kdlq.replay', null)])).toEqual([
      header('kdlq.replays', 'mine'),
    ])
  })

  test('[BR-34] removes what the caller lists besides, and nothing else', () => {
    const own = [header('origin-cluster', 'a'), header('traceparent', '00-1')]
    expect(kept([...own, ...parked], name => name.equals(Buffer.from('origin-cluster')))).toEqual([own[1]])
  })
})

describe('payload', () => {
  test('is the record itself, nulls included', () => {
    const record = recordWith([], {key: null, value: Buffer.alloc(0)})
    expect(originalPayload(record, {dialect: 'none'})).toEqual({key: null, value: Buffer.alloc(0)})
  })

  test('is what a family unwrapped; in an envelope an absent part is null', () => {
    const record = recordWith([])
    expect(originalPayload(record, {dialect: 'x', rawValue: '00ff'})).toEqual({
      key: record.key,
      value: Buffer.from([0, 0xff]),
    })
    expect(originalPayload(record, {dialect: 'x', payload: 'envelope', rawValue: ''})).toEqual({
      key: null,
      value: Buffer.alloc(0),
    })
  })
})

test('names every reason why a record cannot go back as it is', () => {
  expect(replayBlocks({dialect: 'connect', origin: {topic: 'orders'}})).toEqual([])
  expect(replayBlocks({dialect: 'none'})).toEqual(['no_topic'])
  expect(replayBlocks({dialect: 'connect', origin: {topic: ''}})).toEqual(['no_topic'])
  expect(
    replayBlocks({
      dialect: 'x',
      origin: {topic: '../x'},
      payload: 'absent',
      warnings: ['multi_record_envelope', 'value_lost'],
    }),
  ).toEqual(['illegal_topic', 'payload_absent', 'value_lost', 'multi_record'])
})

test('an origin put together from different failures is not consistent', () => {
  const stale = header('__connect.errors.topic', 'hands-off')
  expect(hasConsistentOrigin(decodeFailure({...recordWith([]), headers: parked}))).toBe(true)
  expect(hasConsistentOrigin(decodeFailure({...recordWith([]), headers: [...parked, ...parked]}))).toBe(true)
  expect(hasConsistentOrigin(decodeFailure({...recordWith([]), headers: [stale, ...parked]}))).toBe(false)
  expect(hasConsistentOrigin({dialect: 'none'})).toBe(false)
})

test('tells names of dead letter and retry topics from others', () => {
  const named = [
    'orders-dlq',
    'dlq.orders',
    'orders.DLT',
    'a_retry_5000',
    'error.orders.g',
    'dead-letter-topic-x',
    'x-parking-lot',
  ]
  const others = ['orders', 'errorsome', 'terrors', 'adlq', 'retryable', '', 'orders-replay', `${'a'.repeat(300)}-dlq`]
  expect(named.filter(name => !isDlqName(name))).toEqual([])
  expect(others.filter(isDlqName)).toEqual([])
})
