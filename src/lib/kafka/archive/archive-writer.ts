import {randomUUID} from 'node:crypto'
import {once} from 'node:events'
import {access, link, mkdir, open, rename, unlink, type FileHandle} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import {PassThrough, type Transform} from 'node:stream'
import {pipeline} from 'node:stream/promises'
import {createGzip, createZstdCompress} from 'node:zlib'

import {BugError, IoError, isKdlqError, RefusedError} from '../../errors.ts'
import {isLegalTopicName, type KafkaRecord} from '../record.ts'
import {writeAll} from './archive-file.ts'
import {formatArchiveLine} from './line-codec.ts'

/** Lines are handed to the stream in pieces of about this size. */
const PIECE_CHARACTERS = 65_536
/** What a file system without hard links answers. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

export type ArchiveCompression = 'none' | 'gzip' | 'zstd'

export interface ArchiveWriterOptions {
  /** The file; or the directory, made if it is not there. */
  readonly path: string
  /** `directory`: one `TOPIC.ndjson[.gz|.zst]` a topic. */
  readonly layout: 'file' | 'directory'
  readonly compress: ArchiveCompression
  /** Replace files that exist; without it they are a refusal. */
  readonly overwrite: boolean
}

export interface WrittenFile {
  readonly path: string
  readonly records: number
  /** As they lie on disk, compressed. */
  readonly bytes: number
}

/** Disposing without a commit is an abort. */
export interface ArchiveWriter extends AsyncDisposable {
  /** Undefined when there is nothing to wait for. @throws IoError if the file cannot be written */
  write(record: KafkaRecord): Promise<void> | undefined
  /** Give the files their names; before this nothing is to be seen under them. */
  commit(): Promise<readonly WrittenFile[]>
  /** Remove what was written. */
  abort(): Promise<void>
}

/**
 * Write an archive that appears whole or not at all: lines go to a temporary file beside the target.
 * @throws RefusedError `E_FILE_EXISTS` if the file is there already (for a directory, at the topic's first record)
 * @throws IoError if the file cannot be made
 */
export async function createArchiveWriter(options: ArchiveWriterOptions): Promise<ArchiveWriter> {
  if (options.layout === 'file') return new FileWriter(await PartialFile.create(options.path, options))
  try {
    await mkdir(options.path, {recursive: true})
  } catch (cause) {
    throw cannotWrite(options.path, cause)
  }
  return new DirectoryWriter(options)
}

class FileWriter implements ArchiveWriter {
  readonly #file: PartialFile

  constructor(file: PartialFile) {
    this.#file = file
  }

  write(record: KafkaRecord): Promise<void> | undefined {
    return this.#file.write(record)
  }

  async commit(): Promise<readonly WrittenFile[]> {
    return [await this.#file.commit()]
  }

  async abort(): Promise<void> {
    await this.#file.abort()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.abort()
  }
}

class DirectoryWriter implements ArchiveWriter {
  readonly #options: ArchiveWriterOptions
  readonly #files = new Map<string, PartialFile>()

  constructor(options: ArchiveWriterOptions) {
    this.#options = options
  }

  write(record: KafkaRecord): Promise<void> | undefined {
    const file = this.#files.get(record.topic)
    return file === undefined ? this.#writeFirst(record) : file.write(record)
  }

  async commit(): Promise<readonly WrittenFile[]> {
    const written: WrittenFile[] = []
    for (const file of this.#files.values()) written.push(await file.commit())
    return written
  }

  async abort(): Promise<void> {
    for (const file of this.#files.values()) await file.abort()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.abort()
  }

  async #writeFirst(record: KafkaRecord): Promise<void> {
    const {topic} = record
    if (!isLegalTopicName(topic)) {
      throw new RefusedError('the topic name cannot be a file name', {code: 'E_TOPIC_NAME', context: {topic}})
    }
    const path = join(this.#options.path, `${topic}.ndjson${suffix(this.#options.compress)}`)
    const file = await PartialFile.create(path, this.#options)
    this.#files.set(topic, file)
    await file.write(record)
  }
}

/** One file under a temporary name until it is committed. */
class PartialFile {
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

  static async create(
    path: string,
    options: Pick<ArchiveWriterOptions, 'compress' | 'overwrite'>,
  ): Promise<PartialFile> {
    if (!options.overwrite && (await exists(path))) throw fileExists(path)
    const temporary = join(dirname(path), `.kdlq-${randomUUID()}.partial`)
    try {
      const handle = await open(temporary, 'wx')
      return new PartialFile(path, temporary, handle, options)
    } catch (cause) {
      throw cannotWrite(path, cause)
    }
  }

  private constructor(
    path: string,
    temporary: string,
    handle: FileHandle,
    options: Pick<ArchiveWriterOptions, 'compress' | 'overwrite'>,
  ) {
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

function suffix(compress: ArchiveCompression): string {
  if (compress === 'none') return ''
  return compress === 'gzip' ? '.gz' : '.zst'
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

function cannotWrite(path: string, cause: unknown): Error {
  if (isKdlqError(cause)) return cause
  const code = errorCode(cause)
  const why = code === 'ENOSPC' ? 'the disk is full' : code
  return new IoError(`the archive could not be written (${why})`, {code: 'E_ARCHIVE_WRITE', context: {path}, cause})
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
