import {mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {cacheDir} from './paths.ts'
import {isSameProcess, startStamp} from './process-identity.ts'

/** Folder of the one sandbox of a checkout: data, logs, sink output and its state file. */
export const sandboxRunDir = join(cacheDir, 'sandbox')

const stateFile = join(sandboxRunDir, 'state.json')

export interface RunningProcess {
  readonly name: string
  readonly pid: number
  /** Start time as the system writes it; a process with another one is not ours. */
  readonly stamp: string
}

export interface SandboxState {
  readonly version: string
  readonly bootstrapServers: string
  readonly connectUrl: string
  /** In the order of ending. */
  readonly processes: readonly RunningProcess[]
}

/** The running sandbox; null when there is none (or one of its processes has ended). */
export async function readState(): Promise<SandboxState | null> {
  const state = await readStateFile()
  return state !== null && state.processes.every(each => isSameProcess(each.pid, each.stamp)) ? state : null
}

async function readStateFile(): Promise<SandboxState | null> {
  const text = await readFile(stateFile, 'utf8').catch(() => null)
  return text === null ? null : (JSON.parse(text) as SandboxState)
}

/** Keep the state of a sandbox that runs. */
export async function writeState(state: SandboxState): Promise<void> {
  await mkdir(sandboxRunDir, {recursive: true})
  await writeFile(`${stateFile}.new`, `${JSON.stringify(state, null, 2)}\n`)
  await rename(`${stateFile}.new`, stateFile)
}

/** A process as the state file keeps it. */
export function running(name: string, pid: number): RunningProcess {
  return {name, pid, stamp: startStamp(pid) ?? ''}
}

/** End the sandbox's processes, also the rest of one that is half gone, and remove its folder. @returns how many ended */
export async function stopSandbox(): Promise<number> {
  const state = await readStateFile()
  let ended = 0
  for (const each of state?.processes ?? []) {
    if (!isSameProcess(each.pid, each.stamp)) continue
    await end(each)
    ended += 1
  }
  await rm(sandboxRunDir, {recursive: true, force: true})
  return ended
}

async function end({pid, stamp}: RunningProcess): Promise<void> {
  process.kill(pid, 'SIGTERM')
  const deadline = Date.now() + 15_000
  while (isSameProcess(pid, stamp)) {
    if (Date.now() > deadline) process.kill(pid, 'SIGKILL')
    await sleep(50)
  }
}
