import {describe, expect, test} from 'vitest'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import {payloadState, replayBlocks} from '../../../src/lib/dialects/restore.ts'
import {recordWith} from '../../support/records.ts'

type Headers = Parameters<typeof recordWith>[0]

describe('share groups', () => {
  const pointer: Headers = [
    ['__dlq.errors.topic', 'orders'],
    ['__dlq.errors.partition', '2'],
    ['__dlq.errors.offset', '41'],
    ['__dlq.errors.group', 'g'],
    ['__dlq.errors.delivery.count', '5'],
    ['__dlq.errors.message', 'Offset delivery count exceeded the threshold.'],
  ]

  test('a record without key and value is a pointer, and is never sent', () => {
    const record = recordWith(pointer, {key: null, value: null})
    const failure = decodeFailure(record)
    expect(failure).toMatchObject({origin: {topic: 'orders', partition: 2, offset: '41'}, group: 'g', attempts: 5})
    expect(payloadState(record, failure)).toBe('absent')
    expect(replayBlocks(failure)).toEqual(['payload_absent'])
  })

  test('a null value beside a key is a tombstone that was copied', () => {
    const record = recordWith(pointer, {value: null})
    expect(decodeFailure(record).payload).toBe('copied')
    expect(payloadState(record, decodeFailure(record))).toBe('whole')
  })

  test.each([
    ['q8sZ3m1xTtG0u4bV5cW6dg', ['maybe_topic_id']],
    ['q8sZ3m1xTtG0u4bV5cW6d', undefined],
    ['q8sZ3m1xTtG0u4bV5cW6.g', undefined],
  ])('the topic %s', (topic, warnings) => {
    expect(decodeFailure(recordWith(pointer.with(0, ['__dlq.errors.topic', topic]))).warnings).toEqual(warnings)
  })

  test('without message and count it is still told', () => {
    expect(decodeFailure(recordWith(pointer.slice(0, 4)))).toEqual({
      dialect: 'share-group',
      origin: {topic: 'orders', partition: 2, offset: '41'},
      group: 'g',
      payload: 'copied',
    })
  })
})

describe('Kafka Streams', () => {
  const set = (topic: string | null, partition: string, offset: string, exception = 'a.B'): Headers => [
    ['__streams.errors.exception', exception],
    ['__streams.errors.message', null],
    ['__streams.errors.stacktrace', 'a.B\nCaused by: c.D: e\n'],
    ['__streams.errors.topic', topic],
    ['__streams.errors.partition', partition],
    ['__streams.errors.offset', offset],
  ]

  test('a null message is normal, a null topic is not unless there was no source record', () => {
    expect(decodeFailure(recordWith(set('clicks', '1', '7'))).warnings).toBeUndefined()
    expect(decodeFailure(recordWith(set(null, '1', '7'))).warnings).toEqual(['null_header'])
    expect(decodeFailure(recordWith(set(null, '-1', '-1'))).warnings).toEqual(['no_source'])
  })

  test('a punctuator behind a dead letter topic: the origin is the first hop’s, the last has no source', () => {
    expect(decodeFailure(recordWith([...set('clicks', '1', '7'), ...set(null, '-1', '-1')]))).toMatchObject({
      hops: 2,
      origin: {topic: 'clicks', partition: 1, offset: '7'},
      last: {partition: -1, offset: '-1'},
      warnings: ['no_source'],
    })
  })

  test('only one of the coordinates at -1 is a corrupt record', () => {
    expect(decodeFailure(recordWith(set('clicks', '-1', '7'))).warnings).toEqual(['negative_partition'])
  })

  test('node and task of a filtering handler are told', () => {
    const record = recordWith([
      ...set('clicks', '1', '7'),
      ['__streams.errors.processor.node.id', 'KSTREAM-MAP-1'],
      ['__streams.errors.task.id', '0_1'],
    ])
    expect(decodeFailure(record)).toMatchObject({dialect: 'streams', component: 'KSTREAM-MAP-1', taskId: '0_1'})
  })

  test.each([
    ['a.B: no', 'a.B', ['exception_is_tostring']],
    ['a.B', 'a.B', undefined],
    ['not a class: no', 'not a class: no', undefined],
  ])('the exception %s', (text, className, warnings) => {
    const failure = decodeFailure(recordWith(set('clicks', '1', '7', text)))
    expect(failure.exception).toMatchObject({class: className, cause: 'c.D'})
    expect(failure.warnings).toEqual(warnings)
  })

  test('what only points at its source still does behind a Connect sink that copied it', () => {
    const record = recordWith([...set('clicks', '1', '7'), ['__connect.errors.topic', 'clicks-dlq']], {
      key: null,
      value: null,
    })
    const failure = decodeFailure(record)
    expect(failure.chain).toEqual(['connect', 'streams'])
    expect(payloadState(record, failure)).toBe('absent')
  })
})

describe('Spring Cloud Stream', () => {
  const embedded = (headers: Record<string, unknown>, payload = '{}'): Buffer =>
    Buffer.concat([
      Buffer.of(0xff, Object.keys(headers).length),
      ...Object.entries(headers).map(([name, value]) => {
        const json = typeof value === 'bigint' ? String(value) : JSON.stringify(value)
        const length = Buffer.alloc(4)
        length.writeUInt32BE(Buffer.byteLength(json))
        return Buffer.concat([Buffer.of(name.length), Buffer.from(name), length, Buffer.from(json)])
      }),
      Buffer.from(payload),
    ])
  const value = embedded({'x-original-topic': 'orders', 'x-original-offset': 9_007_199_254_740_993n, app: {a: 1}})

  test('embedded numbers beyond 2^53 are read whole', () => {
    expect(decodeFailure(recordWith([], {value}))).toEqual({
      dialect: 'scst-embedded',
      origin: {topic: 'orders', offset: '9007199254740993'},
      payload: 'embedded',
      rawValue: '7b7d',
    })
  })

  test('a value that is cut anywhere inside its headers is no such record', () => {
    for (let end = 0; end < value.length - 2; end++) {
      expect(decodeFailure(recordWith([], {value: value.subarray(0, end)})).dialect).toBe('none')
    }
  })

  test('embedded headers without the topic are an application’s', () => {
    expect(decodeFailure(recordWith([], {value: embedded({app: 'x'})})).dialect).toBe('none')
  })

  test('the second failure does not borrow the message of the first', () => {
    const hop = (topic: string, extra: Headers): Headers => [
      ['x-original-topic', topic],
      ['x-original-partition', Buffer.of(0, 0, 0, 1)],
      ['x-exception-fqcn', 'a.B'],
      ...extra,
    ]
    const headers = [...hop('orders', [['x-exception-message', 'first']]), ...hop('error.orders.g', [])]
    expect(decodeFailure(recordWith(headers, {topic: 'error.error.orders.g.h'}))).toMatchObject({
      exception: {class: 'a.B'},
      group: 'h',
      hops: 2,
    })
    expect(decodeFailure(recordWith(headers)).exception).toEqual({class: 'a.B'})
  })
})
