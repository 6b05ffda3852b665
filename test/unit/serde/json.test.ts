import {describe, expect, test} from 'vitest'
import {DecodeFault} from '../../../src/lib/serde/fault.ts'
import {decodeJson} from '../../../src/lib/serde/json/decode.ts'
import {findJsonFault, locateJson, MAX_JSON_DEPTH} from '../../../src/lib/serde/json/scan.ts'

const fault = (text: string | Buffer) => findJsonFault(Buffer.from(text))

describe('where JSON stops making sense', () => {
  test.each([
    ['', 0, '', 'there is no value'],
    ['   ', 3, '', 'there is no value'],
    ['{"id": 1, "qty": x}', 17, 'qty', "a value is expected, here is 'x'"],
    ['{"order":{"items":[1,{"price":}]}}', 30, 'order.items[1].price', "a value is expected, here is '}'"],
    ['[1,2', 4, '[1]', 'the text ends while 1 object or list is open'],
    ['{"a":{"b":[', 11, 'a.b[0]', 'the text ends while 3 objects or lists are open'],
    ['{"a":1,}', 7, 'a', "a name in quotes is expected, here is '}'"],
    ['{"a" 1}', 5, 'a', "a colon is expected behind the name, here is '1'"],
    ['{"a":"x', 7, 'a', 'the text ends inside the string that began at byte 5'],
    ['{"a":"x\u0001"}', 7, 'a', 'control character 0x01 in a string'],
    ['{"a":"\\x"}', 6, 'a', "there is no escape \\'x'"],
    ['{"a":"\\u12G4"}', 6, 'a', 'an escape \\u needs four hex digits'],
    ['{"a":012}', 5, 'a', 'a number begins with 0'],
    ['{"a":-}', 6, 'a', 'a number has no digits'],
    ['{"a":1.}', 7, 'a', 'a number has no digits behind its point'],
    ['{"a":1e+}', 8, 'a', 'a number has no digits in its exponent'],
    ['{"a":NaN}', 5, 'a', "a value is expected, here is 'N'"],
    ['{"odd name":?}', 12, '["odd name"]', "a value is expected, here is '?'"],
    ['{"a":1}{"a":2}', 7, '', '7 bytes stand behind the end of the value'],
    ['[1 2]', 3, '[0]', "a comma or the end is expected, here is '2'"],
  ])('%s', (text, at, field, message) => {
    expect(fault(text)).toEqual({at, field, message})
  })

  test('bytes that are no UTF-8 are found inside names and values, before what follows them', () => {
    const bytes = Buffer.concat([Buffer.from('{"name":"ab'), Buffer.from([0xc3, 0x28]), Buffer.from('\u0001"}')])
    expect(findJsonFault(bytes)).toEqual({at: 11, field: 'name', message: 'byte 0xc3 is not valid UTF-8'})
    expect(findJsonFault(Buffer.from([0x7b, 0x22, 0xff, 0x22]))).toMatchObject({
      at: 2,
      message: 'byte 0xff is not valid UTF-8',
    })
  })

  test('a byte order mark is named', () => {
    expect(findJsonFault(Buffer.from('\ufeff{}'))).toMatchObject({
      at: 0,
      message: 'a byte order mark stands before the text',
    })
  })

  test.each(['{}', '[]', ' { "a" : [ 1 , -0.5e+3 , true , null , "\\u00e9\\n" ] } ', '0', '"x"', 'false'])(
    '%s has no fault',
    text => {
      expect(fault(text)).toBeNull()
    },
  )

  test('nesting is bounded without recursion', () => {
    expect(fault('['.repeat(1_000_000))).toEqual({
      at: MAX_JSON_DEPTH,
      field: '[0]'.repeat(MAX_JSON_DEPTH),
      message: `nested deeper than ${MAX_JSON_DEPTH}`,
    })
    expect(fault('['.repeat(MAX_JSON_DEPTH) + ']'.repeat(MAX_JSON_DEPTH))).toBeNull()
  })

  test('a value is found by its path', () => {
    const bytes = Buffer.from('{"items":[{"price":1},{"price":"x"}]}')
    expect(locateJson(bytes, ['items', '1', 'price'])).toBe(31)
    expect(locateJson(bytes, [])).toBe(0)
    expect(locateJson(bytes, ['items', '2'])).toBeNull()
  })
})

describe('JSON as a value', () => {
  test('integers that a double cannot hold keep their digits', () => {
    expect(decodeJson(Buffer.from('{"a":9007199254740993,"b":1.5,"c":"9007199254740993"}'))).toEqual({
      a: 9_007_199_254_740_993n,
      b: 1.5,
      c: '9007199254740993',
    })
  })

  test('a number of a million digits costs nothing', () => {
    expect(decodeJson(Buffer.from(`[${'9'.repeat(1_000_000)}]`))).toEqual([Infinity])
  })

  test('a member named __proto__ is a member', () => {
    const value = decodeJson(Buffer.from('{"__proto__":{"admin":true}}'))
    expect(Object.keys(value as object)).toEqual(['__proto__'])
    expect((value as {admin?: unknown}).admin).toBeUndefined()
  })

  test('a fault has byte and field', () => {
    expect(() => decodeJson(Buffer.from('{"a":}'))).toThrow(DecodeFault)
    expect(() => decodeJson(Buffer.from('['.repeat(100_000)))).toThrow('nested deeper than 512')
  })
})
