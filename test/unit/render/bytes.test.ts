import {describe, expect, test} from 'vitest'
import {bytesToFullText, bytesToJson, bytesToText} from '../../../src/lib/render/bytes.ts'

const text = (value: string): Buffer => Buffer.from(value)

describe('bytes in JSON', () => {
  test('[BR-54] bytes that are not UTF-8 are base64', () => {
    expect(bytesToJson(Buffer.from([0x8b]))).toEqual({base64: 'iw=='})
  })

  test('null, empty and the text null differ', () => {
    expect([null, text(''), text('null')].map(bytesToJson)).toEqual([null, '', 'null'])
  })

  test('a byte order mark is kept', () => {
    const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0x61])
    expect(Buffer.from(bytesToJson(bytes) as string)).toEqual(bytes)
  })
})

describe('bytes for people', () => {
  test('[BR-56] the text null and the Kafka null look different', () => {
    expect(bytesToText(null)).toBe('null')
    expect(bytesToText(text('null'))).toBe('"null"')
    expect(bytesToText(text(''))).toBe('""')
  })

  test('text that looks like one of the other forms is quoted', () => {
    expect(bytesToText(text('0x00ff'))).toBe('"0x00ff"')
    expect(bytesToText(text('"quoted"'))).toBe(String.raw`"\"quoted\""`)
    expect(bytesToText(text('nullable'))).toBe('nullable')
  })

  test('binary is hex, cut with a marker', () => {
    expect(bytesToText(Buffer.from([0x0a, 0x00, 0xff]))).toBe('0x0a00ff')
    expect(bytesToText(Buffer.alloc(100, 0xff), 8)).toBe('0xffffffff…')
  })

  test('control characters are visible, also in a full text', () => {
    expect(bytesToText(text('a\u001b[2Jb'))).toBe('a^[[2Jb')
    expect(bytesToFullText(text('a\u202eb'))).toBe(String.raw`a\u{202e}b`)
  })

  test('a megabyte of text is cut at a character, not in one', () => {
    const shown = bytesToText(text('ü'.repeat(500_000)), 20)
    expect(shown).toBe(`${'ü'.repeat(19)}…`)
  })

  test('nothing is cut for a pipe', () => {
    expect(bytesToFullText(text('x'.repeat(5000)))).toHaveLength(5000)
  })
})
