import {describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {decodedToJson, pairToJson} from '../../../src/lib/render/decoded-json.ts'
import {createPaint} from '../../../src/lib/render/paint.ts'
import type {Failure} from '../../../src/lib/dialects/model.ts'
import {payloadLines} from '../../../src/lib/render/payload.ts'
import {springTypeLines} from '../../../src/lib/render/spring-types.ts'
import type {DecodedPart} from '../../../src/lib/serde/index.ts'
import {plainDecoder} from '../../support/decoded.ts'
import {recordWith} from '../../support/records.ts'

const context = {width: null, unicode: true, paint: createPaint(0), nowMs: 0, forTerminal: false}
const nothing: DecodedPart = {format: 'null', value: null}

function shown(value: Buffer | null, part: DecodedPart, hex = false): string {
  const decoded = decodedToJson({key: nothing, value: part}, [])
  const text = [
    ...payloadLines({record: recordWith([], {key: null, value}), failure: {dialect: 'none'}}, decoded, hex, context),
  ].join('')
  return text.slice(text.indexOf('\nValue'))
}

async function plain(value: string): Promise<string> {
  const letter = createDeadLetter(recordWith([], {value: Buffer.from(value)}))
  return [...payloadLines(letter, (await plainDecoder())(letter), false, context)].join('')
}

describe('a payload', () => {
  test('by its schema: format, id, subject, name, then the value indented, 64 bits as text', () => {
    const schema = {id: 4, type: 'AVRO', subject: 'orders-value', version: 2, name: 'acme.Order'} as const
    expect(shown(Buffer.alloc(7), {format: 'avro', value: {id: 2n ** 60n, raw: Buffer.from([255])}, schema})).toBe(
      '\nValue 7 B avro, schema 4, orders-value version 2, acme.Order\n{\n  "id": "1152921504606846976",\n  "raw": {\n    "base64": "/w=="\n  }\n}\n',
    )
  })

  test('that stops making sense: the byte, the field, and the rows around it', () => {
    const error = {step: 'decode', message: 'the bytes end inside a long', at: 40, field: 'items[2].price'} as const
    expect(shown(Buffer.alloc(100), {format: 'avro', value: null, schema: {id: 4}, error})).toBe(
      [
        '\nValue 100 B avro, schema 4',
        'makes no sense at byte 40, reading items[2].price: the bytes end inside a long',
        '00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|',
        '00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|',
        '00000020  00 00 00 00 00 00 00 00 [00]00 00 00 00 00 00 00  |................|',
        '00000030  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|',
        '00000040  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|',
        '',
      ].join('\n'),
    )
  })

  test('broken JSON keeps its text and is explained', async () => {
    expect(await plain('{"id": 1, "qty": x}')).toContain(
      'Value 19 B\n{"id": 1, "qty": x}\nmakes no sense at byte 17, reading qty: looks like JSON, but a value is expected, here is \'x\'\n',
    )
  })

  test('without its schema: the reason and the raw bytes', () => {
    const error = {
      step: 'registry',
      reason: 'not-found',
      message: 'the schema registry http://a does not know schema 9',
    } as const
    expect(shown(Buffer.from([0, 0, 0, 0, 9, 1]), {format: 'bytes', value: null, schema: {id: 9}, error})).toBe(
      '\nValue 6 B schema 9\n00000000  00 00 00 00 09 01                                 |......|\nno schema: the schema registry http://a does not know schema 9\n',
    )
  })

  test('that breaks its schema is shown, and how', () => {
    const error = {step: 'validate', message: 'must be number', at: 15, field: 'amount'} as const
    const text = shown(Buffer.from('\u0000\u0000\u0000\u0000\u0005{"amount":"x"}'), {
      format: 'jsonschema',
      value: {amount: 'x'},
      schema: {id: 5},
      error,
    })
    expect(text).toContain('{\n  "amount": "x"\n}\nbreaks its schema at byte 15, reading amount: must be number\n')
    expect(text).toContain('22 3a[22] |')
  })

  test('--hex is all bytes with the mark, once', () => {
    const error = {step: 'decode', message: 'bad', at: 2} as const
    expect(shown(Buffer.from('abc'), {format: 'text', value: 'abc', error}, true)).toBe(
      '\nValue 3 B\n00000000  61 62[63]                                         |abc|\nmakes no sense at byte 2: bad\n',
    )
  })

  test('numbers that JSON does not have, and text, are shown as what they are', () => {
    expect(shown(Buffer.alloc(8), {format: 'float64', value: -Infinity})).toContain('Value 8 B float64\n-Infinity\n')
    expect(shown(Buffer.alloc(8), {format: 'int64', value: 5n})).toContain('Value 8 B int64\n5\n')
  })

  test('the original ones, where the failure holds them, follow', () => {
    const broken = {step: 'decode', message: 'looks like JSON, but there is no value', at: 1} as const
    const original = pairToJson({key: nothing, value: {format: 'text', value: '{', error: broken}})
    const decoded = {...decodedToJson({key: nothing, value: nothing}, []), original}
    const failure = {dialect: 'spring-dlt', rawValue: '7b'}
    const record = recordWith([], {key: null, value: null})
    expect([...payloadLines({record, failure}, decoded, false, context)].join('')).toBe(
      '\nKey null\n\nValue null (tombstone)\n\nOriginal value 1 B\n{\nmakes no sense at byte 1: looks like JSON, but there is no value\n00000000  7b                                                |{|\n00000001 [end]\n',
    )
  })

  test('a pointer holds no tombstone, and a lost value was none', () => {
    const decoded = decodedToJson({key: nothing, value: nothing}, [])
    const record = recordWith([], {key: null, value: null})
    const text = (failure: Failure): string => [...payloadLines({record, failure}, decoded, false, context)].join('')
    expect(text({dialect: 'share-group', payload: 'absent'})).toBe(
      '\nKey null (not in this record)\n\nValue null (not in this record)\n',
    )
    expect(text({dialect: 'smallrye', warnings: ['value_lost']})).toBe(
      '\nKey null\n\nValue null (not in this record)\n',
    )
    expect(text({dialect: 'connect'})).toBe('\nKey null\n\nValue null (tombstone)\n')
  })

  test('hostile names and messages are made safe', () => {
    const part: DecodedPart = {
      format: 'avro',
      value: {'\u001b[31m': '\u202e'},
      schema: {subject: 'a\u001b]0;x'},
      error: {step: 'decode', message: '\u0007', field: '\u009b'},
    }
    const text = shown(Buffer.alloc(3), part)
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  })
})

describe("Spring's types", () => {
  test('of headers are listed, of payloads stand behind the size', async () => {
    const headers = [
      ['t', '"x"'],
      ['spring_json_header_types', '{"t":"java.lang.String"}'],
      ['__TypeId__', 'com.acme.Order'],
    ] as const
    const {headers: list} = recordWith(headers)
    expect([...springTypeLines(list, context)].join('')).toBe('\nSpring types\nt java.lang.String\n')
    const letter = createDeadLetter(recordWith(headers, {value: Buffer.from('{}')}))
    const text = [...payloadLines(letter, (await plainDecoder())(letter), false, context)].join('')
    expect(text).toContain('Value 2 B type com.acme.Order\n')
    expect([...springTypeLines([], context)]).toEqual([])
  })
})
