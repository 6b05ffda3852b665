import {describe, expect, test} from 'vitest'
import {escapeJsonForTerminal, sanitize, sanitizeBlock} from '../../../src/lib/render/sanitize.ts'

describe('sanitize', () => {
  test('shows C0 controls and DEL in caret notation', () => {
    expect(sanitize('\u0000\u0007\u001b[31mred\u007f\t\r')).toBe('^@^G^[[31mred^?^I^M')
  })

  test('shows C1 controls, which terminals obey like escape sequences, as code points', () => {
    expect(sanitize('\u009b31m\u0085')).toBe(String.raw`\u{9b}31m\u{85}`)
  })

  test('shows bidirectional, zero-width and invisible characters as code points', () => {
    expect(sanitize('a\u202eb\u2066c\u200bd\ufeffe\u00adf')).toBe(
      String.raw`a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{ad}f`,
    )
    expect(sanitize('\u2028\u2029\u3164\u{e0041}\ud800')).toBe(String.raw`\u{2028}\u{2029}\u{3164}\u{e0041}\u{d800}`)
  })

  test('shows line ends, in ASCII where the terminal has no Unicode', () => {
    expect(sanitize('one\ntwo')).toBe('one⏎two')
    expect(sanitize('one\ntwo', {ascii: true})).toBe('one^Jtwo')
  })

  test('leaves text of any script alone', () => {
    const text = 'Grüße, 注文が失敗しました, ошибка, שגיאה, e\u0301, 👍'
    expect(sanitize(text)).toBe(text)
  })

  test('is stable: what is safe stays as it is', () => {
    const once = sanitize('\u001b]8;;x\u0007\u202e\u009d')
    expect(sanitize(once)).toBe(once)
  })
})

describe('sanitizeBlock', () => {
  test('keeps line feeds, drops the return before one, widens tabs', () => {
    expect(sanitizeBlock('a\r\n\tb\u001b')).toBe('a\n    b^[')
  })

  test('a return alone cannot overwrite the line', () => {
    expect(sanitizeBlock('safe\rEVIL')).toBe('safe^MEVIL')
  })
})

describe('escapeJsonForTerminal', () => {
  test('escapes what JSON.stringify leaves and keeps the meaning', () => {
    const value = {text: 'a\u009b\u202e\u200b\u{e0041}ü'}
    const escaped = escapeJsonForTerminal(JSON.stringify(value))
    expect(escaped).toBe(String.raw`{"text":"a\u009b\u202e\u200b\udb40\udc41ü"}`)
    expect(JSON.parse(escaped)).toEqual(value)
  })
})
