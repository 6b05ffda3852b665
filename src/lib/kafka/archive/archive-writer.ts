import {mkdir, rmdir} from 'node:fs/promises'
import {dirname, join, resolve} from 'node:path'

import {RefusedError} from '../../errors.ts'
import {isLegalTopicName, type KafkaRecord} from '../record.ts'
import {cannotWrite, PartialFile, type ArchiveCompression, type WrittenFile} from './partial-file.ts'

export type {ArchiveCompression, WrittenFile} from './partial-file.ts'

export interface ArchiveWriterOptions {
  /** The file; or the directory, made if it is not there. */
  readonly path: string
  /** `directory`: one `TOPIC.ndjson[.gz|.zst]` a topic. */
  readonly layout: 'file' | 'directory'
  readonly compress: ArchiveCompression
  /** Replace files that exist; without it they are a refusal. */
  readonly overwrite: boolean
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
    return new DirectoryWriter(options, (await mkdir(options.path, {recursive: true})) ?? null)
  } catch (cause) {
    throw cannotWrite(options.path, cause)
  }
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
  /** The topmost directory that was made for this archive; null = all were there. */
  readonly #made: string | null
  readonly #files = new Map<string, PartialFile>()
  #committed = false

  constructor(options: ArchiveWriterOptions, made: string | null) {
    this.#options = options
    this.#made = made
  }

  write(record: KafkaRecord): Promise<void> | undefined {
    const file = this.#files.get(record.topic)
    return file === undefined ? this.#writeFirst(record) : file.write(record)
  }

  async commit(): Promise<readonly WrittenFile[]> {
    const written: WrittenFile[] = []
    for (const file of this.#files.values()) written.push(await file.commit())
    this.#committed = true
    return written
  }

  async abort(): Promise<void> {
    for (const file of this.#files.values()) await file.abort()
    if (!this.#committed && this.#made !== null) await removeEmpty(this.#options.path, this.#made)
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

/** Remove a directory and those above it up to `top`, as far as they are empty. */
async function removeEmpty(directory: string, top: string): Promise<void> {
  const last = resolve(top)
  try {
    for (let path = resolve(directory); path.length >= last.length; path = dirname(path)) await rmdir(path)
  } catch {
    // Somebody else has put something there.
  }
}

function suffix(compress: ArchiveCompression): string {
  if (compress === 'none') return ''
  return compress === 'gzip' ? '.gz' : '.zst'
}
