import {mkdir, open, readdir, stat} from 'node:fs/promises'
import {basename, join} from 'node:path'
import type {Readable} from 'node:stream'

import {BugError, KafkaError, RefusedError, UsageError, type KdlqError} from '../../errors.ts'
import type {
  Cluster,
  ClusterAdmin,
  ClusterDescription,
  ClusterWriter,
  CommittedOffset,
  NewTopic,
  ProducerOptions,
  ProducerSession,
  TopicConfigs,
} from '../ports.ts'
import {isLegalTopicName} from '../record.ts'
import {ArchiveAppender, ArchiveSession, type AppendedRun} from './archive-appender.ts'
import {openArchiveFile, openArchiveStream, type ArchiveFile} from './archive-file.ts'
import {addRun, indexArchive, type ArchiveIndex} from './archive-index.ts'
import {cannotWrite} from './partial-file.ts'
import {ArchiveReader, unknownTopic, type ArchiveContents} from './archive-reader.ts'

/** A replay into a directory keeps its ledger there; it holds no records. */
const LEDGER_NAME = 'kdlq-ledger.ndjson'
const LEDGER_HEAD = Buffer.from('{"key":"meta|layout"')
const ARCHIVE_NAME = /^(?<topic>.+)\.ndjson(?:\.gz|\.zst)?$/

export interface ArchiveOptions {
  /** Go on behind a broken line; without it the first one is an error, before any record is given out. */
  readonly skipBadLines?: boolean | undefined
  /** Told about each broken line that was left out. */
  readonly onBadLine?: ((error: KdlqError) => void) | undefined
  /** Make the directory if it is not there: a target for `writer`. */
  readonly create?: boolean | undefined
  /** What a person calls it; the path, or `-` for a stream, when absent. */
  readonly name?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Open an archive as a cluster: a file or a stream of archive lines (plain, gzip or zstd), or a directory of
 * `TOPIC.ndjson[.gz|.zst]` files. All lines are checked before it returns, in bounded memory.
 *
 * Lines may be in any order and offsets may have gaps. Only a directory can be written to.
 * @throws IoError if it cannot be read or a line is broken (`E_ARCHIVE_LINE`, with its number)
 */
export async function openArchive(source: string | Readable, options: ArchiveOptions = {}): Promise<Cluster> {
  const archive = new ArchiveCluster(source, options)
  try {
    await archive.load()
  } catch (error) {
    await archive.close()
    throw error
  }
  return archive
}

/** By its first line, which may be torn: an exported topic of that name is a topic. */
async function isLedger({handle}: ArchiveFile): Promise<boolean> {
  const head = Buffer.alloc(LEDGER_HEAD.length)
  const {bytesRead} = await handle.read(head, 0, head.length, 0)
  return head.subarray(0, bytesRead).equals(LEDGER_HEAD.subarray(0, bytesRead))
}

class ArchiveCluster implements Cluster {
  readonly description: ClusterDescription
  readonly reader: ArchiveReader
  readonly writer: ClusterWriter
  readonly admin: ClusterAdmin
  readonly #source: string | Readable
  readonly #options: ArchiveOptions
  /** Topics without records and their partition counts. */
  readonly #empty = new Map<string, number>()
  /** By path, or by name for a stream. */
  readonly #files = new Map<string, ArchiveFile>()
  #index: ArchiveIndex = new Map()
  #directory: string | null = null
  #appender: ArchiveAppender | null = null
  /** Written since the index was last asked for. */
  #appended: AppendedRun[] = []
  #merging: Promise<void> = Promise.resolve()
  #closed = false

  constructor(source: string | Readable, options: ArchiveOptions) {
    this.#source = source
    this.#options = options
    const path = typeof source === 'string' ? source : '-'
    this.description = {kind: 'archive', clusterId: `archive:${path}`, name: options.name ?? path}
    this.reader = new ArchiveReader(() => this.#contents())
    this.writer = {open: session => this.#openSession(session), openTransactional: noTransactions}
    this.admin = {
      topicConfigs: topics => this.#topicConfigs(topics),
      createTopic: topic => this.#createTopic(topic),
      committedOffsets: groupId => noGroups(groupId),
      activeProducers: async () => [],
      transactionsOf: async () => [],
      groups: async () => [],
      groupConfigs: async () => [],
    }
  }

  async load(): Promise<void> {
    const source = this.#source
    const {signal, create = false, skipBadLines = false, onBadLine} = this.#options
    if (typeof source !== 'string') {
      this.#files.set('-', await openArchiveStream(source, this.description.name, signal))
    } else if (await isDirectory(source, create)) {
      this.#directory = source
      await this.#openDirectory(source, signal)
    } else {
      this.#files.set(source, await openArchiveFile(source, signal))
    }
    this.#index = await indexArchive([...this.#files.values()], {
      signal,
      onBadLine: error => {
        if (!skipBadLines) throw error
        onBadLine?.(error)
      },
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    const appender = this.#appender
    this.#appender = null
    await appender?.close()
    await Promise.allSettled([this.#merging])
    const files = [...this.#files.values()]
    this.#files.clear()
    await Promise.all(files.map(file => file.close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #contents(): Promise<ArchiveContents> {
    if (this.#closed) throw new BugError('the archive is closed')
    // One after the other; a failed one has told its own caller.
    this.#merging = this.#merging.catch(() => undefined).then(() => this.#merge())
    await this.#merging
    return {index: this.#index, empty: this.#empty}
  }

  /** Take what was written into the index, opening files that are new. */
  async #merge(): Promise<void> {
    for (const run of this.#appended.splice(0)) {
      let file = this.#files.get(run.path)
      if (file === undefined) {
        file = await openArchiveFile(run.path)
        this.#files.set(run.path, file)
      }
      addRun(this.#index, run.topic, run.partition, {...run, file, firstLine: null})
    }
  }

  async #openDirectory(directory: string, signal: AbortSignal | undefined): Promise<void> {
    for (const entry of (await readdir(directory)).sort()) {
      const topic = ARCHIVE_NAME.exec(entry)?.groups?.['topic']
      if (topic === undefined) continue
      const path = join(directory, entry)
      const file = await openArchiveFile(path, signal)
      if (entry === LEDGER_NAME && (await isLedger(file))) {
        await file.close()
        continue
      }
      this.#files.set(path, file)
      if (file.size === 0) this.#empty.set(topic, 0)
    }
  }

  async #openSession(options: ProducerOptions): Promise<ProducerSession> {
    const directory = this.#writableDirectory()
    if (options.transactionalId !== null) {
      throw new RefusedError('an archive has no transactions', {code: 'E_ARCHIVE_TRANSACTION'})
    }
    await this.#contents()
    this.#appender ??= new ArchiveAppender(directory, {
      nextOffset: (topic, partition) => {
        const last = this.#index.get(topic)?.get(partition)?.runs.at(-1)
        return last === undefined ? 0n : last.lastOffset + 1n
      },
      onAppended: runs => this.#appended.push(...runs),
    })
    return new ArchiveSession(this.#appender)
  }

  async #topicConfigs(topics: readonly string[]): Promise<readonly TopicConfigs[]> {
    const {index, empty} = await this.#contents()
    return topics.map(topic => ({
      topic,
      configs: new Map(),
      error: index.has(topic) || empty.has(topic) ? null : unknownTopic(topic),
    }))
  }

  async #createTopic({name, partitions}: NewTopic): Promise<void> {
    const directory = this.#writableDirectory()
    if (!isLegalTopicName(name)) {
      throw new RefusedError('the topic name is not legal', {code: 'E_TOPIC_NAME', context: {topic: name}})
    }
    const {index, empty} = await this.#contents()
    if (index.has(name) || empty.has(name)) {
      throw new KafkaError('the topic exists', {code: 'E_TOPIC_ALREADY_EXISTS', context: {topic: name}})
    }
    const handle = await open(join(directory, `${name}.ndjson`), 'a')
    await handle.close()
    this.#empty.set(name, Math.max(1, partitions))
  }

  #writableDirectory(): string {
    if (this.#directory !== null) return this.#directory
    throw new RefusedError('only a directory archive can be written to', {
      code: 'E_ARCHIVE_READ_ONLY',
      hints: ['name a directory; it will hold one TOPIC.ndjson a topic'],
      context: {archive: basename(this.description.name)},
    })
  }
}

async function isDirectory(path: string, create: boolean): Promise<boolean> {
  if (create) {
    try {
      await mkdir(path, {recursive: true})
      return true
    } catch (cause) {
      throw cannotWrite(path, cause)
    }
  }
  // What cannot be looked at is reported by the one who opens it.
  return stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}

async function noGroups(groupId: string): Promise<readonly CommittedOffset[]> {
  throw new KafkaError('an archive has no consumer groups', {code: 'E_GROUP_ID_NOT_FOUND', context: {groupId}})
}

async function noTransactions(): Promise<never> {
  throw new UsageError('an archive has no transactions', {
    code: 'E_NO_TRANSACTIONS',
    hints: ['replay into a topic, or without transactions: --delivery at-least-once'],
  })
}
