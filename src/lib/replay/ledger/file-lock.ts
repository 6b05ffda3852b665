import {hash, randomUUID} from 'node:crypto'
import {link, open, readFile, rename, rm} from 'node:fs/promises'
import {IoError, RefusedError} from '../../errors.ts'

/** Who holds a lock. */
export interface LockOwner {
  readonly pid: number
  readonly host: string
  /** Tells a process from a later one with the same pid; null where it cannot be told. */
  readonly stamp: string | null
}

/** What locking needs to know about processes; nothing below the command line asks the system itself. */
export interface LockDeps {
  readonly self: LockOwner
  /** True when that process still runs on this host; only asked about owners of this host. */
  isRunning(owner: LockOwner): boolean
}

/** A lock that is held; releasing twice is fine. */
export interface FileLock extends AsyncDisposable {
  release(): Promise<void>
}

const MAX_TRIES = 5

/**
 * Take `PATH.lock`, so that one process at a time writes a file. A lock that its process left behind (killed) is taken over.
 * @throws RefusedError `E_LEDGER_LOCKED` when a running process, or one on another host, has it; IoError
 */
export async function lockFile(path: string, deps: LockDeps): Promise<FileLock> {
  const lockPath = `${path}.lock`
  const mine = JSON.stringify({...deps.self, nonce: randomUUID()})
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (await create(lockPath, mine)) return lockOf(lockPath, mine)
    const text = await readText(lockPath)
    if (text === null) continue
    const owner = parseOwner(text)
    const isStale = owner === null ? text === '' : owner.host === deps.self.host && !deps.isRunning(owner)
    if (!isStale) throw locked(path, lockPath, owner)
    if (await takeStale(lockPath, text, mine)) return lockOf(lockPath, mine)
  }
  throw locked(path, lockPath, null)
}

function lockOf(lockPath: string, mine: string): FileLock {
  let held = true
  const release = async (): Promise<void> => {
    if (!held) return
    held = false
    // Somebody may have taken a lock away that it thought stale; only our own is removed.
    if ((await readText(lockPath)) === mine) await rm(lockPath, {force: true})
  }
  return {release, [Symbol.asyncDispose]: release}
}

/** False when it is there already. The file appears with its content, never empty: it is linked, not written. */
async function create(lockPath: string, text: string): Promise<boolean> {
  const temporary = `${lockPath}.${randomUUID()}`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
    } finally {
      await file.close()
    }
    await link(temporary, lockPath)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    if (!NO_LINKS.has(codeOf(error))) throw cannotLock(lockPath, error)
    return createDirectly(lockPath, text)
  } finally {
    await rm(temporary, {force: true})
  }
}

/** What a file system without hard links answers. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

async function createDirectly(lockPath: string, text: string): Promise<boolean> {
  try {
    const file = await open(lockPath, 'wx', 0o600)
    try {
      await file.writeFile(text)
    } finally {
      await file.close()
    }
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw cannotLock(lockPath, error)
  }
}

/**
 * Replace a stale lock. Of several that found it only one may, so that nobody replaces the winner's: who has the right makes
 * a file named after this very lock, and looks again while it has it.
 * @returns false when somebody else was faster
 */
async function takeStale(lockPath: string, stale: string, mine: string): Promise<boolean> {
  const right = `${lockPath}.${hash('sha256', stale, 'hex').slice(0, 16)}`
  if (!(await create(right, mine))) return false
  try {
    if ((await readText(lockPath)) !== stale) return false
    await rename(right, lockPath)
    return true
  } finally {
    await rm(right, {force: true})
  }
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw cannotLock(path, error)
  }
}

function parseOwner(text: string): LockOwner | null {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof json !== 'object' || json === null || !('pid' in json) || !('host' in json)) return null
  const {pid, host} = json
  const stamp = 'stamp' in json && typeof json.stamp === 'string' ? json.stamp : null
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1 || typeof host !== 'string') return null
  return {pid, host, stamp}
}

function locked(path: string, lockPath: string, owner: LockOwner | null): RefusedError {
  const who = owner === null ? 'another process' : `process ${owner.pid} on ${owner.host}`
  return new RefusedError(`the ledger file ${path} is in use by ${who}`, {
    code: 'E_LEDGER_LOCKED',
    hints: ['wait until it ends', `when that process is gone for good: remove ${lockPath}`],
    context: {path, lock: lockPath, pid: owner?.pid ?? null, host: owner?.host ?? null},
  })
}

function cannotLock(path: string, cause: unknown): IoError {
  return new IoError(`the ledger file could not be locked (${codeOf(cause)})`, {
    code: 'E_LEDGER_WRITE',
    context: {path},
    cause,
  })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
