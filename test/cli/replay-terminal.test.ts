import {existsSync} from 'node:fs'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {stripVTControlCharacters} from 'node:util'
import {spawn} from '@lydell/node-pty'
import {afterAll, beforeAll, expect, test} from 'vitest'

const root = process.cwd()
let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kdlq-terminal-'))
})

afterAll(async () => rm(dir, {recursive: true}))

/** Run a replay on a terminal; when its question stands there, type the answer. */
async function answer(folder: string, keys: string): Promise<{readonly code: number; readonly screen: string}> {
  const kept = Object.entries(process.env).filter(([name, value]) => !name.startsWith('KDLQ_') && value !== undefined)
  const args = [join(root, 'bin/dev.js'), 'replay', 'example:invoices-dlq', '--to-archive', folder]
  const terminal = spawn(join(root, 'node_modules/.bin/node'), args, {
    cols: 120,
    rows: 60,
    cwd: dir,
    env: {...Object.fromEntries(kept), XDG_CONFIG_HOME: dir, NODE_ENV: 'production'},
  })
  const {promise, resolve} = Promise.withResolvers<number>()
  let screen = ''
  let answered = false
  terminal.onData(text => {
    screen += text
    if (answered || !/Replay .* to .*\?/.test(stripVTControlCharacters(screen))) return
    answered = true
    terminal.write(keys)
  })
  terminal.onExit(({exitCode}) => resolve(exitCode))
  return {code: await promise, screen: stripVTControlCharacters(screen)}
}

test('shows the plan, asks with the number and the target, and a yes replays', async () => {
  const {code, screen} = await answer('yes', 'y\r')
  expect(screen).toContain('4 selected, 1 to replay, 3 left out')
  expect(screen).toContain('Replay 1 record to invoices on yes?')
  expect(screen).toMatch(/r-[0-9A-Z]{26}: 1 replayed, 3 skipped in/)
  expect(screen).toContain('next: kdlq inspect yes/ --tail 10')
  expect(code).toBe(0)
  expect(existsSync(join(dir, 'yes', 'invoices.ndjson'))).toBe(true)
})

test('enter alone is a no: exit 6, nothing written', async () => {
  const {code, screen} = await answer('no', '\r')
  expect(code).toBe(6)
  expect(screen).toContain('declined, nothing was written')
  expect(existsSync(join(dir, 'no'))).toBe(false)
})

test('Ctrl-C at the question: exit 130, nothing written', async () => {
  const {code} = await answer('interrupted', '\u0003')
  expect(code).toBe(130)
  expect(existsSync(join(dir, 'interrupted'))).toBe(false)
})
