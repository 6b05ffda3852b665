import {randomUUID} from 'node:crypto'
import {lstat, open, realpath, rename, rm, writeFile} from 'node:fs/promises'
import {IoError} from '../errors.ts'
import {errorCode} from './guards.ts'

/**
 * Write a file so that it is there whole, or the old one stays: a temporary file beside it, synced, then renamed. What a
 * symbolic link names is replaced, not the link; a device or a pipe is written to directly.
 * @param mode of the new file
 * @throws IoError `E_FILE_WRITE`
 */
export async function replaceFile(path: string, text: string, mode = 0o666): Promise<void> {
  try {
    const target = await realpath(path).catch(() => path)
    const old = await lstat(target).catch(() => null)
    if (old === null || old.isFile()) await replaceWhole(target, text, mode)
    else await writeFile(target, text)
  } catch (cause) {
    const code = errorCode(cause) ?? 'unknown error'
    const why = code === 'ENOSPC' ? 'the disk is full' : code
    throw new IoError(`the file could not be written (${why})`, {code: 'E_FILE_WRITE', context: {path}, cause})
  }
}

async function replaceWhole(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    const file = await open(temporary, 'wx', mode)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, {force: true})
    throw error
  }
}
