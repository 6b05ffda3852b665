import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {UsageError} from '../../src/lib/errors.ts'
import {formatAddress} from '../../src/lib/kafka/record.ts'
import {parseAddress} from '../../src/lib/select/address.ts'
import {formatHeader, parseHeader} from '../../src/lib/select/filters/bytes.ts'
import {formatComparison, parseComparison} from '../../src/lib/select/filters/numbers.ts'
import {formatOrigin, parseOrigin} from '../../src/lib/select/filters/origin.ts'
import {createGlob} from '../../src/lib/select/glob.ts'
import {formatPartitions, hasPartition, parsePartitions} from '../../src/lib/select/partitions.ts'
import {formatPosition, parsePosition, parseSince, type Position} from '../../src/lib/select/position.ts'
import {formatSource, parseSource} from '../../src/lib/select/source.ts'
import {
  formatByteRate,
  formatDuration,
  formatRate,
  formatSize,
  parseByteRate,
  parseDuration,
  parseRate,
  parseSize,
} from '../../src/lib/select/values.ts'
import {runs} from '../support/runs.ts'

const uint63 = fc.bigInt({min: 0n, max: 9_223_372_036_854_775_807n})
const partition = fc.integer({min: 0, max: 2_147_483_647})
const topic = fc.stringMatching(/^[A-Za-z0-9._-]{1,60}$/).filter(name => name !== '.' && name !== '..')
const context = {now: 1_773_064_800_000, timeZone: 'America/Sao_Paulo'}

describe('what was written is read as the same', () => {
  test('durations, sizes and rates', () => {
    fc.assert(
      fc.property(fc.integer({min: 0, max: 1e12}), ms => {
        expect(parseDuration(formatDuration(ms), '--x')).toBe(ms)
        expect(parseSize(formatSize(ms), '--x')).toBe(ms)
      }),
    )
    fc.assert(
      fc.property(fc.integer({min: 1, max: 999_999_999}), fc.constantFrom('s', 'm', 'h'), (records, per) => {
        expect(parseRate(formatRate({records, per}), '--x')).toEqual({records, per})
        expect(parseByteRate(formatByteRate(records), '--x')).toBe(records)
      }),
    )
  })

  test('partition sets, which hold exactly what was given', () => {
    const parts = fc.array(fc.tuple(fc.integer({min: 0, max: 50}), fc.integer({min: 0, max: 10})), {minLength: 1})
    fc.assert(
      fc.property(parts, ranges => {
        const text = ranges.map(([first, more]) => (more === 0 ? `${first}` : `${first}-${first + more}`)).join(',')
        const set = parsePartitions(text)
        expect(parsePartitions(formatPartitions(set))).toEqual(set)
        for (let number = 0; number < 70; number++) {
          const isGiven = ranges.some(([first, more]) => first <= number && number <= first + more)
          expect(hasPartition(set, number)).toBe(isGiven)
        }
      }),
    )
  })

  test('addresses and sources', () => {
    fc.assert(
      fc.property(topic, partition, uint63, (name, number, offset) => {
        const address = {topic: name, partition: number, offset}
        expect(parseAddress(formatAddress(address))).toEqual(address)
        const source = {kind: 'address', address} as const
        expect(parseSource(formatSource(source), {exists: () => false})).toEqual(source)
      }),
    )
  })

  test('positions', () => {
    const text = fc.string({minLength: 1})
    const positions: fc.Arbitrary<Position> = fc.oneof(
      fc.constantFrom({kind: 'start'} as const, {kind: 'end'} as const),
      uint63.map(offsets => ({kind: 'before-end' as const, offsets})),
      uint63.map(offset => ({kind: 'offset' as const, offset})),
      fc
        .bigInt({min: -62_135_596_800_000n, max: 253_402_300_799_999n})
        .map(ms => ({kind: 'time' as const, ms, assumedZone: null})),
      text.map(group => ({kind: 'group' as const, group})),
      text.map(file => ({kind: 'baseline' as const, file})),
    )
    fc.assert(
      fc.property(positions, position => {
        expect(parsePosition(formatPosition(position), '--from', context)).toEqual(position)
      }),
    )
  })

  test('origins, headers and comparisons', () => {
    const offsets = fc.tuple(uint63, uint63).map(([a, b]) => (a < b ? {from: a, to: b} : {from: b, to: a}))
    const origin = fc.oneof(
      topic.map(name => ({topic: name, partition: null, offsets: null})),
      fc.tuple(topic, partition).map(([name, number]) => ({topic: name, partition: number, offsets: null})),
      fc
        .tuple(topic, partition, offsets)
        .map(([name, number, range]) => ({topic: name, partition: number, offsets: range})),
    )
    fc.assert(
      fc.property(origin, one => {
        expect(parseOrigin(formatOrigin(one), '--origin')).toEqual(one)
      }),
    )
    const name = fc.string({minLength: 1}).filter(text => !text.includes('='))
    fc.assert(
      fc.property(name, fc.option(fc.string()), (header, value) => {
        expect(parseHeader(formatHeader({name: header, value}), '--header')).toEqual({name: header, value})
      }),
    )
    fc.assert(
      fc.property(fc.constantFrom('>=', '<=', '!=', '>', '<', '='), partition, (operator, number) => {
        expect(parseComparison(formatComparison({operator, number}), '--attempts')).toEqual({operator, number})
      }),
    )
  })
})

test('any text is either read or wrong use', () => {
  const parsers: readonly ((text: string) => unknown)[] = [
    text => parseDuration(text, '--x', {bareMs: true, minusOne: true}),
    text => parseSize(text, '--x'),
    text => parseRate(text, '--x'),
    text => parseByteRate(text, '--x'),
    text => parsePartitions(text),
    text => parseAddress(text),
    text => parsePosition(text, '--from', context),
    text => parseSince(text, '--since', context),
    text => parseSource(text, {exists: () => true}),
    text => parseOrigin(text, '--origin'),
    text => parseHeader(text, '--header'),
    text => parseComparison(text, '--attempts'),
  ]
  const near = fc.stringMatching(/^[@:=0-9a-zA-Z+. \-*,/><]{0,12}$/)
  fc.assert(
    fc.property(fc.oneof(fc.string({unit: 'binary'}), near), fc.constantFrom(...parsers), (text, parse) => {
      expect(outcome(() => parse(text))).toBe('fine')
    }),
    {numRuns: runs(2000)},
  )
})

test('a pattern takes what a slow and simple matcher takes', () => {
  const matches = (pattern: string, text: string): boolean => {
    if (pattern === '') return text === ''
    if (pattern.startsWith('*'))
      return matches(pattern.slice(1), text) || (text !== '' && matches(pattern, text.slice(1)))
    return (
      text !== '' && (pattern.startsWith('?') || pattern[0] === text[0]) && matches(pattern.slice(1), text.slice(1))
    )
  }
  fc.assert(
    fc.property(fc.stringMatching(/^[ab*?]{0,8}$/), fc.stringMatching(/^[ab]{0,10}$/), (pattern, text) => {
      expect(createGlob(pattern).matches(text)).toBe(matches(pattern, text))
    }),
    {numRuns: runs(2000)},
  )
})

/** `fine` for a value and for an error of exit code 2, else what was thrown. */
function outcome(run: () => unknown): unknown {
  try {
    run()
    return 'fine'
  } catch (error) {
    return error instanceof UsageError ? 'fine' : error
  }
}
