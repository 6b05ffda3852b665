import {describe, expect, test} from 'vitest'
import {decodeFailure} from '../../../../src/lib/dialects/decode.ts'
import {type HeaderMappings, withHeaderMappings} from '../../../../src/lib/dialects/families/custom.ts'
import {DIALECTS} from '../../../../src/lib/dialects/registry.ts'
import {headerStripper, originalTimestamp} from '../../../../src/lib/dialects/restore.ts'
import type {Failure} from '../../../../src/lib/dialects/model.ts'
import {fingerprint} from '../../../../src/lib/dead-letter/fingerprint.ts'
import type {KafkaRecord} from '../../../../src/lib/kafka/record.ts'
import {recordWith} from '../../../support/records.ts'

const mappings: HeaderMappings = {
  'origin.topic': ['beavers-dlq-origin-topic'],
  'origin.partition': ['beavers-dlq-origin-partition'],
  'origin.offset': ['beavers-dlq-origin-offset'],
  'origin.timestamp': ['beavers-time'],
  'exception.message': ['dlq-reason', 'dlq_reason', 'grund-ü'],
  attempts: ['tries'],
}
const dialects = withHeaderMappings(mappings, DIALECTS)
const decode = (record: KafkaRecord): Failure => decodeFailure(record, dialects)
const kept = (record: KafkaRecord): string[] => {
  const strips = headerStripper(record, decode(record), {dialects})
  return record.headers.filter(({name}, index) => !strips(name, index)).map(({name}) => name.toString())
}

describe('own header names', () => {
  test('[BR-37] a field may have several names; both spellings make one group', () => {
    const [dashes, underscores] = ['dlq-reason', 'dlq_reason'].map(name => recordWith([[name, 'no seat 17']]))
    if (dashes === undefined || underscores === undefined) throw new Error('two records')
    for (const record of [dashes, underscores]) {
      expect(decode(record)).toEqual({dialect: 'custom', exception: {message: 'no seat 17'}})
    }
    expect(fingerprint(decode(dashes), dashes)).toBe(fingerprint(decode(underscores), underscores))
    expect(fingerprint(decode(dashes), dashes)).not.toBeNull()
  })

  test('give origin, time and numbers, text or binary, and go at a replay', () => {
    const record = recordWith([
      ['app', '1'],
      ['beavers-dlq-origin-topic', 'orders'],
      ['beavers-dlq-origin-partition', Buffer.from('00000003', 'hex')],
      ['beavers-dlq-origin-offset', '9007199254740993'],
      ['beavers-time', '1700000000000'],
      ['tries', '4'],
      ['grund-ü', 'nein'],
    ])
    expect(decode(record)).toEqual({
      dialect: 'custom',
      origin: {topic: 'orders', partition: 3, offset: '9007199254740993', timestamp: '1700000000000'},
      exception: {message: 'nein'},
      attempts: 4,
    })
    expect(kept(record)).toEqual(['app'])
    expect(originalTimestamp(record, decode(record), dialects)).toBe(1_700_000_000_000n)
  })

  test('the latest header wins when a record has several names of one field', () => {
    const record = recordWith([
      ['dlq_reason', 'new'],
      ['dlq-reason', 'newest'],
    ])
    expect(decode(record).exception?.message).toBe('newest')
  })

  test('fields without a mapping are filled in from what looks like them, which is said', () => {
    const record = recordWith([
      ['reason', 'not this one'],
      ['dlq-reason', 'this one'],
      ['x-original-topic', 'orders'],
      ['beavers-time', '5'],
    ])
    expect(decode(record)).toEqual({
      dialect: 'custom',
      origin: {topic: 'orders', timestamp: '5'},
      exception: {message: 'this one'},
      warnings: ['weak_signature'],
    })
    expect(kept(record)).toEqual(['reason'])
    expect(originalTimestamp(record, decode(record), dialects)).toBe(5n)
  })

  test('do not disturb a known family unless they say where the record came from', () => {
    const connect = [['__connect.errors.topic', 'orders'] as const, ['__connect.errors.stage', 'TASK_PUT'] as const]
    const beside = recordWith([...connect, ['tries', '9']])
    expect(decode(beside)).toEqual({dialect: 'connect', origin: {topic: 'orders'}, stage: 'TASK_PUT'})
    expect(kept(beside)).toEqual(['tries'])
    const parkedAgain = recordWith([...connect, ['beavers-dlq-origin-topic', 'orders-dlq'], ['tries', '9']])
    expect(decode(parkedAgain)).toMatchObject({
      dialect: 'custom',
      chain: ['custom', 'connect'],
      hops: 2,
      origin: {topic: 'orders'},
      last: {topic: 'orders-dlq'},
      attempts: 9,
    })
    expect(kept(parkedAgain)).toEqual([])
  })

  test('broken values are warnings', () => {
    const record = recordWith([
      ['tries', 'often'],
      ['beavers-dlq-origin-topic', '../etc'],
      ['beavers-dlq-origin-offset', null],
    ])
    expect(decode(record)).toEqual({
      dialect: 'custom',
      origin: {topic: '../etc'},
      warnings: ['bad_number', 'illegal_topic', 'null_header'],
    })
  })

  test('one header may give two fields', () => {
    const both = withHeaderMappings({'exception.class': ['e'], 'exception.message': ['e']}, DIALECTS)
    expect(decodeFailure(recordWith([['e', 'X']]), both).exception).toEqual({class: 'X', message: 'X'})
  })

  test('none at all leaves the families as they are', () => {
    expect(withHeaderMappings({}, DIALECTS)).toBe(DIALECTS)
    expect(decode(recordWith([['a', '1']]))).toEqual({dialect: 'none'})
  })
})
