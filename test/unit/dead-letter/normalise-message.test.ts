import {describe, expect, test} from 'vitest'
import {normaliseMessage} from '../../../src/lib/dead-letter/normalise-message.ts'
import {payloadTexts} from '../../../src/lib/dead-letter/payload-texts.ts'

test.each([
  ['Index 96 out of bounds for length 4', 'Index <n> out of bounds for length <n>'],
  ['took -1.5e3 ms, 1,234 rows', 'took <n> ms, <n> rows'],
  ['carrier c17 is unknown', 'carrier c<n> is unknown'],
  ['byte 0xD4 at 00ff00ff12ab', 'byte <n> at <n>'],
  ['order 6f1c2c1e-0a5b-4a6e-9b0e-1d2c3b4a5f60 failed', 'order <id> failed'],
  ['at 2026-11-30T13:55:11.123Z sharp', 'at <time> sharp'],
  ['on 2026-11-30 13:55:11,5+01:00 sharp', 'on <time> sharp'],
  ['on 2026-11-30 sharp', 'on <time> sharp'],
  ['at 13:55:11 sharp', 'at <time> sharp'],
  ['on Mon Nov 30 13:55:11 UTC 2026 sharp', 'on <time> sharp'],
  ['connect to db/10.1.2.3:5432 timed out', 'connect to db<address> timed out'],
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
