import {execFile} from 'node:child_process'
import {join} from 'node:path'
import type {Case, CaseResult} from '../golden/support/cases.ts'

const root = join(import.meta.dirname, '../..')

/**
 * Runs the whole program once for each command line, in one child process, without a terminal.
 * @param state folder for what the program remembers
 * @throws Error when the child process ends badly; a command that fails is a result
 */
export async function runLines(lines: readonly (readonly string[])[], state: string): Promise<readonly CaseResult[]> {
  const cases = lines.map((argv): Case => ({name: 'x', argv, columns: null, env: {XDG_STATE_HOME: state}}))
  const {promise, resolve, reject} = Promise.withResolvers<string>()
  const child = execFile(
    join(root, 'node_modules/.bin/node'),
    [join(root, 'test/golden/support/run-cases.ts')],
    {
      cwd: root,
      env: {PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_ENV: 'production', TZ: 'UTC'},
      maxBuffer: 64 * 1024 * 1024,
    },
    (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
  )
  child.stdin?.end(JSON.stringify(cases))
  return JSON.parse(await promise) as CaseResult[]
}
