import {describe, expect, test} from 'vitest'
import {findBlocks, matchesOutput} from '../../scripts/docs-check.ts'

describe('docs:check', () => {
  test('takes only shell blocks marked run, with their expected output and exit code', () => {
    const text = [
      '```sh',
      'not run',
      '```',
      '```sh run',
      'kdlq a',
      '```',
      '',
      '```text',
      'out',
      '```',
      '```sh run sandbox exit=6',
      'kdlq b',
      '```',
    ].join('\n')
    expect(findBlocks('x.md', text)).toEqual([
      {file: 'x.md', line: 4, script: 'kdlq a', sandbox: false, exitCode: 0, expected: 'out'},
      {file: 'x.md', line: 11, script: 'kdlq b', sandbox: true, exitCode: 6, expected: null},
    ])
  })

  test('compares to the letter except where the text leaves something open', () => {
    expect(matchesOutput('a\nb', 'a\nb\n')).toBe(true)
    expect(matchesOutput('a', 'a\nb\n')).toBe(false)
    expect(matchesOutput('a\n...\nz', 'a\n1\n2\nz\n')).toBe(true)
    expect(matchesOutput('run r-… ok', 'run r-01ABC ok\n')).toBe(true)
    expect(matchesOutput('run r-… ok', 'run r-01ABC failed\n')).toBe(false)
    expect(matchesOutput('a.c', 'abc\n')).toBe(false)
  })
})
