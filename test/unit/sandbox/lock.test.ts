import {mkdtemp, readdir, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, expect, test} from 'vitest'
import {withLock} from '../../../sandbox/lock.ts'
import {isSameProcess, startStamp} from '../../../sandbox/process-identity.ts'

let dir = ''
let lock = ''

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kdlq-lock-'))
  lock = join(dir, 'x.lock')
})

afterEach(() => rm(dir, {recursive: true}))

test('lets one in at a time and leaves nothing behind, also when the work fails', async () => {
  let inside = 0
  let most = 0
  const work = async (): Promise<void> => {
    inside += 1
    most = Math.max(most, inside)
    await readdir(dir)
    inside -= 1
    if (most > 0) throw new Error('work failed')
  }
  const results = await Promise.allSettled([1, 2, 3].map(() => withLock(lock, work)))
  expect(results.map(({status}) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(most).toBe(1)
  expect(await readdir(dir)).toEqual([])
})

test('takes over the lock of a process that has ended', async () => {
  await writeFile(lock, JSON.stringify({pid: process.pid, stamp: 'another time'}))
  expect(await withLock(lock, () => Promise.resolve('done'), 0)).toBe('done')
})

test('gives up after the deadline while the owner lives', async () => {
  await writeFile(lock, JSON.stringify({pid: process.pid, stamp: startStamp(process.pid)}))
  await expect(withLock(lock, () => Promise.resolve(), -1)).rejects.toThrow(/another process holds/)
})

test('knows a process by its start time, not by its number alone', () => {
  const stamp = startStamp(process.pid)
  expect(stamp).not.toBeNull()
  expect(isSameProcess(process.pid, stamp ?? '')).toBe(true)
  expect(isSameProcess(process.pid, '1')).toBe(false)
  expect(startStamp(2 ** 22 + 1)).toBeNull()
})
