import {expect, test} from 'vitest'
import {compileJavaPattern} from '../../../src/lib/connect-engine/java-pattern/compile.ts'

/** Messages as `Pattern.compile` of a JDK gives them, line feeds written out. */
const REFUSED: readonly (readonly [pattern: string, message: string])[] = [
  ['[', 'Unclosed character class near index 0\\n[\\n^'],
  ['[a&&b', 'Unclosed character class near index 4\\n[a&&b\\n    ^'],
  ['(', 'Unclosed group near index 1\\n('],
  ['a)', "Unmatched closing ')' near index 0\\na)\\n^"],
  [')', "Unmatched closing ')'\\n)"],
  ['*', "Dangling meta character '*' near index 0\\n*\\n^"],
  ['a**', "Dangling meta character '*' near index 2\\na**\\n  ^"],
  ['a|+', "Dangling meta character '+' near index 2\\na|+\\n  ^"],
  ['(?i)*', "Dangling meta character '*' near index 4\\n(?i)*\\n    ^"],
  ['a{', 'Illegal repetition near index 2\\na{'],
  ['{', 'Illegal repetition near index 1\\n{'],
  ['a{1', 'Unclosed counted closure near index 3\\na{1'],
  ['a{2,1}', 'Illegal repetition range near index 5\\na{2,1}\\n     ^'],
  ['x{99999999999}', 'Illegal repetition range near index 11\\nx{99999999999}\\n           ^'],
  ['[z-a]', 'Illegal character range near index 3\\n[z-a]\\n   ^'],
  ['[a-\\d]', 'Illegal character range near index 4\\n[a-\\d]\\n    ^'],
  ['(?z)', 'Unknown inline modifier near index 2\\n(?z)\\n  ^'],
  ['(?P<a>x)', 'Unknown inline modifier near index 2\\n(?P<a>x)\\n  ^'],
  ['(?<1>x)', 'capturing group name does not start with a Latin letter near index 3\\n(?<1>x)\\n   ^'],
  ['(?<a', "named capturing group is missing trailing '>' near index 4\\n(?<a"],
  ['(?<a>x)(?<a>y)', 'Named capturing group <a> is already defined near index 11\\n(?<a>x)(?<a>y)\\n           ^'],
  ['\\k<a>', 'named capturing group <a> does not exist near index 4\\n\\k<a>\\n    ^'],
  ['\\y', 'Illegal/unsupported escape sequence near index 1\\n\\y\\n ^'],
  ['\\p{Foo}', 'Unknown character property name {Foo} near index 6\\n\\p{Foo}\\n      ^'],
  ['\\pX', 'Unknown character property name {X} near index 2\\n\\pX\\n  ^'],
  ['\\p{', 'Unclosed character family near index 3\\n\\p{'],
  ['\\x{110000}', 'Hexadecimal codepoint is too big near index 8\\n\\x{110000}\\n        ^'],
  ['\\u12', 'Illegal Unicode escape sequence near index 4\\n\\u12'],
  ['\\08', 'Illegal octal escape sequence near index 2\\n\\08\\n  ^'],
  ['\t(', 'Unclosed group near index 2\\n\t('],
]

test.each(REFUSED)('%j is refused in the words of Java', (pattern, message) => {
  expect(() => compileJavaPattern(pattern)).toThrow(
    expect.objectContaining({
      className: 'java.util.regex.PatternSyntaxException',
      message: message.replaceAll('\\n', '\n').replace('\\\n', '\\n'),
    }),
  )
})

test.each<[pattern: string, matching: readonly string[], other: readonly string[]]>([
  ['r.', ['ru'], ['r', 'ruh', 'r\n']],
  ['^a$', ['a'], ['ab']],
  ['a|b', ['a', 'b'], ['ab']],
  ['(?i)DLQ-.*', ['dlq-a', 'DlQ-'], ['xdlq-a']],
  ['a(?i)b', ['ab', 'aB'], ['Ab']],
  ['(?i:a)b', ['Ab'], ['aB']],
  ['(?i)[a-c]', ['B'], ['D', '\u212a']],
  ['\\Qa.b\\E', ['a.b'], ['axb']],
  ['a{2,3}', ['aa', 'aaa'], ['a', 'aaaa']],
  ['a*+a', [], ['aa', 'a']],
  ['(?>a|ab)c', ['ac'], ['abc']],
  ['[a-z&&[^bc]]+', ['ad'], ['ab']],
  ['[^a&&[ab]]', ['b', 'c'], ['a']],
  ['[]a]+', [']a'], ['b']],
  ['\\d\\w\\s', ['1_ '], ['\u0661_ ', '1-x']],
  ['\\p{Alpha}\\p{L}', ['a\u00e4'], ['\u00e4a']],
  ['\\p{IsLatin}\\P{Lu}', ['aa'], ['aA']],
  ['(a)(?<n>b)\\1\\k<n>', ['abab'], ['abba']],
  ['\\x41\\u0042\\0103', ['ABC'], ['abc']],
  ['(?=.*x)[a-z]+', ['axb'], ['ab']],
  ['(?x) a b # c', ['ab'], ['a b']],
  ['orders\\.(eu|us)', ['orders.eu'], ['orders-eu', 'orders.eu.x']],
])('%j matches whole texts as in Java', (pattern, matching, other) => {
  const compiled = compileJavaPattern(pattern)
  expect(matching.filter(text => compiled.match(text) === null)).toEqual([])
  expect(other.filter(text => compiled.match(text) !== null)).toEqual([])
})

test('groups are found by number, also beside atomic ones', () => {
  const compiled = compileJavaPattern('(?<first>a++)-(b)?')
  expect(compiled.match('aa-b')).toEqual(['aa-b', 'aa', 'b'])
  expect(compiled.match('aa-')).toEqual(['aa-', 'aa', undefined])
  expect(compiled.groupNames.get('first')).toBe(1)
})
