import {type ChildProcessWithoutNullStreams, spawn} from 'node:child_process'
import {join} from 'node:path'

export const root = join(import.meta.dirname, '../../..')
export const node = join(root, 'node_modules/.bin/node')
export const dev = join(root, 'bin/dev.js')
export const fixture = join(root, 'test/golden/fixtures/orders-dlq.ndjson')

/** The environment of a child: nothing of ours, no configuration of the machine. */
export function childEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', LANG: 'C.UTF-8', NODE_ENV: 'production', ...extra}
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<Ended>
  /** Resolves when stderr or stdout holds the text. */
  until(text: string): Promise<void>
}

/** Starts a command line; stdin stays open until the caller ends it. */
export function start(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const child = spawn(command, args, {cwd: root, env: childEnv(env)})
  const {promise, resolve} = Promise.withResolvers<Ended>()
  let stdout = ''
  let stderr = ''
  const waiting = new Set<() => void>()
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    for (const look of waiting) look()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
    for (const look of waiting) look()
  })
  // A child that ends early closes its stdin under us; its exit code is what counts.
  child.stdin.on('error', () => undefined)
  child.on('close', (code, signal) => resolve({code, signal, stdout, stderr}))
  return {
    child,
    ended: promise,
    until: async text => {
      const found = Promise.withResolvers<void>()
      const look = (): void => {
        if (stdout.includes(text) || stderr.includes(text)) found.resolve()
      }
      waiting.add(look)
      look()
      await Promise.race([found.promise, promise])
      waiting.delete(look)
    },
  }
}

/** Runs kdlq from its sources to its end, with this text on stdin. */
export async function kdlq(
  args: readonly string[],
  options: {readonly stdin?: string; readonly env?: Readonly<Record<string, string>>} = {},
): Promise<Ended> {
  const {child, ended} = start(node, [dev, ...args], options.env)
  child.stdin.end(options.stdin ?? '')
  return ended
}

/** Runs a line of bash in which `$KDLQ` is the program. */
export async function bash(line: string): Promise<Ended> {
  const {child, ended} = start('/bin/bash', ['-c', line], {KDLQ: `${node} ${dev}`})
  child.stdin.end()
  return ended
}
