import {spawn} from 'node:child_process'
import type {ChildProcess} from 'node:child_process'
import {mkdtempSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {inject} from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** How a process ended. */
export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A kdlq that runs. */
export interface KdlqProcess {
  readonly pid: number
  readonly stderr: string
  readonly isRunning: boolean
  readonly ended: Promise<Ended>
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGINT'): void
}

/** A machine that kdlq never ran on: empty folders for configuration, state, data and cache. */
export function freshMachine(): Readonly<Record<string, string>> {
  const home = mkdtempSync(join(inject('kafkaDir'), 'home-'))
  const folders = ['CONFIG', 'STATE', 'DATA', 'CACHE'].map(
    name => [`XDG_${name}_HOME`, join(home, name.toLowerCase())] as const,
  )
  return {HOME: home, ...Object.fromEntries(folders)}
}

/**
 * Start the sources of kdlq as a process, without a terminal, on `machine`; compiled code is kept for the next one, as
 * tests start dozens.
 */
export function startKdlq(
  bootstrapServers: string,
  args: readonly string[],
  machine: Readonly<Record<string, string>> = {
    XDG_CONFIG_HOME: join(root, 'test/support/no-config'),
    XDG_STATE_HOME: join(inject('kafkaDir'), 'state'),
  },
): KdlqProcess {
  const kept = Object.entries(process.env).filter(([name]) => !/^(KDLQ_|XDG_|FORCE_COLOR$)/.test(name))
  const child: ChildProcess = spawn(join(root, 'node_modules/.bin/node'), [join(root, 'bin/dev.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: root,
    env: {
      ...Object.fromEntries(kept),
      ...machine,
      KDLQ_BOOTSTRAP_SERVER: bootstrapServers,
      NODE_COMPILE_CACHE: join(inject('kafkaDir'), 'compile-cache'),
      NODE_ENV: 'production',
    },
  })
  const said = {stdout: '', stderr: ''}
  child.stdout?.setEncoding('utf8').on('data', (text: string) => void (said.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => void (said.stderr += text))
  const {promise, resolve, reject} = Promise.withResolvers<Ended>()
  child.once('error', reject)
  child.once('close', code => resolve({code, ...said}))
  return {
    pid: child.pid ?? 0,
    ended: promise,
    get stderr() {
      return said.stderr
    },
    get isRunning() {
      return child.exitCode === null && child.signalCode === null
    },
    signal: name => void child.kill(name),
  }
}

/**
 * Run kdlq to its end.
 * @throws Error with its output when it exits with another code
 */
export async function runKdlq(
  bootstrapServers: string,
  exitCode: number,
  args: readonly string[],
  machine?: Readonly<Record<string, string>>,
): Promise<Ended> {
  const ended = await startKdlq(bootstrapServers, args, machine).ended
  if (ended.code === exitCode) return ended
  throw new Error(`kdlq ${args.join(' ')} exited with ${ended.code}, not ${exitCode}\n${ended.stderr}\n${ended.stdout}`)
}

/** The id of the run that this output tells. @throws Error when it tells none */
export function runIdIn(text: string): string {
  const id = /r-[0-9A-HJKMNP-TV-Z]{26}/.exec(text)?.[0]
  if (id === undefined) throw new Error(`no run id in: ${text}`)
  return id
}
