import {mkdtemp, readdir, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {fixture} from './support/kdlq.ts'
import {openTerminal} from './support/terminal.ts'

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-terminal-'))
})

afterAll(async () => rm(folder, {recursive: true, force: true}))

describe('on a terminal', () => {
  test('a table fits the width, has colours and a next command', async () => {
    const terminal = openTerminal(['inspect', fixture], {columns: 80})
    expect(await terminal.exitCode).toBe(0)
    const screen = await terminal.screen()
    expect(Math.max(...screen.split('\n').map(line => line.length))).toBeLessThanOrEqual(80)
    expect(screen).toContain('orders-dlq:0:2')
    expect(screen).toContain('no room for TIME')
    expect(screen).toContain('next: kdlq show orders-dlq:0:0')
    expect(terminal.raw()).toContain('\u001b[36m')
  })

  test('a wider table tells the age of each record', async () => {
    const terminal = openTerminal(['inspect', fixture], {columns: 120})
    expect(await terminal.exitCode).toBe(0)
    const screen = await terminal.screen()
    expect(Math.max(...screen.split('\n').map(line => line.length))).toBeLessThanOrEqual(120)
    expect(screen).toMatch(/orders-dlq:0:2 +\d+ \w+ ago/)
  })

  test('NO_COLOR leaves no colour code', async () => {
    const terminal = openTerminal(['inspect', fixture], {env: {NO_COLOR: '1'}})
    await terminal.exitCode
    expect(terminal.raw()).not.toContain('\u001b[')
  })

  test('hostile text in a record cannot reach the terminal, not even as JSON', async () => {
    const terminal = openTerminal(['inspect', fixture, '--json', '--no-color'])
    expect(await terminal.exitCode).toBe(0)
    expect(terminal.raw()).not.toContain('\u001b[31m')
    expect(terminal.raw()).not.toContain('\u202e')
  })
})

describe('the question before a write', () => {
  const ask = (name: string) =>
    openTerminal([
      'replay',
      fixture,
      '--to-archive',
      join(folder, name),
      '--partition-fallback',
      'key',
      '--skip',
      'tombstone',
      '--skip',
      'no-origin',
    ])

  test('no is exit 6 and nothing is written', async () => {
    const terminal = ask('no')
    await terminal.until('(y/N)')
    terminal.write('n\r')
    expect(await terminal.exitCode).toBe(6)
    expect(await readdir(folder)).not.toContain('no')
  })

  test('Ctrl-D is a question without an answer: declined', async () => {
    const terminal = ask('ctrl-d')
    await terminal.until('(y/N)')
    terminal.write('\u0004')
    expect(await terminal.exitCode).toBe(6)
    expect(await terminal.screen()).not.toContain('unsettled')
  })

  test('Ctrl-C is exit 130', async () => {
    const terminal = ask('ctrl-c')
    await terminal.until('(y/N)')
    terminal.write('\u0003')
    expect(await terminal.exitCode).toBe(130)
  })
})
