import {describe, expect, test} from 'vitest'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import {isHarmfulHeader, originalPayload, payloadState} from '../../../src/lib/dialects/restore.ts'
import {recordWith} from '../../support/records.ts'

type Headers = Parameters<typeof recordWith>[0]

const set = (topic: string, offset: string, cause?: string): Headers => [
  ['dead-letter-exception-class-name', 'a.B'],
  ['dead-letter-reason', `failed in ${topic}`],
  ...(cause === undefined
    ? []
    : [['dead-letter-cause-class-name', cause] as const, ['dead-letter-cause', 'why'] as const]),
  ['dead-letter-topic', topic],
  ['dead-letter-partition', '0'],
  ['dead-letter-offset', offset],
]

describe('sets in front of each other', () => {
  test('the newest failure does not borrow the cause of an older one', () => {
    const failure = decodeFailure(recordWith([...set('orders-retry', '2'), ...set('orders', '9', 'c.Old')]))
    expect(failure.exception).toEqual({class: 'a.B', message: 'failed in orders-retry'})
    expect(failure).toMatchObject({hops: 2, origin: {topic: 'orders'}, last: {topic: 'orders-retry'}})
  })

  test('the cause of the newest failure is told, whatever the older one had', () => {
    const failure = decodeFailure(recordWith([...set('orders-retry', '2', 'c.New'), ...set('orders', '9')]))
    expect(failure.exception).toMatchObject({cause: 'c.New', causeMessage: 'why'})
  })
})

describe('failed deserialization', () => {
  test('[BR-36] its own headers tell the stage, with those of the dead letter and without', () => {
    const bare: Headers = [
      ['deserialization-failure-reason', 'Size is not 4'],
      ['deserialization-failure-topic', 'orders'],
      ['deserialization-failure-key-data', 'five5'],
    ]
    expect(decodeFailure(recordWith(bare))).toMatchObject({
      dialect: 'smallrye',
      stage: 'deserialize-key',
      origin: {topic: 'orders'},
      exception: {message: 'Size is not 4'},
    })
    expect(decodeFailure(recordWith([...set('orders', '9'), ...bare])).stage).toBe('deserialize-key')
    const ofValue = bare.with(2, ['deserialization-failure-value-data', '{b'])
    expect(decodeFailure(recordWith(ofValue)).stage).toBe('deserialize-value')
  })

  test('its headers beside a delayed retry are no second family', () => {
    const failure = decodeFailure(
      recordWith([
        ['delayed-retry-topic', 'orders'],
        ['delayed-retry-count', '0'],
        ['deserialization-failure-topic', 'orders'],
        ['deserialization-failure-reason', 'no'],
        ['deserialization-failure-value-data', '{b'],
      ]),
    )
    expect(failure).toMatchObject({dialect: 'smallrye-retry', stage: 'deserialize-value', attempts: 1})
    expect(failure.chain).toBeUndefined()
  })

  test('old releases have the bytes under one name only', () => {
    const failed = (...extra: Headers): ReturnType<typeof decodeFailure> =>
      decodeFailure(
        recordWith([...set('orders', '9'), ['deserialization-failure-data', 'raw'], ...extra], {
          value: Buffer.from('x'),
        }),
      )
    expect(failed()).toMatchObject({stage: 'deserialize-value', rawValue: '726177'})
    expect(failed(['deserialization-failure-key', 'true'])).toMatchObject({stage: 'deserialize-key', rawKey: '726177'})
  })

  test('the value is lost where it is a copy of the key, and only there', () => {
    const failed = (value: string): ReturnType<typeof recordWith> =>
      recordWith([...set('orders', '9'), ['deserialization-failure-key-data', 'five5']], {value: Buffer.from(value)})
    const lost = failed('five5')
    expect(payloadState(lost, decodeFailure(lost))).toBe('lost')
    const whole = failed('{}')
    const failure = decodeFailure(whole)
    expect(payloadState(whole, failure)).toBe('whole')
    expect(originalPayload(whole, failure)).toEqual({key: Buffer.from('five5'), value: Buffer.from('{}')})
  })

  test('says that the next consumer would park the record unread', () => {
    const record = recordWith([...set('orders', '9'), ['deserialization-failure-dlq', 'true']])
    const failure = decodeFailure(record)
    expect(failure.warnings).toEqual(['auto_dlq_header'])
    expect(isHarmfulHeader(Buffer.from('deserialization-failure-dlq'), failure)).toBe(true)
    expect(isHarmfulHeader(Buffer.from('dead-letter-topic'), failure)).toBe(false)
  })

  test('null bytes are noticed and restore nothing', () => {
    const record = recordWith([...set('orders', '9'), ['deserialization-failure-value-data', null]])
    expect(decodeFailure(record)).toMatchObject({warnings: ['null_header']})
    expect(originalPayload(record, decodeFailure(record)).value).toEqual(record.value)
  })
})

test('Quarkiverse: a second failure without a reason does not borrow the first one’s', () => {
  const failure = decodeFailure(
    recordWith([
      ['dead-letter-reason', 'first'],
      ['dead-letter-topic', 'pings'],
      ['dead-letter-partition', '0'],
      ['dead-letter-cause', 'c.Second'],
      ['dead-letter-topic', 'pings-dlq'],
      ['dead-letter-partition', '1'],
    ]),
  )
  expect(failure).toEqual({
    dialect: 'quarkiverse-streams',
    origin: {topic: 'pings', partition: 0},
    hops: 2,
    last: {topic: 'pings-dlq', partition: 1},
    exception: {cause: 'c.Second'},
  })
})
