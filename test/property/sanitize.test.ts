import fc from 'fast-check'
import {expect, test} from 'vitest'
import {bytesToFullText, bytesToJson, bytesToText} from '../../src/lib/render/bytes.ts'
import {escapeJsonForTerminal, sanitize, sanitizeBlock} from '../../src/lib/render/sanitize.ts'
import {cutToWidth, displayWidth} from '../../src/lib/render/width.ts'

// Text with more of what is dangerous than chance would give.
const hostile = fc.string({
  unit: fc.oneof(
    fc.string({unit: 'binary', minLength: 1, maxLength: 1}),
    fc.constantFrom(
      '\u001b',
      '\u009b',
      '\u0007',
      '\r',
      '\n',
      '\t',
      '\u007f',
      '\u200b',
      '\u202e',
      '\u2066',
      '\ufeff',
      '\ud800',
      '👍',
      '注',
      'e\u0301',
    ),
  ),
  maxLength: 60,
})
const DANGEROUS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

test('sanitised text has no control character and is stable', () => {
  fc.assert(
    fc.property(hostile, text => {
      const clean = sanitize(text)
      expect(clean).not.toMatch(DANGEROUS)
      expect(sanitize(clean)).toBe(clean)
    }),
  )
})

test('a sanitised block has none but line feeds', () => {
  fc.assert(
    fc.property(hostile, text => {
      expect(sanitizeBlock(text).replaceAll('\n', '')).not.toMatch(DANGEROUS)
    }),
  )
})

test('JSON for a terminal has no control character and means the same', () => {
  fc.assert(
    fc.property(fc.dictionary(hostile, hostile), value => {
      const json = escapeJsonForTerminal(JSON.stringify(value))
      expect(json).not.toMatch(DANGEROUS)
      expect(JSON.parse(json)).toEqual(value)
    }),
  )
})

test('a cut text fits and begins like the whole', () => {
  fc.assert(
    fc.property(hostile, fc.integer({min: 1, max: 40}), (text, width) => {
      const clean = sanitize(text)
      const cut = cutToWidth(clean, width)
      expect(displayWidth(cut)).toBeLessThanOrEqual(width)
      expect(clean.startsWith(cut.endsWith('…') ? cut.slice(0, -1) : cut)).toBe(true)
    }),
  )
})

test('bytes survive JSON, and their text is safe', () => {
  fc.assert(
    fc.property(fc.uint8Array({maxLength: 200}), array => {
      const bytes = Buffer.from(array)
      const json = JSON.parse(JSON.stringify(bytesToJson(bytes))) as string | {base64: string}
      expect(typeof json === 'string' ? Buffer.from(json, 'utf8') : Buffer.from(json.base64, 'base64')).toEqual(bytes)
      expect(bytesToText(bytes)).not.toMatch(DANGEROUS)
      expect(bytesToFullText(bytes)).not.toMatch(DANGEROUS)
    }),
  )
})
