import {describe, expect, test} from 'vitest'
import {UsageError} from '../../../src/lib/errors.ts'
import {createGlob} from '../../../src/lib/select/glob.ts'
import {formatSource, isArchiveSource, parseSource} from '../../../src/lib/select/source.ts'
import {nearest} from '../../../src/lib/suggest.ts'
import {assertLinear} from '../../support/linear.ts'

const existing = new Set(['dump.ndjson', 'dump.ndjson.gz', 'dump.ndjson.zst', 'orders-dlq'])
const parse = (text: string) => parseSource(text, {exists: path => existing.has(path)})

describe('sources', () => {
  test.each([
    ['orders-dlq', {kind: 'topic', topic: 'orders-dlq'}],
    ['*-dlq', {kind: 'pattern', pattern: '*-dlq'}],
    ['orders-dl?', {kind: 'pattern', pattern: 'orders-dl?'}],
    ['orders-dlq:0:42', {kind: 'address', address: {topic: 'orders-dlq', partition: 0, offset: 42n}}],
    ['./orders-dlq', {kind: 'archive', path: './orders-dlq'}],
    ['out/', {kind: 'archive', path: 'out/'}],
    ['dump.ndjson', {kind: 'archive', path: 'dump.ndjson'}],
    ['dump.ndjson.gz', {kind: 'archive', path: 'dump.ndjson.gz'}],
    ['dump.ndjson.zst', {kind: 'archive', path: 'dump.ndjson.zst'}],
    ['other.ndjson', {kind: 'topic', topic: 'other.ndjson'}],
    ['example:orders-dlq', {kind: 'example', name: 'orders-dlq'}],
    ['example:', {kind: 'example', name: ''}],
    ['-', {kind: 'stdin'}],
  ])('%s', (text, source) => {
    expect(parse(text)).toEqual(source)
    expect(formatSource(parse(text))).toBe(text)
  })

  test('knows which need no cluster', () => {
    expect(['-', 'a/b', 'example:x', 'a', '*', 'a:0:1'].map(text => isArchiveSource(parse(text)))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ])
  })

  test.each(['', 'orders dlq', 'orders-dlq:0', 'orders-dlq:x:1', 'a,b', '..', 'é', 'a'.repeat(250), '\u001b[31m'])(
    'refuses %j',
    text => {
      expect(() => parse(text)).toThrow(UsageError)
    },
  )
})

describe('patterns', () => {
  test.each([
    ['*-dlq', 'orders-dlq', true],
    ['*-dlq', '-dlq', true],
    ['*-dlq', 'orders-dlq-2', false],
    ['orders-dl?', 'orders-dlq', true],
    ['orders-dl?', 'orders-dl', false],
    ['*', '', true],
    ['a*b*c', 'abbc', true],
    ['a*b*c', 'acb', false],
    ['a*a', 'a', false],
    ['*ab*ab*', 'xxabab', true],
    ['*ab*ab*', 'xxab', false],
    ['?*?', 'x', false],
    ['a.c', 'abc', false],
    ['a+', 'aa', false],
  ])('%s against %j is %s', (pattern, text, expected) => {
    expect(createGlob(pattern).matches(text)).toBe(expected)
  })

  test('many stars do not multiply the work', async () => {
    const glob = createGlob(`${'*a'.repeat(100)}b`)
    await assertLinear(20_000, length => expect(glob.matches('a'.repeat(length))).toBe(false))
  })
})

describe('suggestions', () => {
  test('names the nearest word, and none for what is far', () => {
    expect(nearest('VALUE_CONVERTR', ['KEY_CONVERTER', 'VALUE_CONVERTER'])).toBe('VALUE_CONVERTER')
    expect(nearest('value_converter', ['VALUE_CONVERTER'])).toBe('VALUE_CONVERTER')
    expect(nearest('banana', ['VALUE_CONVERTER'])).toBeNull()
    expect(nearest('x'.repeat(100_000), ['x'])).toBeNull()
  })
})
