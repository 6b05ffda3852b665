import {describe, expect, test} from 'vitest'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import {headerStripper, originalPayload, payloadState} from '../../../src/lib/dialects/restore.ts'
import {javaException} from '../../support/java-exception.ts'
import {recordWith} from '../../support/records.ts'

const DESERIALIZATION = 'org.springframework.kafka.support.serializer.DeserializationException'
const LISTENER = 'org.springframework.kafka.listener.ListenerExecutionFailedException'
const hex = (text: string): Buffer => Buffer.from(text, 'hex')

describe('coordinates', () => {
  test('[BR-01] reads partition, offset and time that are binary', () => {
    const record = recordWith([
      ['kafka_dlt-original-partition', hex('00000003')],
      ['kafka_dlt-original-offset', hex('00000000000004d2')],
      ['kafka_dlt-original-timestamp', hex('0000018f3b2c1a00')],
      ['kafka_dlt-original-timestamp-type', 'CreateTime'],
    ])
    const {origin} = decodeFailure(record)
    expect(origin).toEqual({partition: 3, offset: '1234', timestamp: '1714684697088', timestampType: 'CreateTime'})
    expect(new Date(Number(origin?.timestamp)).toISOString()).toBe('2024-05-02T21:18:17.088Z')
    expect(record.headers[0]?.value).toEqual(hex('00000003'))
  })

  test('[CR-04] a binary partition is no text, and a null header value stops nothing', () => {
    const failure = decodeFailure(
      recordWith([
        ['x-original-topic', 'orders'],
        ['x-original-partition', hex('00000002')],
        ['x-exception-message', 'boom'],
        ['x', null],
      ]),
    )
    expect(failure).toMatchObject({dialect: 'scst', origin: {topic: 'orders', partition: 2}})
    expect(failure.warnings).toBeUndefined()
  })

  test('an unknown timestamp type is left out', () => {
    const record = recordWith([
      ['kafka_dlt-original-topic', 'orders'],
      ['kafka_dlt-original-timestamp-type', 'Sometime'],
    ])
    expect(decodeFailure(record).origin).toEqual({topic: 'orders'})
  })

  test('a null topic is noticed, not a topic', () => {
    expect(decodeFailure(recordWith([['kafka_dlt-original-topic', null]]))).toEqual({
      dialect: 'spring-dlt',
      warnings: ['null_header'],
    })
  })
})

describe('exceptions', () => {
  test('[BR-03] the cause speaks, by its header or by the last line that names one', () => {
    const stack = `${LISTENER}: no\nCaused by: java.lang.IllegalStateException: a\nCaused by: java.net.SocketTimeoutException: b\n`
    const wrapped = (cause: string | null): ReturnType<typeof decodeFailure> =>
      decodeFailure(
        recordWith([
          ['kafka_dlt-exception-fqcn', LISTENER],
          ...(cause === null ? [] : [['kafka_dlt-exception-cause-fqcn', cause] as const]),
          ['kafka_dlt-exception-stacktrace', stack],
        ]),
      )
    expect(wrapped('java.net.SocketTimeoutException').exception).toMatchObject({
      class: LISTENER,
      cause: 'java.net.SocketTimeoutException',
    })
    expect(wrapped(null).exception?.cause).toBe('java.net.SocketTimeoutException')
  })

  test('before 2.8 a second failure without a message does not borrow the first one’s', () => {
    const failure = decodeFailure(
      recordWith([
        ['kafka_dlt-exception-fqcn', 'a.First'],
        ['kafka_dlt-exception-message', 'first'],
        ['kafka_dlt-exception-stacktrace', 'a'],
        ['kafka_dlt-exception-fqcn', 'b.Second'],
        ['kafka_dlt-exception-stacktrace', 'b'],
      ]),
    )
    expect(failure.exception).toEqual({class: 'b.Second', stack: 'b'})
  })
})

describe('retry topics', () => {
  test('[BR-06] the last count and the first time of repeated headers count', () => {
    const hop = (attempts: number, time: string): [string, Buffer][] => [
      ['retry_topic-attempts', hex(`0000000${attempts}`)],
      ['retry_topic-original-timestamp', hex(time)],
    ]
    const failure = decodeFailure(
      recordWith([...hop(1, '018bcfe56800'), ...hop(2, '018bcfe57000'), ...hop(3, '018bcfe57800')]),
    )
    // The header holds the number of the next attempt.
    expect(failure).toEqual({dialect: 'spring-retry', attempts: 2, origin: {timestamp: '1700000000000'}})
  })

  test.each([
    ['null', null, undefined, ['null_header']],
    ['too large', hex('00008000'), undefined, ['bad_number']],
    ['three bytes', hex('000001'), undefined, ['bad_number']],
    ['one byte zero', hex('00'), undefined, ['bad_number']],
    ['one byte 0x35', hex('35'), 52, undefined],
    ['text', Buffer.from('0005'), 4, ['number_is_text']],
  ])('reads attempts: %s', (_what, value, attempts, warnings) => {
    const failure = decodeFailure(recordWith([['retry_topic-attempts', value]]))
    expect(failure.attempts).toBe(attempts)
    expect(failure.warnings).toEqual(warnings)
  })
})

describe('payload', () => {
  const failed = [
    ['kafka_dlt-exception-fqcn', DESERIALIZATION],
    ['kafka_dlt-original-topic', 'orders'],
  ] as const
  const serialised = ['springDeserializerExceptionValue', javaException(Buffer.from('{bad'))] as const

  test('[BR-11] a value that is only in the exception header is recovered, not taken for a tombstone', () => {
    const record = recordWith([serialised, ...failed], {value: null})
    const failure = decodeFailure(record)
    expect(failure).toMatchObject({stage: 'deserialize-value', rawValue: Buffer.from('{bad').toString('hex')})
    expect(originalPayload(record, failure).value).toEqual(Buffer.from('{bad'))
    expect(payloadState(record, failure)).toBe('whole')
  })

  test.each([
    ['an exception header that is not the known one', [['springDeserializerExceptionValue', 'rO0ABQ'] as const]],
    ['no exception header at all', []],
  ])('[BR-11] a null value that failed to deserialize is lost: %s', (_what, extra) => {
    const record = recordWith([...extra, ...failed], {value: null})
    expect(payloadState(record, decodeFailure(record))).toBe('lost')
  })

  test('a value that is there already needs no other bytes', () => {
    const record = recordWith([serialised, ...failed], {value: Buffer.from('{bad')})
    expect(decodeFailure(record).rawValue).toBeUndefined()
    expect(decodeFailure(record).stage).toBe('deserialize-value')
  })

  test('a tombstone that the listener refused is a tombstone, whatever an earlier life left on it', () => {
    const record = recordWith(
      [serialised, ['kafka_dlt-exception-fqcn', LISTENER], ['kafka_dlt-original-topic', 'orders']],
      {value: null},
    )
    const failure = decodeFailure(record)
    expect(failure.rawValue).toBeUndefined()
    expect(payloadState(record, failure)).toBe('whole')
  })

  test('a repaired value is not undone by what an earlier life left on it', () => {
    const record = recordWith([serialised, ['kafka_dlt-exception-fqcn', LISTENER]], {value: Buffer.from('{}')})
    expect(originalPayload(record, decodeFailure(record)).value).toEqual(Buffer.from('{}'))
  })

  test('a Connect sink behind it copies the hole; the value is still recovered', () => {
    const record = recordWith([serialised, ...failed, ['__connect.errors.topic', 'orders-dlt']], {value: null})
    const failure = decodeFailure(record)
    expect(failure.chain).toEqual(['connect', 'spring-dlt'])
    expect(originalPayload(record, failure).value).toEqual(Buffer.from('{bad'))
  })

  test.each([
    ['with the type header', [['__TypeId__', '[B'] as const], 'e2JhZA==', '7b626164'],
    ['without it the text is the payload', [], 'e2JhZA==', undefined],
    ['that is not base64', [['__TypeId__', '[B'] as const], 'e2JhZA=', undefined],
    ['with stray bits', [['__TypeId__', '[B'] as const], 'e2JhZB==', undefined],
  ])('base64 in quotes %s', (_what, type, text, raw) => {
    const failure = decodeFailure(recordWith([...failed, ...type], {value: Buffer.from(`"${text}"`)}))
    expect(failure.rawValue).toBe(raw)
    expect(failure.payload).toBe(raw === undefined ? undefined : 'base64-json')
  })

  test('a key that a JSON serializer wrote as base64 is decoded too', () => {
    const record = recordWith(
      [
        ['kafka_dlt-key-exception-fqcn', DESERIALIZATION],
        ['kafka_dlt-original-topic', 'orders'],
        ['__Key_TypeId__', '[B'],
      ],
      {key: Buffer.from('"e2JhZA=="')},
    )
    expect(originalPayload(record, decodeFailure(record)).key).toEqual(Buffer.from('{bad'))
  })
})

describe('headers at a replay', () => {
  const kept = (headers: Parameters<typeof recordWith>[0]): string[] => {
    const record = recordWith(headers)
    const strips = headerStripper(record, decodeFailure(record))
    return record.headers.filter(({name}, index) => !strips(name, index)).map(({name}) => name.toString())
  }

  test('[BR-28] every value of a repeated header stays, the type mapping of JSON too', () => {
    const record = recordWith([
      ['spring_json_header_types', '{"t":"java.lang.String"}'],
      ['t', 'one'],
      ['t', 'two'],
      ['kafka_dlt-original-topic', 'orders'],
    ])
    expect(record.headers.filter(({name}) => name.toString() === 't').map(({value}) => value?.toString())).toEqual([
      'one',
      'two',
    ])
    expect(
      kept([
        ['spring_json_header_types', '{}'],
        ['t', '1'],
        ['t', '2'],
        ['kafka_dlt-original-topic', 'o'],
      ]),
    ).toEqual(['spring_json_header_types', 't', 't'])
  })

  test('type headers in front of the set are the original’s, those behind it the serializer’s', () => {
    const names = ['__TypeId__', '__ContentTypeId__', '__KeyTypeId__', '__Key_TypeId__']
    const types = names.map(name => [name, 'com.acme.Order'] as const)
    expect(kept([...types, ['kafka_dlt-original-topic', 'orders'], ...types, ['b3', '1']])).toEqual([...names, 'b3'])
    expect(kept([...types, ['kafka_original-topic', 'orders'], ...types])).toEqual(names)
  })

  test('a type header that says byte array never came from an application', () => {
    expect(
      kept([
        ['__TypeId__', '[B'],
        ['kafka_dlt-original-topic', 'orders'],
      ]),
    ).toEqual([])
  })

  test('[BR-04] six copies of a large stack trace all go', () => {
    const trace = 'x'.repeat(180_000)
    const copies = Array.from({length: 6}, () => ['kafka_exception-stacktrace', trace] as const)
    const attempts = [['retry_topic-attempts', hex('00000007')] as const]
    const headers = [['app', '1'] as const, ...copies, ['kafka_original-topic', 'orders'] as const, ...attempts]
    expect(kept(headers)).toEqual(['app'])
    expect(decodeFailure(recordWith(headers))).toMatchObject({attempts: 6, warnings: ['large_header']})
  })
})
