import {describe, expect, test} from 'vitest'
import {UsageError} from '../../../src/lib/errors.ts'
import {formatPosition, parsePosition, parseSince} from '../../../src/lib/select/position.ts'
import {parseRfc3339} from '../../../src/lib/select/time.ts'

const utc = {now: Date.parse('2026-03-09T12:00:00Z'), timeZone: 'UTC'}
const parse = (text: string): unknown => parsePosition(text, '--from', utc)

describe('positions', () => {
  test.each([
    ['start', {kind: 'start'}],
    ['end', {kind: 'end'}],
    ['end-10', {kind: 'before-end', offsets: 10n}],
    ['0', {kind: 'offset', offset: 0n}],
    ['9007199254740993', {kind: 'offset', offset: 9_007_199_254_740_993n}],
    ['@1764500000123', {kind: 'time', ms: 1_764_500_000_123n, assumedZone: null}],
    ['@-2h', {kind: 'time', ms: BigInt(Date.parse('2026-03-09T10:00:00Z')), assumedZone: null}],
    ['@2026-03-09T14:00:00Z', {kind: 'time', ms: 1_773_064_800_000n, assumedZone: null}],
    ['@2026-03-09T14:00:00-03:00', {kind: 'time', ms: 1_773_075_600_000n, assumedZone: null}],
    ['group:orders-sink', {kind: 'group', group: 'orders-sink'}],
    ['group:a:b', {kind: 'group', group: 'a:b'}],
    ['baseline:./friday.json', {kind: 'baseline', file: './friday.json'}],
  ])('reads %s', (text, position) => {
    expect(parse(text)).toEqual(position)
  })

  test.each([
    '',
    '@',
    '-1',
    'end-',
    'end+1',
    'end-x',
    '1e3',
    '0x10',
    'group:',
    'baseline:',
    '@yesterday',
    '@-2',
    '@-',
    '9223372036854775808',
  ])('refuses %j and names the flag', text => {
    expect(() => parse(text)).toThrow(UsageError)
    expect(() => parse(text)).toThrow(/--from/)
  })

  test('a time without @ gets a hint', () => {
    expect(() => parse('2026-03-09')).toThrow(expect.objectContaining({hints: ['a time begins with @: @2026-03-09']}))
  })

  test('nothing is older than the epoch', () => {
    expect(parse('@-100000d')).toEqual({kind: 'time', ms: 0n, assumedZone: null})
  })

  test('--since takes a duration or a time, with and without @', () => {
    const since = (text: string): unknown => parseSince(text, '--since', utc)
    expect(since('2h')).toEqual(parse('@-2h'))
    expect(since('2026-03-09T14:00:00Z')).toEqual(parse('@2026-03-09T14:00:00Z'))
    expect(since('@-2h')).toEqual(parse('@-2h'))
    expect(() => since('5')).toThrow(/--since/)
  })

  test('is written so that it means the same at any time', () => {
    expect(formatPosition(parsePosition('@-2h', '--from', utc))).toBe('@1773050400000')
    expect(formatPosition(parsePosition('@1969-12-31T23:59:59Z', '--from', utc))).toBe('@1969-12-31T23:59:59.000Z')
  })
})

describe('times', () => {
  test('[BR-49] a time without a zone is taken in the stated zone, and says so', () => {
    const context = {...utc, timeZone: 'America/Sao_Paulo'}
    const expected = {ms: BigInt(Date.parse('2026-03-09T17:00:00Z')), assumedZone: 'America/Sao_Paulo'}
    expect(parseSince('2026-03-09T14:00', '--since', context)).toEqual({kind: 'time', ...expected})
    expect(parsePosition('@2026-03-09T14:00', '--from', context)).toEqual({kind: 'time', ...expected})
  })

  test.each([
    ['2026-03-09', 'UTC', '2026-03-09T00:00:00.000Z'],
    ['2026-03-09 14:05', 'UTC', '2026-03-09T14:05:00.000Z'],
    ['2026-03-09T14:05:06.789123', 'UTC', '2026-03-09T14:05:06.789Z'],
    ['2026-07-01T12:00', 'Europe/Berlin', '2026-07-01T10:00:00.000Z'],
    ['2026-01-01T12:00', 'Asia/Kathmandu', '2026-01-01T06:15:00.000Z'],
    // Clocks go from 02:00 to 03:00 on 29 March, and from 03:00 back to 02:00 on 25 October.
    ['2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['2026-10-25T03:30', 'Europe/Berlin', '2026-10-25T02:30:00.000Z'],
    // A whole day that never was.
    ['2011-12-30T12:00', 'Pacific/Apia', '2011-12-30T22:00:00.000Z'],
  ])('%s in %s is %s', (text, timeZone, expected) => {
    const time = parseRfc3339(text, {timeZone})
    expect(new Date(Number(time?.ms)).toISOString()).toBe(expected)
    expect(time?.assumedZone).toBe(timeZone)
  })

  test.each([
    '2026-02-29',
    '2026-13-01',
    '2026-00-01',
    '2026-01-01T24:00',
    '2026-01-01T00:60',
    '2026-01-01T00:00:61',
    '2026-01-01T00:00:00+24:00',
    '2026-1-1',
    '2026-01-01T00',
    '2026-01-01Z',
    '26-01-01',
    '2026-01-01T00:00:00.',
  ])('%j is no time', text => {
    expect(parseRfc3339(text, utc)).toBeNull()
  })
})
