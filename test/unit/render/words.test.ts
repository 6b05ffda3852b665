import {expect, test} from 'vitest'
import {csvRow} from '../../../src/lib/render/csv.ts'
import {markdownHeader, markdownRow} from '../../../src/lib/render/markdown.ts'
import {formatBytes, formatCount, formatShare, plural} from '../../../src/lib/render/numbers.ts'
import {formatAge, formatDuration, formatTimestamp} from '../../../src/lib/render/time.ts'

test('times are RFC 3339 in UTC, whatever their size', () => {
  expect(formatTimestamp('1764500000123')).toBe('2025-11-30T10:53:20.123Z')
  expect(formatTimestamp(-1n)).toBe('1969-12-31T23:59:59.999Z')
  expect(formatTimestamp('9223372036854775807')).toBe('9223372036854775807')
})

test('ages have one unit and a direction', () => {
  const now = 1_764_500_000_000
  const ages = [500, 5_000, 120_000, 7_200_000, 172_800_000].map(ms => formatAge(BigInt(now - ms), now))
  expect(ages).toEqual(['just now', '5 s ago', '2 min ago', '2 h ago', '2 d ago'])
  expect(formatAge(BigInt(now + 180_000), now)).toBe('in 3 min')
})

test('durations use one or two units', () => {
  expect([850, 12_300, 245_000, 12_000_000, 200_000_000].map(formatDuration)).toEqual([
    '850 ms',
    '12.3 s',
    '4 min 5 s',
    '3 h 20 min',
    '2 d 7 h',
  ])
})

test('counts, bytes, shares and plurals', () => {
  expect(formatCount(1_234_567)).toBe('1,234,567')
  expect([0, 1023, 1536, 3 * 1024 * 1024].map(formatBytes)).toEqual(['0 B', '1023 B', '1.5 KiB', '3 MiB'])
  expect(formatShare(0.256)).toBe('25.6 %')
  expect([plural(1, 'record'), plural(2000, 'record')]).toEqual(['1 record', '2,000 records'])
})

test('[CR-21] a comma in a value is quoted, not replaced', () => {
  expect(csvRow(['a,b', 'say "hi"', 'two\r\nlines'])).toBe('"a,b","say ""hi""","two\r\nlines"\r\n')
})

test('csv keeps null and the empty text apart', () => {
  expect(csvRow([null, '', 'x'])).toBe(',"",x\r\n')
})

test('markdown cells hold no markup', () => {
  expect(markdownHeader([{header: 'A'}, {header: 'N', align: 'right'}])).toBe('| A | N |\n| --- | ---: |\n')
  expect(markdownRow(['a|b', '<b>_x_</b>'])).toBe(String.raw`| a\|b | \<b\>\_x\_\</b\> |` + '\n')
})
