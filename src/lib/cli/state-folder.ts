import {join} from 'node:path'
import type {Environment} from './io.ts'

/** What this machine remembers of runs: `$XDG_STATE_HOME/kdlq` (XDG Base Directory Specification). */
export function stateFolder(env: Environment, home: string): string {
  const given = env['XDG_STATE_HOME']
  const state = given === undefined || given === '' ? join(home, '.local', 'state') : given
  return join(state, 'kdlq')
}
