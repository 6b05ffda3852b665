import {open} from 'node:fs/promises'
import type {FileHandle} from 'node:fs/promises'
import {BugError, ConfigError, IoError, isKdlqError, RefusedError} from '../../errors.ts'
import {LedgerContents} from './contents.ts'
import type {ContentsOptions} from './contents.ts'
import {formatLedgerLine, parseLedgerLines} from './file-lines.ts'
import {lockFile} from './file-lock.ts'
import type {FileLock, LockDeps} from './file-lock.ts'
import {parseLedgerKey} from './names.ts'
import type {ChunkMark} from './archive-mark.ts'
import {parseMark} from './archive-mark.ts'
import {layoutRecord} from './records.ts'
import type {LedgerRecord} from './types.ts'

/** Read in pieces of this size, bytes. */
const READ_BYTES = 1 << 20

/** A mark with the place of its line's end in the ledger file. */
export interface PlacedMark {
  readonly mark: ChunkMark
  readonly end: number
}

/** What stands in a ledger file. */
export interface FileLedgerContents {
  readonly contents: LedgerContents
  /** Last mark of each run: how far it came. Cut only by `cutArchive`: another run may have written since. */
  readonly marks: ReadonlyMap<string, PlacedMark>
  /** Last mark of all; null = there is none. */
  readonly lastMark: PlacedMark | null
  /** Behind the last mark stand entries, claims or run records: a chunk or a beginning whose mark was not written. */
  readonly isTorn: boolean
  /** Bytes of whole lines; what follows is torn and will be cut by the next write. */
  readonly size: number
}

/** A ledger file that is open for appending; this process alone writes it. */
export interface FileLedger extends FileLedgerContents, AsyncDisposable {
  /**
   * Append records and sync them; resolves when they are on disk. After an error nothing of them is in the file.
   * @throws IoError `E_LEDGER_WRITE`
   */
  append(records: readonly LedgerRecord[]): Promise<void>
  /** Cut the file; what was behind is forgotten on disk, `contents` still has it: open it again. */
  truncate(size: number): Promise<void>
  close(): Promise<void>
}

/**
 * Read a ledger file without locking it. A torn last line (killed while it was written) is left out.
 * @throws RefusedError `E_NO_LEDGER` when there is none; ConfigError `E_LEDGER_LAYOUT` when it is something else; IoError
 */
export async function readFileLedger(path: string, options: ContentsOptions = {}): Promise<FileLedgerContents> {
  let handle: FileHandle
  try {
    handle = await open(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw noLedger(path)
    throw ioError(path, 'read', error)
  }
  try {
    return await readAll(path, handle, options)
  } finally {
    await handle.close()
  }
}

/**
 * Open a ledger file for a run.
 * @param input.create make it when it is not there
 * @throws RefusedError `E_LEDGER_LOCKED`, `E_NO_LEDGER`; ConfigError `E_LEDGER_LAYOUT`; IoError
 */
export async function openFileLedger(
  path: string,
  deps: LockDeps,
  input: {readonly create: boolean} & ContentsOptions,
): Promise<FileLedger> {
  const lock = await lockFile(path, deps)
  let handle: FileHandle | null = null
  try {
    handle = await openForAppend(path, input.create)
    return new OpenFileLedger(path, handle, lock, await readAll(path, handle, input))
  } catch (error) {
    await handle?.close()
    await lock.release()
    throw error
  }
}

class OpenFileLedger implements FileLedger {
  readonly contents: LedgerContents
  readonly marks: ReadonlyMap<string, PlacedMark>
  readonly lastMark: PlacedMark | null
  readonly isTorn: boolean
  readonly #path: string
  readonly #handle: FileHandle
  readonly #lock: FileLock
  #size: number
  #closed = false

  constructor(path: string, handle: FileHandle, lock: FileLock, found: FileLedgerContents) {
    this.#path = path
    this.#handle = handle
    this.#lock = lock
    this.contents = found.contents
    this.marks = found.marks
    this.lastMark = found.lastMark
    this.isTorn = found.isTorn
    this.#size = found.size
  }

  get size(): number {
    return this.#size
  }

  async append(records: readonly LedgerRecord[]): Promise<void> {
    if (this.#closed) throw new BugError('the ledger file is closed')
    if (records.length === 0) return
    const all = this.#size === 0 ? [layoutRecord(1), ...records] : records
    const bytes = Buffer.from(all.map(formatLedgerLine).join(''))
    try {
      const {size} = await this.#handle.stat()
      if (size > this.#size) await this.#handle.truncate(this.#size)
      await writeAll(this.#handle, bytes, this.#size)
      await this.#handle.datasync()
    } catch (error) {
      await this.#handle.truncate(this.#size).catch(() => undefined)
      throw ioError(this.#path, 'written', error)
    }
    this.#size += bytes.length
  }

  async truncate(size: number): Promise<void> {
    if (size > this.#size) throw new BugError('a ledger file is cut, never grown')
    try {
      await this.#handle.truncate(size)
      await this.#handle.datasync()
    } catch (error) {
      throw ioError(this.#path, 'written', error)
    }
    this.#size = size
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    try {
      await this.#handle.close()
    } finally {
      await this.#lock.release()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

async function openForAppend(path: string, create: boolean): Promise<FileHandle> {
  try {
    return await open(path, 'r+')
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw ioError(path, 'opened', error)
    if (!create) throw noLedger(path)
  }
  try {
    return await open(path, 'wx+', 0o600)
  } catch (error) {
    throw ioError(path, 'made', error)
  }
}

async function readAll(path: string, handle: FileHandle, options: ContentsOptions): Promise<FileLedgerContents> {
  const contents = new LedgerContents(options)
  const marks = new Map<string, PlacedMark>()
  let lastMark: PlacedMark | null = null
  let isTorn = false
  let size = 0
  let rest: Buffer[] = []
  let isFirst = true
  for await (const piece of pieces(path, handle)) {
    rest.push(piece)
    // A long line is put together once, not again for every piece.
    if (!piece.includes(0x0a)) continue
    const bytes = Buffer.concat(rest)
    const from = size
    for (const {record, end} of parseLedgerLines(bytes, from)) {
      if (isFirst && record?.key !== 'meta|layout') throw notALedger(path)
      isFirst = false
      size = end
      if (record === null) {
        contents.addUnreadable()
        continue
      }
      const value = record.value === null ? null : Buffer.from(record.value)
      contents.add(Buffer.from(record.key), value, BigInt(end))
      const key = parseLedgerKey(record.key)
      const mark = key?.kind === 'mark' && value !== null ? parseMark(key.run, value) : null
      if (mark === null) {
        isTorn ||= value !== null && (key?.kind === 'entry' || key?.kind === 'claim' || key?.kind === 'run')
        continue
      }
      lastMark = {mark, end}
      isTorn = false
      marks.set(mark.run, lastMark)
    }
    rest = [bytes.subarray(size - from)]
  }
  // A file that somebody else made, and that has no line end at all.
  if (isFirst && Buffer.concat(rest).length > 0 && !isTornLayout(Buffer.concat(rest))) throw notALedger(path)
  if (!isFirst && contents.layouts.size === 0) throw notALedger(path)
  return {contents, marks, lastMark, isTorn, size}
}

async function* pieces(path: string, handle: FileHandle): AsyncGenerator<Buffer, void, undefined> {
  let position = 0
  for (;;) {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    let bytesRead: number
    try {
      ;({bytesRead} = await handle.read(buffer, 0, READ_BYTES, position))
    } catch (error) {
      throw ioError(path, 'read', error)
    }
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** The very first write was torn: the beginning of our first line. */
function isTornLayout(bytes: Buffer): boolean {
  const line = Buffer.from(formatLedgerLine(layoutRecord(1)))
  return bytes.length < line.length && line.subarray(0, bytes.length).equals(bytes)
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const {bytesWritten} = await handle.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

function noLedger(path: string): RefusedError {
  return new RefusedError(`there is no ledger file ${path}`, {
    code: 'E_NO_LEDGER',
    hints: ['without a ledger nothing is known about what was replayed before; make one with --create-ledger'],
    context: {ledger: path},
  })
}

function notALedger(path: string): ConfigError {
  return new ConfigError(`${path} is no ledger file of this version of kdlq`, {
    code: 'E_LEDGER_LAYOUT',
    hints: ['name another file with --ledger file:PATH'],
    context: {ledger: path},
  })
}

function ioError(path: string, what: string, cause: unknown): Error {
  if (isKdlqError(cause)) return cause
  return new IoError(`the ledger file ${path} could not be ${what} (${codeOf(cause)})`, {
    code: 'E_LEDGER_WRITE',
    context: {path},
    cause,
  })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
