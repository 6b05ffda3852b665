import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs'
import {readdir, readFile, rm} from 'node:fs/promises'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {lastLines} from './jars.ts'
import {cacheDir, SandboxError} from './paths.ts'
import {isSameProcess, startStamp} from './process-identity.ts'

const runDir = join(cacheDir, 'run')

/** What is known of a started process; kept in a file so that a later run can find it after a crash of this one. */
interface RunFile {
  readonly pid: number
  readonly stamp: string
  /** The process that has to be alive for this one to be wanted; null for a sandbox that outlives its starter. */
  readonly owner: {readonly pid: number; readonly stamp: string} | null
}

export interface JavaStart {
  /** For error messages: `broker 1`, `Connect worker`. */
  readonly name: string
  readonly classPath: string
  /** Main class and its arguments, as `Launcher` takes them. */
  readonly args: readonly string[]
  readonly jvm?: readonly string[]
  /** Output of the process is appended here. */
  readonly logFile: string
  /** True: goes on when this process ends. False: ends with it, even when it is killed. */
  readonly detached: boolean
}

export interface JavaProcess {
  readonly name: string
  readonly pid: number
  readonly logFile: string
  /** Resolves when the process has ended, with its exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>
  /** SIGTERM, then SIGKILL after `graceMs`; resolves when it has ended. */
  stop(graceMs?: number): Promise<void>
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>
  /** Stop answering without closing anything (SIGSTOP). */
  suspend(): void
  resume(): void
  /** For a detached one: from now on it is wanted although its starter ends. Before, the next run would end it then. */
  release(): void
}

/** Start a JVM that is cheap to start rather than fast in the long run. */
export function startJava(start: JavaStart): JavaProcess {
  const log = openSync(start.logFile, 'a')
  const child = spawn('java', javaArgs(start), {
    stdio: [start.detached ? 'ignore' : 'pipe', log, log],
    detached: start.detached,
  })
  closeSync(log)
  const {pid} = child
  const failed = new Promise<never>((_, reject) => {
    child.once('error', error => {
      const missing = 'code' in error && error.code === 'ENOENT'
      reject(missing ? new SandboxError('java is not installed; the sandbox needs Java 17 or newer') : error)
    })
  })
  const ended = once(child, 'exit').then(([code]) => (typeof code === 'number' ? code : null))
  const exited = Promise.race([ended, failed])
  // The caller learns of it from waitUntil; a stop() before that must not turn it into an unhandled rejection.
  exited.catch(() => undefined)
  if (start.detached) child.unref()
  if (pid === undefined) return neverStarted(start, exited)
  const runFile = remember(pid, {pid: process.pid, stamp: startStamp(process.pid) ?? ''})
  void exited.then(
    () => rmSync(runFile, {force: true}),
    () => undefined,
  )
  return {
    name: start.name,
    pid,
    logFile: start.logFile,
    exited,
    async stop(graceMs = 15_000) {
      // A stopped process handles no SIGTERM.
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
      await exited.finally(() => clearTimeout(timer))
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    suspend() {
      child.kill('SIGSTOP')
    },
    resume() {
      child.kill('SIGCONT')
    },
    release() {
      remember(pid, null)
    },
  }
}

/** A heap that a laptop has to spare, a quick start, and IPv4. */
export const SMALL_JVM: readonly string[] = [
  '-Xmx512m',
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-Xshare:auto',
  '-Djava.net.preferIPv4Stack=true',
]

function javaArgs(start: JavaStart): string[] {
  return [
    ...SMALL_JVM,
    ...(start.jvm ?? []),
    '-cp',
    start.classPath,
    'org.kdlq.sandbox.Launcher',
    ...(start.detached ? [] : ['--lifeline']),
    ...start.args,
  ]
}

function neverStarted(start: JavaStart, exited: Promise<number | null>): JavaProcess {
  const done = (): Promise<void> =>
    exited.then(
      () => undefined,
      () => undefined,
    )
  const nothing = (): void => undefined
  const signals = {suspend: nothing, resume: nothing, release: nothing}
  return {name: start.name, pid: 0, logFile: start.logFile, exited, stop: done, kill: done, ...signals}
}

/**
 * Wait until a condition holds while the process lives.
 * @throws SandboxError with the last lines of its log when it ends or the deadline passes first
 */
export async function waitUntil(java: JavaProcess, timeoutMs: number, isReady: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + timeoutMs
  const ended = java.exited.then(() => true)
  for (;;) {
    if (await isReady()) return
    if (await Promise.race([ended, sleep(100, false)])) {
      throw new SandboxError(`${java.name} ended while it was starting\n${logTail(java.logFile)}`)
    }
    if (Date.now() > deadline) {
      throw new SandboxError(`${java.name} was not ready after ${timeoutMs / 1000} s\n${logTail(java.logFile)}`)
    }
  }
}

/** The end of a log file, for an error message. */
function logTail(logFile: string, lines = 25): string {
  return existsSync(logFile) ? `${logFile}:\n${lastLines(readFileSync(logFile, 'utf8'), lines)}` : `${logFile} is empty`
}

function remember(pid: number, owner: RunFile['owner']): string {
  mkdirSync(runDir, {recursive: true})
  const file = join(runDir, `${pid}.json`)
  const temp = `${file}.new`
  writeFileSync(temp, JSON.stringify({pid, stamp: startStamp(pid) ?? '', owner} satisfies RunFile))
  renameSync(temp, file)
  return file
}

/**
 * End what crashed runs left behind. A process is ended only if it is the very one that was started here (by id and start
 * time) and the run that wanted it is gone.
 */
export async function endStaleProcesses(): Promise<void> {
  for (const name of await readdir(runDir).catch(() => [])) {
    if (!name.endsWith('.json')) continue
    const file = join(runDir, name)
    const text = await readFile(file, 'utf8').catch(() => null)
    if (text === null) continue
    const run = JSON.parse(text) as RunFile
    const alive = isSameProcess(run.pid, run.stamp)
    if (alive && (run.owner === null || isSameProcess(run.owner.pid, run.owner.stamp))) continue
    if (alive) process.kill(run.pid, 'SIGKILL')
    await rm(file, {force: true})
  }
}
