import {open, type FileHandle} from 'node:fs/promises'
import {join} from 'node:path'

import {BugError, IoError, isKdlqError, RefusedError, type KdlqError} from '../../errors.ts'
import type {CallOptions, OutgoingBatch, ProducerSession, ProduceResult} from '../ports.ts'
import {isLegalTopicName} from '../record.ts'
import {writeAll} from './archive-file.ts'
import {formatArchiveLine} from './line-codec.ts'

const NEWLINE = 10

/** Where the next record of a partition goes. */
export type NextOffset = (topic: string, partition: number) => bigint

interface TopicFile {
  readonly handle: FileHandle
  size: number
  readonly next: Map<number, bigint>
}

/**
 * Appends records to a directory archive, one plain `TOPIC.ndjson` a topic, numbered behind what is there. A call that
 * resolves without error has its records on disk; after an error nothing of that topic's call is left in the file.
 */
export class ArchiveSession implements ProducerSession {
  readonly #directory: string
  readonly #nextOffset: NextOffset
  readonly #onWritten: () => void
  readonly #files = new Map<string, TopicFile>()
  #closed = false

  constructor(directory: string, nextOffset: NextOffset, onWritten: () => void) {
    this.#directory = directory
    this.#nextOffset = nextOffset
    this.#onWritten = onWritten
  }

  async produce(batches: readonly OutgoingBatch[], options: CallOptions = {}): Promise<readonly ProduceResult[]> {
    if (this.#closed) throw new BugError('the archive session is closed')
    options.signal?.throwIfAborted()
    const results = new Map<OutgoingBatch, ProduceResult>()
    for (const [topic, group] of Map.groupBy(batches, batch => batch.topic)) {
      for (const [batch, result] of await this.#append(topic, group)) results.set(batch, result)
    }
    this.#onWritten()
    return batches.map(batch => results.get(batch) ?? failed(batch, new BugError('a batch was passed over')))
  }

  async close(): Promise<void> {
    this.#closed = true
    const files = [...this.#files.values()]
    this.#files.clear()
    await Promise.all(files.map(file => file.handle.close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #append(topic: string, batches: readonly OutgoingBatch[]): Promise<Map<OutgoingBatch, ProduceResult>> {
    try {
      const file = await this.#open(topic)
      const lines: string[] = []
      const results = new Map<OutgoingBatch, ProduceResult>()
      const next = new Map(file.next)
      for (const batch of batches) {
        const {partition} = batch
        const baseOffset = next.get(partition) ?? this.#nextOffset(topic, partition)
        const cursor = batch.records.view({baseOffset, timestampType: 'CreateTime'}).cursor()
        while (cursor.next()) lines.push(formatArchiveLine(cursor.toRecord(topic, partition)), '\n')
        next.set(partition, baseOffset + BigInt(batch.records.count))
        results.set(batch, {topic, partition, baseOffset, logAppendTimeMs: null, error: null, recordErrors: []})
      }
      await appendDurably(file, Buffer.from(lines.join('')))
      for (const [partition, offset] of next) file.next.set(partition, offset)
      return results
    } catch (error) {
      const reason = toError(topic, error)
      return new Map(batches.map(batch => [batch, failed(batch, reason)]))
    }
  }

  async #open(topic: string): Promise<TopicFile> {
    const known = this.#files.get(topic)
    if (known !== undefined) return known
    if (!isLegalTopicName(topic)) {
      throw new RefusedError('the topic name cannot be a file name', {code: 'E_TOPIC_NAME', context: {topic}})
    }
    const handle = await open(join(this.#directory, `${topic}.ndjson`), 'a+')
    const {size} = await handle.stat()
    const file: TopicFile = {handle, size, next: new Map()}
    this.#files.set(topic, file)
    const last = Buffer.alloc(1)
    if (size > 0) await handle.read(last, 0, 1, size - 1)
    // A last line without its line end would swallow the first of ours.
    if (size > 0 && last[0] !== NEWLINE) await appendDurably(file, Buffer.of(NEWLINE))
    return file
  }
}

async function appendDurably(file: TopicFile, bytes: Buffer): Promise<void> {
  try {
    await writeAll(file.handle, bytes, file.size)
    await file.handle.datasync()
    file.size += bytes.length
  } catch (error) {
    await file.handle.truncate(file.size)
    throw error
  }
}

function failed(batch: OutgoingBatch, error: KdlqError): ProduceResult {
  return {
    topic: batch.topic,
    partition: batch.partition,
    baseOffset: null,
    logAppendTimeMs: null,
    error,
    recordErrors: [],
  }
}

function toError(topic: string, cause: unknown): KdlqError {
  if (isKdlqError(cause)) return cause
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
  return new IoError(`the archive could not be written (${code})`, {code: 'E_ARCHIVE_WRITE', context: {topic}, cause})
}
