import {describe, expect, test} from 'vitest'
import {createDeadLetter, letterBytes, recordBytes} from '../../../src/lib/dead-letter/dead-letter.ts'
import {GROUP_KEYS} from '../../../src/lib/dead-letter/group-keys.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import {compileRedaction} from '../../../src/lib/dead-letter/redact.ts'
import {parseArchiveLine} from '../../../src/lib/kafka/archive/index.ts'
import {createJudge} from '../../../src/lib/dead-letter/verdict.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {deadLetterToJson} from '../../../src/lib/render/dead-letter-json.ts'
import {recordWith} from '../../support/records.ts'

/** What may be shown of a record. */
function shown(patterns: readonly string[], record: KafkaRecord): DeadLetter {
  const redaction = compileRedaction(patterns)
  const letter = createDeadLetter(record)
  return redaction?.deadLetter(letter) ?? letter
}
const valueOf = (patterns: readonly string[], value: string): string | undefined =>
  shown(patterns, recordWith([], {value: Buffer.from(value)})).record.value?.toString()

describe('header values', () => {
  const record = recordWith([
    ['Authorization', 'Bearer x'],
    ['x-user-id', '17'],
    ['x-user-id', null],
    ['tenant', 't'],
    ['__connect.errors.topic', 'orders'],
    ['__connect.errors.exception.message', 'no seat for jane@example.com'],
  ])

  test('are hidden by name and pattern, in any case; null stays null', () => {
    const {record: view} = shown(['authorization', 'x-user-*'], record)
    expect(view.headers.map(({value}) => value?.toString() ?? null)).toEqual([
      '[redacted]',
      '[redacted]',
      null,
      't',
      'orders',
      'no seat for jane@example.com',
    ])
  })

  test('are hidden in the failure that was read from them too, and the group stays what it was', () => {
    const view = shown(['*exception.message'], record)
    expect(view.failure).toEqual({dialect: 'connect', origin: {topic: 'orders'}, exception: {message: '[redacted]'}})
    expect(view.fingerprint).toBe(createDeadLetter(record).fingerprint)
    expect(JSON.stringify(deadLetterToJson(view))).not.toContain('jane')
  })

  test('a pattern looks at its parts in order', () => {
    const view = shown(
      ['x-*-id-*'],
      recordWith([
        ['x-user-id-1', 'a'],
        ['x-id-', 'b'],
        ['x-a-id-', 'c'],
      ]),
    )
    expect(view.record.headers.map(({value}) => value?.toString())).toEqual(['[redacted]', 'b', '[redacted]'])
  })
})

describe('$key and $value', () => {
  const headers: [string, string][] = [
    ['dead-letter-topic', 'orders'],
    ['dead-letter-offset', '1'],
    ['deserialization-failure-key-data', 'secret key'],
    ['deserialization-failure-value-data', 'secret value'],
    ['deserialization-failure-data', 'secret value'],
    ['original_key', 'secret key'],
  ]

  test.each([
    ['$value', 'secret value', 'secret key'],
    ['$key', 'secret key', '[redacted]'],
  ])('%s hides the headers that hold it once more; the failure stays', (pattern, hidden, left) => {
    const record = recordWith(headers)
    const view = shown([pattern], record)
    const json = JSON.stringify(deadLetterToJson(view))
    expect(json).not.toContain(hidden)
    expect(json).not.toContain(Buffer.from(hidden).toString('hex'))
    expect(json).toContain(left)
    const {rawKey: _key, rawValue: _value, ...known} = createDeadLetter(record).failure
    expect(view.failure).toMatchObject(known)
  })
})

describe('JSON fields', () => {
  test.each([
    ['behind a byte order mark', '\ufeff{"card":"secret"}', '\ufeff{"card":"[redacted]"}'],
    ['with a dot in their name', '{"card.no":"secret"}', '{"card.no":"[redacted]"}'],
    [
      'in JSON inside of a string',
      '{"a":"{\\"card\\":\\"secret\\"}","n":1}',
      '{"a":"{\\"card\\":\\"[redacted]\\"}","n":1}',
    ],
    ['in a list inside of a string', '["x","[{\\"card\\":1}]"]', '["x","[{\\"card\\":\\"[redacted]\\"}]"]'],
    ['by a path into a string', '{"buyer":"{\\"mail\\":1}"}', '{"buyer":"{\\"mail\\":\\"[redacted]\\"}"}'],
  ])('%s are hidden', (_, value, expected) => {
    expect(valueOf(['card', 'card.no', 'buyer.mail'], value)).toBe(expected)
  })

  test.each(['{"a":"{\\"card\\":\\"sec', '{"a":"{\\"card\\":\\"sec\\'])(
    'are hidden inside of a string that is cut off',
    value => {
      expect(valueOf(['card'], value)).not.toContain('sec')
    },
  )

  test('are hidden in strings of what was decoded', () => {
    const redaction = compileRedaction(['card', 'buyer.mail'])
    expect(redaction?.decoded('value', {a: ['{"card":1}'], buyer: '{"mail":2}', n: '{"x":1}'})).toEqual({
      a: ['{"card":"[redacted]"}'],
      buyer: '{"mail":"[redacted]"}',
      n: '{"x":1}',
    })
  })

  test('are hidden at any depth, whatever they hold; every other byte stays', () => {
    expect(
      valueOf(
        ['card', 'customer.email'],
        '{"id": 9007199254740993, "card":{"no":"4","x":[1]} , "a":[{"card":4}], "email":1}',
      ),
    ).toBe('{"id": 9007199254740993, "card":"[redacted]" , "a":[{"card":"[redacted]"}], "email":1}')
    expect(valueOf(['customer.email'], '{"customer":{"email":"a"},"customers":[{"customer":[{"email":"b"}]}]}')).toBe(
      '{"customer":{"email":"[redacted]"},"customers":[{"customer":[{"email":"[redacted]"}]}]}',
    )
  })

  test.each([
    ['escaped names', '{"c\\u0061rd":"secret"}'],
    ['quotes in values', '{"x":"\\"card\\":","card":"sec\\"ret"}'],
    ['text that is cut off', '{"a":1,"card":"secret'],
    ['an object that is cut off', '{"card":{"a":["secret'],
    ['commas that are missing', '{"a":1 "card":"secret"}'],
    ['blanks around', ' \n{ "card" :\t"secret" }'],
    ['a list', '[{"card":"secret"}]'],
    ['repeated names', '{"card":"secret","card":"secret"}'],
  ])('%s', (_what, value) => {
    const text = valueOf(['card'], value)
    expect(text).toContain('[redacted]')
    expect(text).not.toContain('ret')
  })

  test('in keys, header values and original bytes inside a failure', () => {
    const json = Buffer.from('{"card":"secret"}')
    const report = {
      requestContext: {},
      KafkaBatchInfo: {},
      payload: {records: {'a-0': [{topic: 'a', value: json.toString('base64')}]}},
    }
    const view = shown(['card'], recordWith([['h', json]], {key: json, value: Buffer.from(JSON.stringify(report))}))
    const masked = '{"card":"[redacted]"}'
    expect(view.record.key?.toString()).toBe(masked)
    expect(view.record.headers[0]?.value?.toString()).toBe(masked)
    expect(Buffer.from(view.failure.rawValue ?? '', 'hex').toString()).toBe(masked)
  })

  test('bytes that are no UTF-8 survive', () => {
    const value = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xfe]), Buffer.from('","card":1}')])
    const view = shown(['card'], recordWith([], {value}))
    expect(view.record.value?.subarray(0, 8)).toEqual(value.subarray(0, 8))
  })

  test('of decoded values', () => {
    const redaction = compileRedaction(['card', 'a.b'])
    const bytes = Buffer.from('card')
    expect(redaction?.decoded('value', {card: 1, a: [{b: 2, c: 3n}], b: 4, d: null, bytes})).toEqual({
      card: '[redacted]',
      a: [{b: '[redacted]', c: 3n}],
      b: 4,
      d: null,
      bytes,
    })
    const whole = compileRedaction(['$value'])
    expect([whole?.decoded('value', {a: 1}), whole?.decoded('value', null), whole?.decoded('key', {a: 1})]).toEqual([
      '[redacted]',
      null,
      {a: 1},
    ])
  })

  test('behind the schema id of a registry', () => {
    for (const frame of ['0000000007', `01${'ab'.repeat(16)}`]) {
      const value = Buffer.concat([Buffer.from(frame, 'hex'), Buffer.from('{"card":1}')])
      const view = shown(['card'], recordWith([], {value})).record.value
      expect(view?.toString('latin1').endsWith('{"card":"[redacted]"}')).toBe(true)
      expect(view?.subarray(0, frame.length / 2).toString('hex')).toBe(frame)
    }
  })

  test('a megabyte of brackets and names is no trouble', () => {
    const value = `${'['.repeat(300_000)}{${'"a":1,'.repeat(100_000)}"card":1}`
    // A quadratic pass takes minutes.
    expect(valueOf(['b.card', 'card'], value)?.endsWith('"a":1,"card":"[redacted]"}')).toBe(true)
  })
})

describe('whole keys and values', () => {
  test('$key and $value hide whatever they are, but not that they are null', () => {
    const {record} = shown(['$key', '$value'], recordWith([], {value: Buffer.from([0xff])}))
    expect([record.key?.toString(), record.value?.toString()]).toEqual(['[redacted]', '[redacted]'])
    expect(shown(['$value'], recordWith([], {value: null})).record.value).toBeNull()
  })
})

describe('what is not touched', () => {
  test('the verdict and the kind of a failure, whose words are hidden', () => {
    const record = recordWith([
      ['__connect.errors.topic', 'orders'],
      ['__connect.errors.exception.class.name', 'java.net.SocketTimeoutException'],
      ['__connect.errors.exception.message', 'read timed out'],
    ])
    const view = shown(['__connect.errors.exception.*'], record)
    expect(view.failure.exception?.class).toBe('[redacted]')
    const judge = createJudge()
    expect(judge(view)).toEqual(judge(createDeadLetter(record)))
    expect(judge(view)?.verdict).toBe('transient')
    expect(GROUP_KEYS.kind(view)).toBe(GROUP_KEYS.kind(createDeadLetter(record)))
  })

  test('a record without anything to hide is the same object', () => {
    const letter = createDeadLetter(recordWith([['a', '1']]))
    expect(compileRedaction(['b', 'x.y'])?.deadLetter(letter)).toBe(letter)
    expect(compileRedaction([])).toBeNull()
    expect(compileRedaction([' '])).toBeNull()
  })

  test('the real one stays reachable, sizes are its own', () => {
    const record = recordWith([['secret', 'a long text that is not shown']])
    const view = shown(['secret'], record)
    expect(view.unredacted?.record).toBe(record)
    expect(letterBytes(view)).toEqual(recordBytes(record))
  })

  test('[CR-18] a line with hidden values cannot be read as a record', () => {
    const line = JSON.stringify(deadLetterToJson(shown(['a'], recordWith([['a', '1']]))))
    expect(() => parseArchiveLine(line, 1)).toThrow('line 1 is no record: values in it are redacted')
    const open = JSON.stringify(deadLetterToJson(shown(['b'], recordWith([['a', '1']]))))
    expect(parseArchiveLine(open, 1).headers[0]?.value?.toString()).toBe('1')
  })
})
