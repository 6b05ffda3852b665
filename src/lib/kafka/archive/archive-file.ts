import {randomUUID} from 'node:crypto'
import {open, unlink, type FileHandle} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {basename, join} from 'node:path'
import {Readable} from 'node:stream'
import {pipeline} from 'node:stream/promises'
import {createGunzip, createZstdDecompress} from 'node:zlib'

import {IoError, isKdlqError} from '../../errors.ts'

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

const NEWLINE = 10

/** Longest archive line; text of this size still fits a string. */
export const MAX_LINE_BYTES = 268_435_456

/** Plain archive lines in a file that can be read from any position. */
export interface ArchiveFile {
  /** For messages. */
  readonly name: string
  readonly handle: FileHandle
  readonly size: number
  close(): Promise<void>
}

type Compression = 'gzip' | 'zstd' | null

/**
 * Open an archive file. gzip and zstd (told by their first bytes, whatever the name says) are unpacked into a temporary
 * file without a name, which takes the disk space of the plain lines until it is closed.
 * @throws IoError if it cannot be read, or the compressed data is malformed or cut off
 */
export async function openArchiveFile(path: string, signal?: AbortSignal): Promise<ArchiveFile> {
  const name = basename(path)
  let handle: FileHandle
  try {
    handle = await open(path, 'r')
  } catch (cause) {
    throw cannotRead(name, cause)
  }
  try {
    const stat = await handle.stat()
    if (stat.isDirectory()) throw new IoError(`${name} is a directory`, {code: 'E_ARCHIVE'})
    if (!stat.isFile()) {
      // A pipe (process substitution, /dev/stdin) has no positions.
      const spooled = await openArchiveStream(handle.createReadStream({autoClose: false}), name, signal)
      await handle.close()
      return spooled
    }
    const head = Buffer.alloc(4)
    const {bytesRead} = await handle.read(head, 0, 4, 0)
    const compression = compressionOf(head.subarray(0, bytesRead))
    if (compression === null) return {name, handle, size: stat.size, close: () => handle.close()}
    const spooled = await spool(handle.createReadStream({start: 0, autoClose: false}), compression, name, signal)
    await handle.close()
    return spooled
  } catch (cause) {
    await handle.close()
    throw cannotRead(name, cause, signal)
  }
}

/**
 * Take a stream (stdin) to its end into a temporary file without a name; plain, gzip or zstd.
 * @throws IoError as `openArchiveFile`
 */
export async function openArchiveStream(
  stream: Readable,
  name: string,
  signal?: AbortSignal,
  maxLineBytes: number = MAX_LINE_BYTES,
): Promise<ArchiveFile> {
  const iterator: AsyncIterator<Uint8Array | string> = stream[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  // A stream that says nothing (a terminal, a stalled pipe) would otherwise hold us for good.
  const onAbort = (): void => void stream.destroy()
  signal?.addEventListener('abort', onAbort)
  try {
    while (head.length < 4) {
      signal?.throwIfAborted()
      const next = await iterator.next()
      if (next.done === true) break
      head = Buffer.concat([head, Buffer.from(next.value)])
    }
    const rest = {[Symbol.asyncIterator]: () => iterator}
    return await spool(Readable.from(prepend(head, rest)), compressionOf(head), name, signal, maxLineBytes)
  } catch (cause) {
    throw cannotRead(name, cause, signal)
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

function compressionOf(head: Buffer): Compression {
  if (head.subarray(0, 2).equals(GZIP_MAGIC)) return 'gzip'
  return head.subarray(0, 4).equals(ZSTD_MAGIC) ? 'zstd' : null
}

async function* prepend(
  head: Buffer,
  rest: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array | string, void, undefined> {
  if (head.length > 0) yield head
  yield* rest
}

async function spool(
  source: Readable,
  compression: Compression,
  name: string,
  signal: AbortSignal | undefined,
  maxLineBytes: number = MAX_LINE_BYTES,
): Promise<ArchiveFile> {
  const path = join(tmpdir(), `kdlq-${randomUUID()}.tmp`)
  const handle = await open(path, 'wx+', 0o600).catch((cause: unknown) => {
    throw cannotUnpack(name, cause)
  })
  // Gone from the directory at once where the system allows it, so that a crash leaves nothing behind.
  const unlinked = await unlink(path).then(
    () => true,
    () => false,
  )
  const close = async (): Promise<void> => {
    await handle.close()
    if (!unlinked) await unlink(path)
  }
  let size = 0
  let lineStart = 0
  const sink = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) {
      // Something that is no archive and has no end (a device, a bomb) must not fill the disk first.
      const newline = chunk.lastIndexOf(NEWLINE)
      if (newline !== -1) lineStart = size + newline + 1
      if (size + chunk.length - lineStart > maxLineBytes) throw lineTooLong(name, maxLineBytes)
      try {
        await writeAll(handle, chunk, size)
      } catch (cause) {
        throw cannotUnpack(name, cause)
      }
      size += chunk.length
    }
  }
  const options = signal === undefined ? {} : {signal}
  try {
    if (compression === null) await pipeline(source, sink, options)
    else await pipeline(source, compression === 'gzip' ? createGunzip() : createZstdDecompress(), sink, options)
  } catch (error) {
    await close()
    throw error
  }
  return {name, handle, size, close}
}

/** Write all bytes at a position; a file system may take them in pieces. */
export async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const {bytesWritten} = await handle.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

function cannotUnpack(name: string, cause: unknown): IoError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
  const why = code === 'ENOSPC' ? 'the disk is full' : code
  return new IoError(`${name} could not be unpacked into a temporary file (${why})`, {
    code: 'E_ARCHIVE_SPOOL',
    hints: ['set TMPDIR to a folder with room for the plain lines'],
    cause,
  })
}

function cannotRead(name: string, cause: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted === true) return signal.reason
  if (!(cause instanceof Error) || isKdlqError(cause) || cause.name === 'AbortError') return cause
  const code = 'code' in cause ? String(cause.code) : ''
  if (code === 'ENOENT') return new IoError(`there is no archive ${name}`, {code: 'E_ARCHIVE_NOT_FOUND', cause})
  if (code.startsWith('Z_') || code.startsWith('ZSTD_')) {
    return new IoError(`the compressed data of ${name} is malformed or cut off`, {code: 'E_ARCHIVE_DATA', cause})
  }
  return new IoError(`${name} could not be read (${code === '' ? cause.message : code})`, {code: 'E_ARCHIVE', cause})
}

function lineTooLong(name: string, maxLineBytes: number): IoError {
  return new IoError(`${name} holds a line of more than ${maxLineBytes} bytes`, {
    code: 'E_ARCHIVE_LINE',
    hints: ['is it an archive? one record a line, as kdlq export writes it'],
  })
}
