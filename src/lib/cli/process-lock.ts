import {readFileSync} from 'node:fs'
import {hostname} from 'node:os'
import type {LockDeps} from '../replay/ledger/file-lock.ts'
import {errorCode} from './guards.ts'

/** Who locks ledger files: this process; and how others are recognised. */
export function processLock(): LockDeps {
  return {
    self: {pid: process.pid, host: hostname(), stamp: stampOf(process.pid)},
    isRunning: ({pid, stamp}) => exists(pid) && (stamp === null || stampOf(pid) === stamp),
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
}

/** Start of a process in clock ticks since boot, field 22 of Linux's proc_pid_stat(5); null elsewhere. */
function stampOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the name in brackets, which may hold anything.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}
