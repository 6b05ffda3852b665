import {describe, expect, test} from 'vitest'
import {HeaderTable} from '../../../src/lib/dialects/header-table.ts'
import type {Warning} from '../../../src/lib/dialects/model.ts'
import {
  hasPrefix,
  headerName,
  lenientUtf8,
  readBinary,
  readDecimal,
  readMinimalBigInt,
  readNullableText,
  readText,
  readTopic,
  warnNegative,
} from '../../../src/lib/dialects/primitives.ts'
import type {Warn} from '../../../src/lib/dialects/primitives.ts'
import {header} from '../../support/records.ts'

function collecting<T>(read: (warn: Warn) => T): {value: T; warnings: Warning[]} {
  const warnings: Warning[] = []
  const value = read(warning => warnings.push(warning))
  return {value, warnings}
}

const hex = (digits: string): Buffer => Buffer.from(digits, 'hex')

describe('readDecimal', () => {
  test.each([
    ['3', 3n],
    ['0007', 7n],
    ['-0', 0n],
    ['-3', -3n],
    ['2147483647', 2147483647n],
    ['-2147483648', -2147483648n],
    [`${'0'.repeat(500)}9`, 9n],
  ])('reads %j', (text, number) => {
    expect(collecting(warn => readDecimal(Buffer.from(text), 'int32', warn))).toEqual({value: number, warnings: []})
  })

  test.each([
    '',
    ' 3',
    '3 ',
    '42\n',
    '12x',
    '+3',
    '1e3',
    '1_000',
    '0x10',
    '--1',
    '-',
    '1.0',
    '2147483648',
    '٣',
    'abcd',
  ])('refuses %j', text => {
    expect(collecting(warn => readDecimal(Buffer.from(text), 'int32', warn))).toEqual({
      value: undefined,
      warnings: ['bad_number'],
    })
  })

  test('keeps int64 beyond 2^53 exact and refuses what is beyond int64', () => {
    const read = (text: string): bigint | undefined => readDecimal(Buffer.from(text), 'int64', () => {})
    expect(read('9007199254740993')).toBe(9007199254740993n)
    expect(read('9223372036854775807')).toBe(9223372036854775807n)
    expect(read('9223372036854775808')).toBeUndefined()
    expect(read('-9223372036854775808')).toBe(-9223372036854775808n)
    expect(read('9'.repeat(1_000_000))).toBeUndefined()
  })

  test('[CR-04] reads 4 or 8 binary bytes in a decimal place and says so', () => {
    expect(collecting(warn => readDecimal(hex('00000002'), 'int32', warn))).toEqual({
      value: 2n,
      warnings: ['number_is_binary'],
    })
    expect(collecting(warn => readDecimal(hex('0000000000000003'), 'int32', warn))).toEqual({
      value: 3n,
      warnings: ['number_is_binary'],
    })
    expect(collecting(warn => readDecimal(hex('7fffffffffffffff'), 'int32', warn))).toEqual({
      value: undefined,
      warnings: ['bad_number'],
    })
  })

  test('names a null value', () => {
    expect(collecting(warn => readDecimal(null, 'int64', warn))).toEqual({value: undefined, warnings: ['null_header']})
  })
})

describe('readBinary', () => {
  test.each([
    ['00000003', 'int32', 3n],
    ['ffffffff', 'int32', -1n],
    ['00000000000004d2', 'int64', 1234n],
    ['ffffffffffffffff', 'int64', -1n],
  ] as const)('reads %s as %s', (digits, range, number) => {
    expect(collecting(warn => readBinary(hex(digits), range, warn))).toEqual({value: number, warnings: []})
  })

  test.each([
    ['3', 'int32', 3n],
    ['0007', 'int32', 7n],
    ['00000042', 'int64', 42n],
    ['-1', 'int64', -1n],
  ] as const)('takes the digits %j for text', (text, range, number) => {
    expect(collecting(warn => readBinary(Buffer.from(text), range, warn))).toEqual({
      value: number,
      warnings: ['number_is_text'],
    })
  })

  test.each([
    ['', 'int32'],
    ['0000000000000003', 'int32'],
    ['00000003', 'int64'],
    ['000003', 'int32'],
  ] as const)('refuses %j as %s', (digits, range) => {
    expect(collecting(warn => readBinary(hex(digits), range, warn))).toEqual({
      value: undefined,
      warnings: ['bad_number'],
    })
  })

  test('refuses digits beyond the range, names a null value', () => {
    expect(collecting(warn => readBinary(Buffer.from('2147483648'), 'int32', warn)).warnings).toEqual(['bad_number'])
    expect(collecting(warn => readBinary(null, 'int32', warn)).warnings).toEqual(['null_header'])
  })
})

test('reads the shortest form of a big integer from 1 to 8 bytes', () => {
  const read = (value: Buffer | null): unknown => collecting(warn => readMinimalBigInt(value, warn))
  expect(read(hex('018bcfe56800'))).toEqual({value: 1_700_000_000_000n, warnings: []})
  expect(read(hex('00'))).toEqual({value: 0n, warnings: []})
  expect(read(hex('ff'))).toEqual({value: -1n, warnings: []})
  expect(read(hex('0080'))).toEqual({value: 128n, warnings: []})
  expect(read(hex(''))).toEqual({value: undefined, warnings: ['bad_number']})
  expect(read(hex('000000000000000001'))).toEqual({value: undefined, warnings: ['bad_number']})
  expect(read(null)).toEqual({value: undefined, warnings: ['null_header']})
})

describe('text', () => {
  test.each([
    ['fffe', '\ufffd\ufffd'],
    ['eda080e282', '\ufffd\ufffd\ufffd\ufffd'],
    ['f09f92', '\ufffd'],
    ['e28261', '\ufffda'],
    ['c080', '\ufffd\ufffd'],
    ['efbbbf61', '\ufeffa'],
    ['efbbbfff', '\ufeff\ufffd'],
  ])('decodes %s with one replacement for each invalid part', (digits, text) => {
    expect(lenientUtf8(hex(digits))).toBe(text)
  })

  test('tells null, empty and non-empty apart', () => {
    expect(collecting(warn => readText(null, warn))).toEqual({value: undefined, warnings: ['null_header']})
    expect(collecting(warn => readText(Buffer.alloc(0), warn))).toEqual({value: '', warnings: []})
    expect(collecting(warn => readNullableText(null, warn))).toEqual({value: undefined, warnings: []})
    expect(collecting(warn => readNullableText(Buffer.alloc(0), warn))).toEqual({value: '', warnings: []})
  })

  test('names control characters other than tab and newline, invalid bytes and sizes above 64 KiB', () => {
    const warnings = (bytes: Buffer): Warning[] => collecting(warn => readText(bytes, warn)).warnings
    expect(warnings(Buffer.from('a\tb\nc\u202e'))).toEqual([])
    expect(warnings(Buffer.from('a\rb'))).toEqual(['control_chars'])
    expect(warnings(hex('00ff'))).toEqual(['invalid_utf8', 'control_chars'])
    expect(warnings(Buffer.alloc(65_536, 'a'))).toEqual([])
    expect(warnings(Buffer.alloc(65_537, 'a'))).toEqual(['large_header'])
  })

  test.each(['', '.', '..', '../orders v2', '\ufefforders', 'a'.repeat(250), 'orders\n'])(
    'marks the topic %j as illegal and keeps it',
    topic => {
      const {value, warnings} = collecting(warn => readTopic(Buffer.from(topic), warn))
      expect(value).toBe(topic)
      expect(warnings).toContain('illegal_topic')
    },
  )

  test('takes legal topics', () => {
    for (const topic of ['orders', 'a.b_c-D9', '...', 'a'.repeat(249)]) {
      expect(collecting(warn => readTopic(Buffer.from(topic), warn)).warnings).toEqual([])
    }
  })
})

test('names negative coordinates', () => {
  const warnings = (coordinates: {partition?: number; offset?: string}): Warning[] =>
    collecting(warn => warnNegative(coordinates, warn)).warnings
  expect(warnings({partition: 0, offset: '0'})).toEqual([])
  expect(warnings({partition: -1, offset: '-1'})).toEqual(['negative_partition', 'negative_offset'])
})

describe('header names', () => {
  test('compares prefixes byte for byte', () => {
    const prefix = headerName('__connect.errors.')
    expect(hasPrefix(Buffer.from('__connect.errors.topic'), prefix)).toBe(true)
    expect(hasPrefix(Buffer.from('__connect.errors.'), prefix)).toBe(true)
    expect(hasPrefix(Buffer.from('__connect.error'), prefix)).toBe(false)
    expect(hasPrefix(Buffer.from('__CONNECT.errors.topic'), prefix)).toBe(false)
    expect(hasPrefix(Buffer.from(' __connect.errors.topic'), prefix)).toBe(false)
  })

  test('keeps names apart that differ only in invalid bytes, and every occurrence in order', () => {
    const table = new HeaderTable([
      header(hex('ff'), '1'),
      header(hex('fe'), '2'),
      header('', null),
      header(hex('ff'), '3'),
    ])
    expect([...table.names()]).toEqual(['\xff', '\xfe', ''])
    expect(table.count('\xff')).toBe(2)
    expect(table.first('\xff')).toEqual({value: Buffer.from('1'), index: 0})
    expect(table.last('\xff')).toEqual({value: Buffer.from('3'), index: 3})
    expect(table.has('')).toBe(true)
    expect(table.has('toString')).toBe(false)
    expect(table.lastIndexOfPrefix('\xff')).toBe(3)
    expect(table.lastIndexOfPrefix('x')).toBe(-1)
    expect(table.isEmpty).toBe(false)
    expect(new HeaderTable([]).isEmpty).toBe(true)
  })
})
