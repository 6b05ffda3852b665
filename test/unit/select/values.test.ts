import {describe, expect, test} from 'vitest'
import {UsageError} from '../../../src/lib/errors.ts'
import {formatAddress} from '../../../src/lib/kafka/record.ts'
import {parseAddress, tryParseAddress} from '../../../src/lib/select/address.ts'
import {formatPartitions, hasPartition, parsePartitions} from '../../../src/lib/select/partitions.ts'
import {
  formatByteRate,
  formatDuration,
  formatRate,
  formatSize,
  parseByteRate,
  parseCount,
  parseDuration,
  parseRate,
  parseSize,
  ratePerSecond,
} from '../../../src/lib/select/values.ts'

describe('durations', () => {
  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['0s', 0],
    ['007s', 7000],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseDuration(text, '--timeout')).toBe(ms)
  })

  test.each([
    '',
    '5',
    '-5s',
    '5 s',
    '1.5h',
    '5S',
    '1h30m',
    '5s\n',
    's',
    '٣s',
    '0x5s',
    '9999999999999999s',
    '999999999999999d',
  ])('refuses %j and names the flag', text => {
    expect(() => parseDuration(text, '--timeout')).toThrow(UsageError)
    expect(() => parseDuration(text, '--timeout')).toThrow(/--timeout/)
  })

  test('a bare number is milliseconds only where Connect says so', () => {
    expect(parseDuration('300000', '--errors-retry-timeout', {bareMs: true})).toBe(300_000)
    expect(parseDuration('5m', '--errors-retry-timeout', {bareMs: true})).toBe(300_000)
    expect(() => parseDuration('300000', '--timeout')).toThrow('300000')
  })

  test('minus one means no end only where it is allowed', () => {
    expect(parseDuration('-1', '--errors-retry-timeout', {bareMs: true, minusOne: true})).toBe(-1)
    expect(() => parseDuration('-1', '--errors-retry-timeout', {bareMs: true})).toThrow(UsageError)
  })

  test('is written in the largest unit that is exact', () => {
    expect([0, 500, 90_000, 3_600_000, 86_400_000, -1].map(formatDuration)).toEqual([
      '0ms',
      '500ms',
      '90s',
      '1h',
      '1d',
      '-1',
    ])
  })
})

describe('sizes', () => {
  test.each([
    ['512KiB', 524_288],
    ['5MiB', 5_242_880],
    ['1MB', 1_000_000],
    ['1KB', 1000],
    ['1kB', 1000],
    ['2GiB', 2_147_483_648],
    ['17', 17],
    ['17B', 17],
    ['0', 0],
  ])('reads %s as %i bytes', (text, bytes) => {
    expect(parseSize(text, '--max')).toBe(bytes)
  })

  test.each(['', '-1', '5mb', '5Mib', '1.5MB', '5 MB', '99999999999GiB'])('refuses %j', text => {
    expect(() => parseSize(text, '--max')).toThrow(UsageError)
  })

  test('is written in a unit that keeps every byte', () => {
    expect([0, 1, 1000, 1024, 1025, 1_000_000, 1_048_576].map(formatSize)).toEqual([
      '0B',
      '1B',
      '1kB',
      '1KiB',
      '1025B',
      '1MB',
      '1MiB',
    ])
  })
})

describe('rates', () => {
  test('reads records in a unit of time', () => {
    expect(parseRate('500/s', '--rate')).toEqual({records: 500, per: 's'})
    expect(parseRate('30/m', '--rate')).toEqual({records: 30, per: 'm'})
    expect(parseRate('10/h', '--rate')).toEqual({records: 10, per: 'h'})
    expect(parseRate('none', '--rate')).toBeNull()
  })

  test('knows records a second', () => {
    expect(ratePerSecond(parseRate('30/m', '--rate'))).toBe(0.5)
    expect(ratePerSecond(null)).toBeNull()
    expect(formatRate({records: 30, per: 'm'})).toBe('30/m')
    expect(formatRate(null)).toBe('none')
  })

  test.each(['0/s', '500', '500/d', '/s', '500/', '5.5/s', '', 'None'])('refuses %j', text => {
    expect(() => parseRate(text, '--rate')).toThrow(UsageError)
  })

  test('a rate without a unit gets a hint', () => {
    expect(() => parseRate('500', '--rate')).toThrow(expect.objectContaining({hints: ['a unit is missing; 500/s?']}))
  })

  test('reads bytes a second with and without the unit', () => {
    expect(parseByteRate('5MiB/s', '--read-rate')).toBe(5_242_880)
    expect(parseByteRate('5MiB', '--read-rate')).toBe(5_242_880)
    expect(parseByteRate('none', '--read-rate')).toBeNull()
    expect(formatByteRate(5_242_880)).toBe('5MiB/s')
    expect(() => parseByteRate('0', '--read-rate')).toThrow(UsageError)
  })

  test('a count is a whole number in its range', () => {
    expect(parseCount('10', '--limit')).toBe(10)
    expect(() => parseCount('11', '--limit', 10)).toThrow(/from 0 to 10/)
    expect(() => parseCount('1e3', '--limit')).toThrow(UsageError)
    expect(() => parseCount('99999999999999999999', '--limit')).toThrow(UsageError)
  })
})

describe('partitions', () => {
  test('reads numbers and ranges, also from a repeated flag, in order and without repeats', () => {
    expect(parsePartitions('0,3-5')).toEqual([
      [0, 0],
      [3, 5],
    ])
    expect(parsePartitions(['5', '4,3', '0-1'])).toEqual([
      [0, 1],
      [3, 5],
    ])
    expect(formatPartitions(parsePartitions('5,4,3,0'))).toBe('0,3-5')
  })

  test('a wide range costs nothing', () => {
    const set = parsePartitions('0-100000')
    expect(set).toEqual([[0, 100_000]])
    expect([hasPartition(set, 0), hasPartition(set, 100_000), hasPartition(set, 100_001)]).toEqual([true, true, false])
  })

  test.each(['', ',', '0,', '-1', '5-3', '0-100001', 'a', '1-2-3', '0x1', ' 1', '99999999999999999999'])(
    'refuses %j',
    text => {
      expect(() => parsePartitions(text)).toThrow(UsageError)
    },
  )
})

describe('addresses', () => {
  test('reads what formatAddress writes, beyond 2^53', () => {
    const address = {topic: 'orders-dlq', partition: 3, offset: 9_007_199_254_740_993n}
    expect(parseAddress(formatAddress(address))).toEqual(address)
  })

  test.each([
    'orders-dlq',
    'orders-dlq:0',
    'orders-dlq:0:',
    'a:0:1:2',
    ':0:1',
    '..:0:1',
    'bad topic:0:1',
    'a:-1:0',
    'a:2147483648:0',
    'a:0:9223372036854775808',
    'a:0:1 ',
  ])('%j is none', text => {
    expect(tryParseAddress(text)).toBeNull()
    expect(() => parseAddress(text)).toThrow(UsageError)
  })
})
