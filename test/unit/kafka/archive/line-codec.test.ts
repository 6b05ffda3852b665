import {describe, expect, test} from 'vitest'

import {IoError} from '../../../../src/lib/errors.ts'
import {formatArchiveLine, parseArchiveLine} from '../../../../src/lib/kafka/archive/line-codec.ts'
import type {KafkaRecord} from '../../../../src/lib/kafka/record.ts'

const base: KafkaRecord = {
  topic: 'orders-dlq',
  partition: 0,
  offset: 42n,
  timestamp: 1_760_000_015_519n,
  timestampType: 'CreateTime',
  key: null,
  value: null,
  headers: [],
}

function line(fields: Record<string, unknown>): string {
  return JSON.stringify({topic: 't', partition: 0, offset: '1', key: null, value: null, headers: [], ...fields})
}

describe('formatArchiveLine', () => {
  test('writes fields in one order, text where it is valid UTF-8, else base64', () => {
    const record: KafkaRecord = {
      ...base,
      key: Buffer.from('k"\n'),
      value: Buffer.from([0xff, 0x00]),
      headers: [
        {name: Buffer.from('a'), value: null},
        {name: Buffer.from('a'), value: Buffer.alloc(0)},
        {name: Buffer.from([0xc3]), value: Buffer.from('é')},
      ],
    }
    expect(formatArchiveLine(record)).toBe(
      '{"topic":"orders-dlq","partition":0,"offset":"42","timestamp":"1760000015519","timestampType":"CreateTime",' +
        '"key":"k\\"\\n","value":{"base64":"/wA="},"headers":[["a",null],["a",""],[{"base64":"ww=="},"é"]]}',
    )
  })

  test('[BR-54] a value that is not UTF-8 is base64', () => {
    expect(formatArchiveLine({...base, value: Buffer.from([0x8b])})).toContain('"value":{"base64":"iw=="}')
  })

  test('[BR-56] the text null and no value at all are two things, in both directions', () => {
    const [text, none] = [{...base, value: Buffer.from('null')}, base]
    expect(formatArchiveLine(text)).toContain('"value":"null"')
    expect(formatArchiveLine(none)).toContain('"value":null')
    expect(parseArchiveLine(formatArchiveLine(text), 1)).toEqual(text)
    expect(parseArchiveLine(formatArchiveLine(none), 1)).toEqual(none)
  })

  test('[BR-53] line feeds, zero bytes and binary headers stay in one line and come back', () => {
    const record: KafkaRecord = {
      ...base,
      key: Buffer.from([0]),
      value: Buffer.from([0x0a, 0x00, 0xff, 0x0a]),
      headers: [{name: Buffer.from('a'), value: Buffer.from([0xff])}],
    }
    const line = formatArchiveLine(record)
    expect(line).not.toContain('\n')
    expect(parseArchiveLine(line, 1)).toEqual(record)
  })

  test('a record without a time has timestamp null', () => {
    expect(formatArchiveLine({...base, timestamp: null})).toContain('"timestamp":null')
  })
})

describe('parseArchiveLine', () => {
  test.each([
    ['a byte order mark in the value', Buffer.from('\uFEFFx')],
    ['an empty value', Buffer.alloc(0)],
    ['NUL, C1 and bidi characters', Buffer.from('\0\u0085\u202E\u2028')],
    ['an overlong encoding', Buffer.from([0xc0, 0x80])],
    ['an encoded surrogate', Buffer.from([0xed, 0xa0, 0x80])],
    ['a pair of surrogates in text', Buffer.from('💥')],
  ])('gives back %s', (_, value) => {
    expect(parseArchiveLine(formatArchiveLine({...base, value}), 1)).toEqual({...base, value})
  })

  test('offsets up to 2^63 - 1 are exact', () => {
    for (const offset of [0n, 9_007_199_254_740_993n, 9_223_372_036_854_775_807n]) {
      expect(parseArchiveLine(formatArchiveLine({...base, offset}), 1).offset).toBe(offset)
    }
  })

  test.each([
    ['"1760000015519"', 1_760_000_015_519n],
    ['1760000015519', 1_760_000_015_519n],
    ['null', null],
    ['-1', null],
    ['"-1"', null],
    ['0', 0n],
  ])('reads timestamp %s', (text, expected) => {
    const json = line({timestamp: 'X'}).replace('"X"', text)
    expect(parseArchiveLine(json, 1).timestamp).toBe(expected)
  })

  test('reads both forms of bytes, ignores unknown fields, and takes a line without time and headers', () => {
    const json =
      '{"topic":"t","partition":1,"offset":7,"key":{"base64":"aw=="},"value":"v","failure":{"dialect":"none"}}'
    expect(parseArchiveLine(Buffer.from(json), 1)).toEqual({
      topic: 't',
      partition: 1,
      offset: 7n,
      timestamp: null,
      timestampType: 'CreateTime',
      key: Buffer.from('k'),
      value: Buffer.from('v'),
      headers: [],
    })
  })

  test.each([
    ['cut off', line({}).slice(0, -1), 'not JSON'],
    ['a list', '[1]', 'not a JSON object'],
    ['null', 'null', 'not a JSON object'],
    ['without topic', line({topic: undefined}), 'topic'],
    ['an empty topic', line({topic: ''}), 'topic'],
    ['without value', line({value: undefined}), 'value is missing'],
    ['without key', line({key: undefined}), 'key is missing'],
    ['a number as value', line({value: 1}), 'value is not null'],
    ['an object as key', line({key: {hex: '00'}}), 'key is not null'],
    ['base64 with a stray character', line({key: {base64: 'a*=='}}), 'not base64'],
    ['base64 without padding', line({key: {base64: 'aw'}}), 'not base64'],
    ['base64 that goes on behind its padding', line({key: {base64: 'aw==aw=='}}), 'not base64'],
    ['half a surrogate pair', line({}).replace('"value":null', '"value":"\\ud83d"'), 'surrogate'],
    ['a negative partition', line({partition: -1}), 'partition'],
    ['a partition as text', line({partition: '0'}), 'partition'],
    ['a partition of 2^31', line({partition: 2_147_483_648}), 'partition'],
    ['a negative offset', line({offset: '-1'}), 'offset'],
    ['an offset of 2^63', line({offset: '9223372036854775808'}), 'offset'],
    ['an offset that lost digits as a number', line({offset: 'X'}).replace('"X"', '9007199254740993'), 'offset'],
    ['an offset with text behind it', line({offset: '12abc'}), 'offset'],
    ['an offset that is true', line({offset: true}), 'offset'],
    ['a timestamp with a fraction', line({timestamp: 1.5}), 'timestamp'],
    ['a timestamp as a date', line({timestamp: '2025-01-15'}), 'timestamp'],
    ['an unknown timestamp type', line({timestampType: 'createtime'}), 'timestampType'],
    ['headers as an object', line({headers: {a: 'b'}}), 'headers'],
    ['a header without value', line({headers: [['a']]}), 'header'],
    ['a header with a null name', line({headers: [[null, 'x']]}), 'header name'],
  ])('refuses %s, with its line number', (_, text, reason) => {
    let error: unknown
    try {
      parseArchiveLine(text, 12, 'orders-dlq.ndjson')
    } catch (caught) {
      error = caught
    }
    expect(error).toBeInstanceOf(IoError)
    expect(error).toMatchObject({code: 'E_ARCHIVE_LINE', exitCode: 1, context: {line: 12, file: 'orders-dlq.ndjson'}})
    expect(String(error)).toContain('line 12 of orders-dlq.ndjson is no record')
    expect(String(error)).toContain(reason)
  })

  test('refuses bytes that are not UTF-8 instead of replacing them', () => {
    const bytes = Buffer.from(line({value: 'X'}))
    bytes.writeUInt8(0xff, bytes.indexOf('X'))
    expect(() => parseArchiveLine(bytes, 1)).toThrow('not valid UTF-8')
  })
})
