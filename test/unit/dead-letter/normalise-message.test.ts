import {describe, expect, test} from 'vitest'
import {normaliseMessage} from '../../../src/lib/dead-letter/normalise-message.ts'
import {payloadTexts} from '../../../src/lib/dead-letter/payload-texts.ts'
import {assertLinear} from '../../support/linear.ts'

test.each([
  ['Index 96 out of bounds for length 4', 'Index <n> out of bounds for length <n>'],
  ['took -1.5e3 ms, 1,234 rows', 'took <duration>, <n> rows'],
  ['carrier c17 is unknown', 'carrier c<n> is unknown'],
  ['byte 0xD4 at 00ff00ff12ab', 'byte <n> at <n>'],
  ['order 6f1c2c1e-0a5b-4a6e-9b0e-1d2c3b4a5f60 failed', 'order <id> failed'],
  ['at 2026-11-30T13:55:11.123Z sharp', 'at <time> sharp'],
  ['on 2026-11-30 13:55:11,5+01:00 sharp', 'on <time> sharp'],
  ['on 2026-11-30 sharp', 'on <time> sharp'],
  ['at 13:55:11 sharp', 'at <time> sharp'],
  ['on Mon Nov 30 13:55:11 UTC 2026 sharp', 'on <time> sharp'],
  ['connect to db/10.1.2.3:5432 timed out', 'connect to <address> timed out'],
  ['connect to [fe80::1:2]:9092 timed out', 'connect to <address> timed out'],
  ['com.acme.Order@1b2c3d4e is bad', 'com.acme.Order@<hash> is bad'],
  ['com.acme.A$$Lambda/0x00007f1c8c0d1000 threw', 'com.acme.A$$Lambda threw'],
  ['com.acme.A$$Lambda$17/0x0000000800c3 threw', 'com.acme.A$$Lambda threw'],
  ['unique constraint "orders_pk" violated', 'unique constraint <q> violated'],
  ["Unrecognized token 'x y': was expecting 'null'", 'Unrecognized token <q>: was expecting <q>'],
  ["can't read the user's file 'a'b'", "can't read the user's file <q>"],
  ['For input string: ""north"" in field', 'For input string: <q> in field'],
  ["character (''' (code 39)) found", 'character (<q> (code <n>)) found'],
  ["für „O'Neil“ nicht", 'für <q> nicht'],
  ['an unclosed " quote and \' one', 'an unclosed " quote and \' one'],
  ['bad [Source: (byte[])"{"a": "]"}"; line: 1, column: 5] here', 'bad [position] here'],
  ['bad [Source: REDACTED; line: 1, column: 5]', 'bad [position]'],
  ['cut [Source: (byte[])"abc', 'cut [position]'],
  ['two\n  lines\t here', 'two lines here'],
  ['failed due to: ', 'failed due to'],
  [
    'waited 1.5s of PT30S, 200 ms, 3 minutes, 1m30s left',
    'waited <duration> of <duration>, <duration>, <duration>, <duration> left',
  ],
  ['7 strings, 5 sinks', '<n> strings, <n> sinks'],
  ['broker kafka-3.prod.svc:9092 (id 3) is away', 'broker <address> (id <n>) is away'],
  ['connect localhost:5432 refused', 'connect <address> refused'],
  ['GET https://sr.acme.com:8081/subjects/orders-value?v=1 said no', 'GET <url> said no'],
  ['mail to anna.b+x@acme.com bounced', 'mail to <email> bounced'],
  ['cannot open /var/lib/app/data-7.bin now', 'cannot open <path> now'],
  ['cannot open /orders.json now', 'cannot open <path> now'],
  ['cannot open C:\\data\\in\\a.csv now', 'cannot open <path> now'],
  ['#/items/0/price is not a number', '#/items/<n>/price is not a number'],
  ['and/or application/json', 'and/or application/json'],
  ['pod orders-7d9f8b6c5-x2v9k is gone', 'pod orders-<n>-<id> is gone'],
  ['order 01J9ZQ6M3N8T5R2W4Y7XABCDEF is gone', 'order <id> is gone'],
  ['java.util.Base64 and UTF8 and Int32', 'java.util.Base<n> and UTF<n> and Int<n>'],
  ['bytes [72, 101, 108] of [1,2]', 'bytes [<n>] of [<n>]'],
  ['bad order {id=7, name=Ann, tags={a=1}} here', 'bad order {<value>} here'],
  ['bad order {"id":7,"name":"Ann', 'bad order {<value>}'],
  ['template {name} is unknown', 'template {name} is unknown'],
  ['Unexpected token h in JSON at position 12', 'Unexpected token <q> in JSON at position <n>'],
  ['Expecting value: line 1 column 7 (char 6)', 'Expecting value: line <n> column <n> (char <n>)'],
  ['quantity must be positive: -4', 'quantity must be positive'],
  ['size = 17', 'size'],
  ['', ''],
])('masks what differs in %j', (message, normalised) => {
  expect(normaliseMessage(message)).toBe(normalised)
})

test.each([
  'lookup service is away',
  'found: java.util.ArrayList',
  'class java.lang.String cannot be cast to class java.math.BigDecimal',
])('leaves %j as it is', message => {
  expect(normaliseMessage(message)).toBe(message)
})

describe('words of the record itself', () => {
  test.each([
    ['note cannot be stored: a\u0000b: c', 'note cannot be stored'],
    ['Value (three) was out of range', 'Value (<value>) was out of range'],
    ['Value (1.5) was out of range', 'Value (<value>) was out of range'],
    ['Value (four) was out of range', 'Value (four) was out of range'],
    ['Write to three failed', 'Write to three failed'],
  ])('are masked in brackets and at the end: %j', (message, normalised) => {
    expect(normaliseMessage(message, new Set(['a\u0000b: c', 'three', '1.5']))).toBe(normalised)
  })

  test('are the strings and numbers of JSON payloads, at any depth', () => {
    const value = Buffer.from('{"a":["x",{"b":1.5}],"c":null,"d":true,"e":""}')
    expect([...payloadTexts(value, Buffer.from('"key"'))].sort()).toEqual(['1.5', 'key', 'x'])
    expect(payloadTexts(null, Buffer.alloc(0), Buffer.from('{"a":'), Buffer.from([0xff, 0x7b])).size).toBe(0)
  })

  test('are bounded in number and size, and deep nesting does no harm', () => {
    const many = Buffer.from(JSON.stringify(Array.from({length: 10_000}, (_, index) => `text ${index}`)))
    expect(payloadTexts(many).size).toBe(500)
    expect(payloadTexts(Buffer.from(`["${'a'.repeat(2_000_000)}"]`)).size).toBe(0)
    expect(payloadTexts(Buffer.from(`${'['.repeat(100_000)}"deep"${']'.repeat(100_000)}`)).size).toBeLessThan(2)
  })
})

test('looks at the first 2048 characters only', () => {
  expect(normaliseMessage(`${'x '.repeat(1024)}tail`)).not.toContain('tail')
})

test('takes work in proportion to the text, whatever it is made of', async () => {
  const hostile = ['(', '{', '"', "'", '/a', '1.', 'a.', 'a@', '::', '[0:', '<n>, ', 'a1', '-', '1 ', 'https://', "'a"]
  for (const part of hostile) {
    const texts = new Map([256, 2048].map(size => [size, part.repeat(size).slice(0, size)]))
    await assertLinear(2048, size => {
      for (let round = 0; round < 20; round++) normaliseMessage(texts.get(size) ?? '')
    })
  }
})
