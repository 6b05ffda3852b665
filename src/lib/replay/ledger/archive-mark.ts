import {stat, truncate, unlink, open} from 'node:fs/promises'
import {join} from 'node:path'
import {IoError, isKdlqError, KafkaError} from '../../errors.ts'
import {markKey} from './names.ts'
import {LEDGER_VERSION} from './types.ts'
import type {LedgerRecord} from './types.ts'

/** The ledger's file in the directory of an archive that a replay writes to. */
export const ARCHIVE_LEDGER = 'kdlq-ledger.ndjson'

/** Sizes of an archive's files after a chunk (or before the first one): what the ledger's lines up to here speak of. */
export interface ChunkMark {
  readonly run: string
  /** Chunks written so far. */
  readonly chunk: number
  /** Bytes by file name; null = the file is not there. Every file that the run may write is named. */
  readonly files: Readonly<Record<string, number | null>>
}

/** A mark as the last line of a chunk. */
export function markRecord({run, chunk, files}: ChunkMark): LedgerRecord {
  return {route: run, key: markKey(run), value: JSON.stringify({v: LEDGER_VERSION, chunk, files})}
}

/** Read a mark; null when it is none of ours. */
export function parseMark(run: string, value: Buffer): ChunkMark | null {
  let json: unknown
  try {
    json = JSON.parse(value.toString('utf8'))
  } catch {
    return null
  }
  if (!isObject(json) || json['v'] !== LEDGER_VERSION || !isSize(json['chunk']) || !isObject(json['files'])) return null
  const files: [string, number | null][] = []
  for (const [name, size] of Object.entries(json['files'])) {
    if (!isFileName(name) || (size !== null && !isSize(size))) return null
    files.push([name, size])
  }
  return {run, chunk: json['chunk'], files: Object.fromEntries(files)}
}

/**
 * Measure an archive's files for a mark.
 * @param names of all files that the run may write: `TOPIC.ndjson` for each target topic
 * @throws IoError
 */
export async function measureFiles(directory: string, names: readonly string[]): Promise<ChunkMark['files']> {
  const sizes: [string, number | null][] = []
  for (const name of names) sizes.push([name, await sizeOf(join(directory, name))])
  return Object.fromEntries(sizes)
}

/** As much of an open ledger file as cutting needs. */
export interface CuttableLedger {
  readonly lastMark: {readonly mark: ChunkMark; readonly end: number} | null
  readonly isTorn: boolean
  truncate(size: number): Promise<void>
}

/**
 * Cut archive and ledger back to where they last agreed: the last mark, whichever run wrote it. Every run does this first,
 * resumed or new, with the ledger open (so that nobody writes) and the archive not yet; so nothing that a killed run left
 * ever lies before a later mark, and nothing that a later run wrote is taken for it.
 * @returns true when the ledger was cut: `contents` still has what is gone, close it and open it again
 * @throws as `truncateToMark`
 */
export async function cutArchive(directory: string, ledger: CuttableLedger): Promise<boolean> {
  const {lastMark, isTorn} = ledger
  if (lastMark !== null) await truncateToMark(directory, lastMark.mark)
  if (isTorn) await ledger.truncate(lastMark?.end ?? 0)
  return isTorn
}

/**
 * Cut an archive's files back to a mark: what a killed chunk left behind it is gone, and a file that it made too. Before the
 * archive is opened, because a torn last line is an error to its reader. The ledger is cut by its own `truncate`.
 * @returns bytes that were cut off
 * @throws KafkaError `E_ARCHIVE_SHORT` when a file is shorter than the ledger says, before anything is cut; IoError
 */
export async function truncateToMark(directory: string, {files}: ChunkMark): Promise<number> {
  const plan: {path: string; size: number | null; from: number}[] = []
  for (const [name, size] of Object.entries(files)) {
    const path = join(directory, name)
    const from = await sizeOf(path)
    if (from === null && size === null) continue
    if (from === null || (size !== null && from < size)) throw tooShort(name, size, from)
    if (from !== size) plan.push({path, size, from})
  }
  let cut = 0
  for (const {path, size, from} of plan) {
    await cutFile(path, size)
    cut += from - (size ?? 0)
  }
  return cut
}

async function cutFile(path: string, size: number | null): Promise<void> {
  try {
    if (size === null) {
      await unlink(path)
      return
    }
    await truncate(path, size)
    const file = await open(path, 'r+')
    try {
      await file.datasync()
    } finally {
      await file.close()
    }
  } catch (error) {
    throw cannot(path, 'cut', error)
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw cannot(path, 'measured', error)
  }
}

function tooShort(name: string, expected: number | null, found: number | null): KafkaError {
  return new KafkaError(`the archive file ${name} is shorter than its ledger says`, {
    code: 'E_ARCHIVE_SHORT',
    hints: ['the file was changed or is another one; replay into an empty directory'],
    context: {file: name, expectedBytes: expected, bytes: found},
  })
}

function cannot(path: string, what: string, cause: unknown): Error {
  if (isKdlqError(cause)) return cause
  return new IoError(`the archive file ${path} could not be ${what} (${codeOf(cause)})`, {
    code: 'E_ARCHIVE_WRITE',
    context: {path},
    cause,
  })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** A mark must not reach outside the archive's directory. */
function isFileName(name: string): boolean {
  return name !== '.' && name !== '..' && !/[/\\\0]/.test(name)
}
