import {execFileSync} from 'node:child_process'
import {readFileSync} from 'node:fs'

/**
 * Identity of a running process beyond its id, which the system hands out again.
 * @returns its start time in the system's own form; null when no such process runs (a zombie does not run)
 */
export function startStamp(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold blanks and parentheses; state is field 3, the start time field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null)
  } catch {
    return process.platform === 'linux' ? null : stampByPs(pid)
  }
}

function stampByPs(pid: number): string | null {
  try {
    const line = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {encoding: 'utf8'}).trim()
    return line === '' ? null : line
  } catch {
    return null
  }
}

/** True while the very process that had this stamp runs. */
export function isSameProcess(pid: number, stamp: string): boolean {
  return startStamp(pid) === stamp
}
