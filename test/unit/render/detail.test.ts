import {describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import {connectHeaders} from '../../../src/lib/dialects/connect.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {deadLetterToJson} from '../../../src/lib/render/dead-letter-json.ts'
import {createPaint} from '../../../src/lib/render/paint.ts'
import {type DetailOptions, renderDetail} from '../../../src/lib/render/record-detail.ts'
import {renderFoldedStack} from '../../../src/lib/render/stack.ts'
import {plainDecoder} from '../../support/decoded.ts'

const context = {width: null, unicode: true, paint: createPaint(0), nowMs: 1_764_500_000_000, forTerminal: false}

function letter(overrides: Partial<KafkaRecord> = {}) {
  const header = (name: string, value: string | null) => ({
    name: Buffer.from(name),
    value: value === null ? null : Buffer.from(value),
  })
  return createDeadLetter({
    topic: 'orders-dlq',
    partition: 0,
    offset: 42n,
    timestamp: 1_764_500_000_123n,
    timestampType: 'CreateTime',
    key: Buffer.from('k-17'),
    value: Buffer.from([0, 0, 0, 0, 0xff]),
    headers: [
      header('trace', 'abc'),
      header('trace', null),
      header('__connect.errors.topic', 'orders'),
      header('__connect.errors.partition', '3'),
      header('__connect.errors.offset', '1007'),
      header('__connect.errors.connector.name', 'orders-es'),
      header('__connect.errors.task.id', '0'),
      header('__connect.errors.stage', 'VALUE_CONVERTER'),
      header('__connect.errors.class.name', 'org.apache.kafka.connect.json.JsonConverter'),
      header('__connect.errors.exception.class.name', 'org.apache.kafka.connect.errors.DataException'),
      header('__connect.errors.exception.message', 'no\u001b[31m schema'),
    ],
    ...overrides,
  })
}

const decode = await plainDecoder()
const rendered = (one: DeadLetter, options: Partial<DetailOptions>, width: number | null = null): string =>
  [
    ...renderDetail(
      one,
      {fullStack: false, hex: false, origin: null, decoded: decode(one), ...options},
      {...context, width},
    ),
  ].join('')
const detail = (overrides: Partial<KafkaRecord> = {}, options: Partial<DetailOptions> = {}): string =>
  rendered(letter(overrides), options)

describe('one dead letter as JSON', () => {
  test('has the members of the contract, in order, and no "handled" while no ledger was read', () => {
    const json = deadLetterToJson(letter())
    expect(Object.keys(json)).toEqual([
      'address',
      'topic',
      'partition',
      'offset',
      'timestamp',
      'timestampType',
      'key',
      'value',
      'headers',
      'failure',
      'fingerprint',
      'bytes',
    ])
    expect(json.value).toEqual({base64: 'AAAAAP8='})
    expect(json.headers.slice(0, 2)).toEqual([
      ['trace', 'abc'],
      ['trace', null],
    ])
    expect(json.failure.origin).toMatchObject({topic: 'orders', partition: 3, offset: '1007'})
  })

  test('[BR-27] two values stay apart from one value with a comma', () => {
    const header = (value: string) => ({name: Buffer.from('t'), value: Buffer.from(value)})
    expect(deadLetterToJson(letter({headers: [header('x'), header('y')]})).headers).toEqual([
      ['t', 'x'],
      ['t', 'y'],
    ])
    expect(deadLetterToJson(letter({headers: [header('x,y')]})).headers).toEqual([['t', 'x,y']])
  })

  test('offsets beyond 2^53 and a missing timestamp survive', () => {
    const json = deadLetterToJson(letter({offset: 9_007_199_254_740_993n, timestamp: null}))
    expect([json.offset, json.timestamp, json.address]).toEqual([
      '9007199254740993',
      null,
      'orders-dlq:0:9007199254740993',
    ])
  })
})

describe('headers of one dead letter', () => {
  const long = `${'é'.repeat(300)}end`
  const headers = [
    {name: Buffer.from('short'), value: Buffer.from('v')},
    {name: Buffer.from('long'), value: Buffer.from(long)},
    {name: Buffer.from('n'.repeat(200)), value: Buffer.from('w'.repeat(41))},
  ]

  test.each([null, 80, 400])(
    'on a width of %s, long values are cut and tell their size and the way to all of it',
    width => {
      const lines = renderedHeaders(width, false)
      expect(lines[0]).toBe('short = v')
      expect(lines[1]).toMatch(/^long = é+… 603 B$/)
      expect(lines[1]).toHaveLength(160)
      expect(lines[2]).toBe(`${'n'.repeat(200)} = ${'w'.repeat(34)}… 41 B`)
      expect(lines[3]).toBe('2 values cut; --full-stack shows all of them')
    },
  )

  test('--full-stack cuts none', () => {
    const lines = renderedHeaders(120, true)
    expect(lines.slice(1, 4)).toEqual([`long = ${long}`, `${'n'.repeat(200)} = ${'w'.repeat(41)}`, ''])
  })

  test('JSON cuts none', () => {
    expect(deadLetterToJson(letter({headers})).headers[1]).toEqual(['long', long])
  })

  function renderedHeaders(width: number | null, fullStack: boolean): string[] {
    const text = rendered(letter({headers}), {fullStack}, width)
    return text.slice(text.indexOf('short = ')).split('\n')
  }
})

describe('one dead letter in full', () => {
  test('says what failed, where it came from, and nothing a terminal obeys', () => {
    const text = detail()
    expect(text).toContain('orders-dlq:0:42\n')
    expect(text).toContain('stage        VALUE_CONVERTER\n')
    expect(text).toContain('origin       orders:3:1007\n')
    expect(text).toContain('message      no^[[31m schema\n')
    expect(text).not.toContain('\u001b')
    expect(text).toContain('trace = null\n')
  })

  test('a tombstone is named as one', () => {
    expect(detail({value: null})).toContain('Value null (tombstone)\n')
  })

  test('binary values are a hex dump, JSON is indented, a number JavaScript cannot hold is left as it is', () => {
    expect(detail()).toContain('00000000  00 00 00 00 ff')
    expect(detail({value: Buffer.from('{"a":[1,2]}')})).toContain('{\n  "a": [\n    1,\n')
    expect(detail({value: Buffer.from('{"a": 9007199254740993}')})).toContain('{"a": 9007199254740993}\n')
  })

  const DIFFERENT = {
    state: 'differs',
    differences: ['value', 'headers'],
    parts: [{part: 'value', at: 0, deadLetterBytes: 5, originBytes: null}],
  } as const

  test('the record at the origin: same, different, gone', () => {
    expect(detail({}, {origin: {state: 'same'}})).toContain('the same key, value and headers')
    expect(detail({}, {origin: DIFFERENT})).toContain('differs: value, headers')
    expect(detail({}, {origin: DIFFERENT})).toContain('value: 5 bytes here, null there; the first difference is byte 0')
    expect(detail({}, {origin: {state: 'there'}})).toContain('only points to it')
    expect(detail({}, {origin: {state: 'other', reason: 'of time 5'}})).toContain('another record: of time 5')
    expect(detail({}, {origin: {state: 'gone', reason: 'the offset was deleted'}})).toContain(
      'gone: the offset was deleted',
    )
  })

  test('the cause says its own words above the trace', () => {
    const headers = connectHeaders({
      topic: 'orders',
      partition: 3,
      offset: 1007n,
      connector: 'orders-es',
      task: 0,
      stage: 'VALUE_CONVERTER',
      component: 'x.Y',
      error: {class: 'a.B', message: 'Converting failed', stack: 'a.B: Converting failed\nCaused by: c.D: bad token\n'},
    })
    expect(detail({headers})).toContain('caused by    c.D\ncause says   bad token\n')
  })

  test('a record without error headers says so', () => {
    expect(detail({headers: []})).toContain('nothing in this record says why it died')
  })
})

test('a folded stack begins with the root cause and counts framework frames', () => {
  const stack = [
    'org.apache.kafka.connect.errors.ConnectException: Error converting',
    '\tat org.apache.kafka.connect.runtime.WorkerSinkTask.poll(WorkerSinkTask.java:1)',
    '\tat java.base/java.lang.Thread.run(Thread.java:2)',
    'Caused by: com.acme.BadOrder: no customer',
    '\tat com.acme.Orders.check(Orders.java:10)',
    '\t... 2 more',
    '',
  ].join('\n')
  expect([...renderFoldedStack(stack, createPaint(0))]).toEqual([
    'com.acme.BadOrder: no customer\n',
    '    at com.acme.Orders.check(Orders.java:10)\n',
    '    ... 2 frames as below\n',
    'which led to org.apache.kafka.connect.errors.ConnectException: Error converting\n',
    '    ... 2 framework frames\n',
    '2 framework frames hidden; --full-stack shows the trace as it is\n',
  ])
})
