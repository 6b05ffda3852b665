import {describe, expect, test} from 'vitest'
import {AUTO_FORMATS, DECODE_FORMATS, isDecodeWord, parseDecodeFormats} from '../../../src/lib/serde/index.ts'

const auto = {format: 'auto', schema: null}

describe('--decode', () => {
  test('without anything both parts are as they present themselves', () => {
    expect(parseDecodeFormats([])).toEqual(AUTO_FORMATS)
  })

  test.each([...DECODE_FORMATS])('%s is for the value; with a prefix for the part it names', format => {
    expect(parseDecodeFormats([format])).toEqual({key: auto, value: {format, schema: null}})
    expect(parseDecodeFormats([`key=${format}`, `value=${format}`])).toEqual({
      key: {format, schema: null},
      value: {format, schema: null},
    })
  })

  test('parts may be joined by a comma, string means text, the last one holds', () => {
    expect(parseDecodeFormats(['key=string,value=int64'])).toEqual({
      key: {format: 'text', schema: null},
      value: {format: 'int64', schema: null},
    })
    expect(parseDecodeFormats(['json', 'hex']).value.format).toBe('hex')
  })

  test.each([
    [
      'avro:orders-value',
      {kind: 'registry', ref: {kind: 'subject', subject: 'orders-value', version: 'latest'}, message: null},
    ],
    [
      'avro:orders-value@7',
      {kind: 'registry', ref: {kind: 'subject', subject: 'orders-value', version: '7'}, message: null},
    ],
    [
      'avro::.ctx:orders@latest',
      {kind: 'registry', ref: {kind: 'subject', subject: ':.ctx:orders', version: 'latest'}, message: null},
    ],
    ['avro:order.avsc', {kind: 'file', path: 'order.avsc', message: null}],
    ['jsonschema:./order', {kind: 'file', path: './order', message: null}],
    ['protobuf:a/order.proto#acme.Order', {kind: 'file', path: 'a/order.proto', message: 'acme.Order'}],
    [
      'protobuf:orders-value#Order',
      {kind: 'registry', ref: {kind: 'subject', subject: 'orders-value', version: 'latest'}, message: 'Order'},
    ],
  ])('%s names a schema for payloads that name none', (text, schema) => {
    expect(parseDecodeFormats([text]).value.schema).toEqual(schema)
  })

  test.each([
    ['xml', "--decode: there is no format 'xml'"],
    ['value=', "--decode: there is no format ''"],
    ['both=avro', "--decode: there is no format 'both=avro'"],
    ['int64:orders', '--decode: int64 takes no schema'],
    ['avro:', '--decode: no schema stands behind avro:'],
  ])('%s is wrong use', (text, message) => {
    expect(() => parseDecodeFormats([text])).toThrow(expect.objectContaining({message, exitCode: 2}) as Error)
  })

  test.each([
    ['avro', true],
    ['avro:x', true],
    ['key=int64', true],
    ['string', true],
    ['orders-dlq', false],
    ['example:orders-dlq', false],
    ['--json', false],
  ])('%s may be its value: %s', (text, is) => {
    expect(isDecodeWord(text)).toBe(is)
  })
})
