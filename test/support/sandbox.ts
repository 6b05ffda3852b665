import {spawn} from 'node:child_process'
import {randomBytes} from 'node:crypto'
import {readdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {setTimeout as sleep} from 'node:timers/promises'
import {inject} from 'vitest'
import type {ArchiveBytes, ArchiveRecord, SourceRecord} from '../../sandbox/archive-record.ts'

/** State of a connection in /proc/net/tcp. */
const ESTABLISHED = '01'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface KdlqResult {
  readonly stdout: string
  readonly stderr: string
}

/**
 * Run the sources of kdlq as a process of its own, without a terminal, without this machine's configuration and state.
 * @throws Error with its output when it exits with another code
 */
export async function kdlq(
  bootstrapServers: string,
  exitCode: number,
  ...args: readonly string[]
): Promise<KdlqResult> {
  const {promise, resolve, reject} = Promise.withResolvers<KdlqResult>()
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('KDLQ_') && name !== 'FORCE_COLOR')
  const child = spawn(`${root}/node_modules/.bin/node`, [`${root}/bin/dev.js`, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: root,
    env: {
      ...Object.fromEntries(kept),
      KDLQ_BOOTSTRAP_SERVER: bootstrapServers,
      XDG_CONFIG_HOME: `${root}/test/support/no-config`,
      XDG_STATE_HOME: join(inject('kafkaDir'), 'state'),
      NODE_ENV: 'production',
    },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.once('error', reject)
  child.once('close', code => {
    if (code === exitCode) resolve({stdout, stderr})
    else reject(new Error(`kdlq ${args.join(' ')} exited with ${code}, not ${exitCode}\n${stderr}\n${stdout}`))
  })
  return promise
}

/** A name no other test has. */
export function unique(name: string): string {
  return `${name}-${randomBytes(4).toString('hex')}`
}

/**
 * Ask until there is an answer.
 * @param look null = not yet
 * @throws Error with `what` after the deadline
 */
export async function eventually<T>(what: string, look: () => Promise<T | null>, timeoutMs = 60_000): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const found = await look()
    if (found !== null) return found
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(100)
  }
}

/** On a busy machine a stop takes a while to reach every thread. */
export async function isStopped(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`)
  const states = await Promise.all(
    threads.map(async thread => {
      const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')
      return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)
    }),
  )
  return states.every(state => state === 'T')
}

/** Bytes that came to this port of 127.0.0.1 and that nobody has read, over all connections. */
export async function unreadBytes(port: number): Promise<number> {
  const [, ...connections] = (await readFile('/proc/net/tcp', 'utf8')).trim().split('\n')
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return connections
    .map(line => line.trim().split(/\s+/))
    .filter(([, address, , state]) => address?.endsWith(local) === true && state === ESTABLISHED)
    .reduce((sum, [, , , , queues]) => sum + Number.parseInt(queues?.split(':')[1] ?? '0', 16), 0)
}

/** What has to survive a replay, in a form that two records can be compared by. */
export interface Essence {
  readonly partition: number
  readonly timestamp: string | null
  readonly key: string | null
  readonly value: string | null
  readonly headers: readonly (readonly [string, string | null])[]
}

/** Bytes in hex, so that a difference can be read. */
export function essence(record: ArchiveRecord | SourceRecord): Essence {
  return {
    partition: record.partition ?? -1,
    timestamp: record.timestamp ?? null,
    key: hex(record.key),
    value: hex(record.value),
    headers: (record.headers ?? []).map(([name, value]) => [name, hex(value)] as const),
  }
}

/** Bytes of an archive line; null stays null. */
export function bytesOf(bytes: ArchiveBytes | null): Buffer | null {
  if (bytes === null) return null
  return typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes.base64, 'base64')
}

function hex(bytes: ArchiveBytes | null): string | null {
  return bytesOf(bytes)?.toString('hex') ?? null
}

/** By partition and offset. */
export function inOrder(records: readonly ArchiveRecord[]): ArchiveRecord[] {
  return records.toSorted((a, b) => a.partition - b.partition || Number(BigInt(a.offset) - BigInt(b.offset)))
}
