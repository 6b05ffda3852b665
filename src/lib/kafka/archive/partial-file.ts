import {randomUUID} from 'node:crypto'
import {once} from 'node:events'
import {access, link, open, rename, unlink, type FileHandle} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import {PassThrough, type Transform} from 'node:stream'
import {pipeline} from 'node:stream/promises'
import {createGzip, createZstdCompress} from 'node:zlib'

import {BugError, IoError, isKdlqError, RefusedError} from '../../errors.ts'
import type {KafkaRecord} from '../record.ts'
import {writeAll} from './archive-file.ts'
import {formatArchiveLine} from './line-codec.ts'

/** Lines are handed to the stream in pieces of about this size. */
const PIECE_CHARACTERS = 65_536
/** What a file system without hard links answers. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

export type ArchiveCompression = 'none' | 'gzip' | 'zstd'

export interface WrittenFile {
  readonly path: string
  readonly records: number
  /** As they lie on disk, compressed. */
  readonly bytes: number
}

export interface PartialFileOptions {
  readonly compress: ArchiveCompression
  readonly overwrite: boolean
  /** How the temporary file is made; a new file when absent. */
  readonly openTemporary?: ((path: string) => Promise<FileHandle>) | undefined
}

/** One file under a temporary name until it is committed. */
export class PartialFile {
  readonly #path: string
  readonly #temporary: string
  readonly #overwrite: boolean
  readonly #handle: FileHandle
  readonly #input: Transform
  /** Settles when everything is in the file; never rejects. */
  readonly #written: Promise<{error: unknown}>
  #piece = ''
  #records = 0
  #bytes = 0
  #state: 'open' | 'committed' | 'aborted' = 'open'

  static async create(path: string, options: PartialFileOptions): Promise<PartialFile> {
    if (!options.overwrite && (await exists(path))) throw fileExists(path)
    const temporary = join(dirname(path), `.kdlq-${randomUUID()}.partial`)
    try {
      const openTemporary = options.openTemporary ?? (name => open(name, 'wx'))
      const handle = await openTemporary(temporary)
      return new PartialFile(path, temporary, handle, options)
    } catch (cause) {
      throw cannotWrite(path, cause)
    }
  }

  private constructor(path: string, temporary: string, handle: FileHandle, options: PartialFileOptions) {
    this.#path = path
    this.#temporary = temporary
    this.#overwrite = options.overwrite
    this.#handle = handle
    this.#input = createTransform(options.compress)
    const sink = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
      for await (const chunk of chunks) {
        await writeAll(handle, chunk, this.#bytes)
        this.#bytes += chunk.length
      }
    }
    this.#written = pipeline(this.#input, sink).then(
      () => ({error: null}),
      (error: unknown) => ({error}),
    )
  }

  write(record: KafkaRecord): Promise<void> | undefined {
    if (this.#state !== 'open') throw new BugError('the archive writer is closed')
    this.#piece += `${formatArchiveLine(record)}\n`
    this.#records++
    return this.#piece.length < PIECE_CHARACTERS ? undefined : this.#flush()
  }

  async commit(): Promise<WrittenFile> {
    if (this.#state !== 'open') throw new BugError('the archive writer is closed')
    try {
      await this.#flush()
      this.#input.end()
      await this.#settled()
      await this.#handle.sync()
      await this.#handle.close()
      await this.#place()
    } catch (cause) {
      await this.abort()
      throw cannotWrite(this.#path, cause)
    }
    this.#state = 'committed'
    return {path: this.#path, records: this.#records, bytes: this.#bytes}
  }

  async abort(): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'aborted'
    this.#input.destroy()
    await this.#written
    await this.#handle.close()
    await unlink(this.#temporary)
  }

  async #flush(): Promise<void> {
    const piece = this.#piece
    this.#piece = ''
    if (piece === '') return
    if (this.#input.destroyed) await this.#settled()
    // A failed write destroys the input, so that the wait ends either way.
    else if (!this.#input.write(piece))
      await Promise.race([once(this.#input, 'drain').catch(() => null), this.#written])
    if (this.#input.destroyed) await this.#settled()
  }

  async #settled(): Promise<void> {
    const {error} = await this.#written
    if (error !== null) throw cannotWrite(this.#path, error)
  }

  async #place(): Promise<void> {
    if (this.#overwrite) {
      await rename(this.#temporary, this.#path)
      return
    }
    try {
      // Unlike rename, link never replaces a file that appeared in the meantime.
      await link(this.#temporary, this.#path)
    } catch (error) {
      if (errorCode(error) === 'EEXIST') throw fileExists(this.#path)
      if (!NO_LINKS.has(errorCode(error))) throw error
      if (await exists(this.#path)) throw fileExists(this.#path)
      await rename(this.#temporary, this.#path)
      return
    }
    await unlink(this.#temporary)
  }
}

function createTransform(compress: ArchiveCompression): Transform {
  if (compress === 'none') return new PassThrough()
  return compress === 'gzip' ? createGzip() : createZstdCompress()
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function fileExists(path: string): RefusedError {
  return new RefusedError('the file exists already', {
    code: 'E_FILE_EXISTS',
    hints: ['name another file, or remove this one'],
    context: {path},
  })
}

/** The error for a file that cannot be written; kdlq's own errors stay what they are. */
export function cannotWrite(path: string, cause: unknown): Error {
  if (isKdlqError(cause)) return cause
  const code = errorCode(cause)
  const why = code === 'ENOSPC' ? 'the disk is full' : code
  return new IoError(`the archive could not be written (${why})`, {code: 'E_ARCHIVE_WRITE', context: {path}, cause})
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
