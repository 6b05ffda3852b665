import {randomBytes} from 'node:crypto'
import {link, mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {dirname} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {isSameProcess, startStamp} from './process-identity.ts'

interface Owner {
  readonly pid: number
  readonly stamp: string
}

/**
 * Run `work` while no other process of this machine holds the lock file. A lock whose owner died is taken over.
 * @throws Error when the lock is still held after `timeoutMs`
 */
export async function withLock<T>(path: string, work: () => Promise<T>, timeoutMs = 600_000): Promise<T> {
  await mkdir(dirname(path), {recursive: true})
  const mine = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(mine, JSON.stringify({pid: process.pid, stamp: startStamp(process.pid) ?? ''} satisfies Owner))
  const deadline = Date.now() + timeoutMs
  try {
    // A link appears with its content or not at all, unlike a file that is created first and written after.
    while (!(await tryLink(mine, path))) {
      if (!(await removeStale(path))) {
        if (Date.now() > deadline) throw new Error(`another process holds ${path}`)
        await sleep(100)
      }
    }
    try {
      return await work()
    } finally {
      await rm(path, {force: true})
    }
  } finally {
    await rm(mine, {force: true})
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

async function removeStale(path: string): Promise<boolean> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch {
    return true
  }
  const owner = JSON.parse(text) as Owner
  if (isSameProcess(owner.pid, owner.stamp)) return false
  // Moved away before it is removed: of several who saw the dead owner only one succeeds with the rename.
  const aside = `${path}.${randomBytes(6).toString('hex')}.stale`
  try {
    await rename(path, aside)
  } catch {
    return true
  }
  if ((await readFile(aside, 'utf8')) !== text) {
    // Someone else took the lock over in between: give it back unless it has been taken again.
    await link(aside, path).catch(() => undefined)
  }
  await rm(aside, {force: true})
  return true
}
