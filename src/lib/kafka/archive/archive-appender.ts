import {open, type FileHandle} from 'node:fs/promises'
import {join} from 'node:path'

import {BugError, IoError, isKdlqError, RefusedError, type KdlqError} from '../../errors.ts'
import type {CallOptions, OutgoingBatch, ProducerSession, ProduceResult} from '../ports.ts'
import {isLegalTopicName, type Offset} from '../record.ts'
import {writeAll} from './archive-file.ts'
import {formatArchiveLine} from './line-codec.ts'

const NEWLINE = 10

/** Lines that were added to a file, one batch, ready for the index. */
export interface AppendedRun {
  readonly path: string
  readonly topic: string
  readonly partition: number
  readonly start: number
  readonly end: number
  readonly firstOffset: Offset
  readonly lastOffset: Offset
  /** Epoch ms, -1 = none. */
  readonly maxTimestamp: bigint
}

export interface AppenderHooks {
  /** Where the next record of a partition goes that was not written to yet. */
  readonly nextOffset: (topic: string, partition: number) => Offset
  readonly onAppended: (runs: readonly AppendedRun[]) => void
}

interface TopicFile {
  readonly path: string
  readonly handle: FileHandle
  size: number
  readonly next: Map<number, Offset>
}

/**
 * Appends records to a directory archive, one plain `TOPIC.ndjson` a topic, numbered behind what is there. A call that
 * resolves without error has its records on disk; after an error nothing of that topic's call is left in the file.
 * Calls take effect one after the other.
 */
export class ArchiveAppender {
  readonly #directory: string
  readonly #hooks: AppenderHooks
  readonly #files = new Map<string, TopicFile>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(directory: string, hooks: AppenderHooks) {
    this.#directory = directory
    this.#hooks = hooks
  }

  append(batches: readonly OutgoingBatch[]): Promise<readonly ProduceResult[]> {
    const result = this.#last.then(() => this.#appendAll(batches))
    this.#last = result
    return result
  }

  async close(): Promise<void> {
    await this.#last
    const files = [...this.#files.values()]
    this.#files.clear()
    await Promise.all(files.map(file => file.handle.close()))
  }

  async #appendAll(batches: readonly OutgoingBatch[]): Promise<readonly ProduceResult[]> {
    const results = new Map<OutgoingBatch, ProduceResult>()
    for (const [topic, group] of Map.groupBy(batches, batch => batch.topic)) {
      for (const [batch, result] of await this.#appendTopic(topic, group)) results.set(batch, result)
    }
    return batches.map(batch => results.get(batch) ?? failed(batch, new BugError('a batch was passed over')))
  }

  async #appendTopic(topic: string, batches: readonly OutgoingBatch[]): Promise<Map<OutgoingBatch, ProduceResult>> {
    try {
      const file = await this.#open(topic)
      const pieces: Buffer[] = []
      const runs: AppendedRun[] = []
      const results = new Map<OutgoingBatch, ProduceResult>()
      const next = new Map(file.next)
      let end = file.size
      for (const batch of batches) {
        const {partition, records} = batch
        const firstOffset = next.get(partition) ?? this.#hooks.nextOffset(topic, partition)
        const lastOffset = firstOffset + BigInt(records.count) - 1n
        const piece = toLines(batch, firstOffset)
        pieces.push(piece)
        const {maxTimestamp} = records
        const start = end
        end += piece.length
        runs.push({path: file.path, topic, partition, start, end, firstOffset, lastOffset, maxTimestamp})
        next.set(partition, lastOffset + 1n)
        results.set(batch, {
          topic,
          partition,
          baseOffset: firstOffset,
          logAppendTimeMs: null,
          error: null,
          recordErrors: [],
        })
      }
      await appendDurably(file, Buffer.concat(pieces))
      for (const [partition, offset] of next) file.next.set(partition, offset)
      this.#hooks.onAppended(runs)
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
    const path = join(this.#directory, `${topic}.ndjson`)
    const handle = await open(path, 'a+')
    const {size} = await handle.stat()
    const file: TopicFile = {path, handle, size, next: new Map()}
    this.#files.set(topic, file)
    const last = Buffer.alloc(1)
    if (size > 0) await handle.read(last, 0, 1, size - 1)
    // A last line without its line end would swallow the first of ours.
    if (size > 0 && last[0] !== NEWLINE) await appendDurably(file, Buffer.of(NEWLINE))
    return file
  }
}

/** A producer's view of the appender; an archive has no transactions and needs no compression. */
export class ArchiveSession implements ProducerSession {
  readonly #appender: ArchiveAppender
  #closed = false

  constructor(appender: ArchiveAppender) {
    this.#appender = appender
  }

  async produce(batches: readonly OutgoingBatch[], options: CallOptions = {}): Promise<readonly ProduceResult[]> {
    if (this.#closed) throw new BugError('the archive session is closed')
    options.signal?.throwIfAborted()
    return this.#appender.append(batches)
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function toLines({topic, partition, records}: OutgoingBatch, baseOffset: Offset): Buffer {
  const cursor = records.view({baseOffset, timestampType: 'CreateTime'}).cursor()
  let text = ''
  while (cursor.next()) text += `${formatArchiveLine(cursor.toRecord(topic, partition))}\n`
  return Buffer.from(text)
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
