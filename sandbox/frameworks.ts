import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {createWriteStream} from 'node:fs'
import {mkdir} from 'node:fs/promises'
import {join} from 'node:path'
import {createInterface} from 'node:readline'
import type {ArchiveRecord} from './archive-record.ts'
import {ensureFrameworkLibs} from './framework-libs.ts'
import {SMALL_JVM} from './java-process.ts'
import {sandboxDir, SandboxError} from './paths.ts'

/** How records with the word `poison` in them, and unreadable ones, are treated: they fail, fail otherwise, or pass. */
export type FaultMode = 'failing' | 'again' | 'healed'

/** Who processed a record: a Spring listener of one of three kinds, Kafka Streams, or a member of a share group. */
export type FrameworkName = 'spring-blocking' | 'spring-retry' | 'spring-deserializer' | 'streams' | 'share'

/** Where each framework reads, and where its dead letters go. Spring makes the retry topics itself. */
export const FRAMEWORK_TOPICS: Readonly<Record<FrameworkName, {readonly source: string; readonly dlq: string}>> = {
  'spring-blocking': {source: 'fw-orders', dlq: 'fw-orders-dlt'},
  'spring-retry': {source: 'fw-trips', dlq: 'fw-trips-dlt'},
  'spring-deserializer': {source: 'fw-invoices', dlq: 'fw-invoices-dlt'},
  streams: {source: 'fw-streams', dlq: 'fw-streams-dlq'},
  share: {source: 'fw-shared', dlq: 'dlq.fw-shared'},
}

interface ProcessedRecord {
  readonly by: FrameworkName
  readonly record: ArchiveRecord
}

export interface Frameworks extends AsyncDisposable {
  /** What the frameworks and their libraries say. */
  readonly logFile: string
  /** Resolves when it holds. */
  setMode(mode: FaultMode): Promise<void>
  /** Records that passed so far, in the order in which they did. */
  processed(): readonly ProcessedRecord[]
  close(): Promise<void>
}

interface Event {
  readonly event: string
  readonly by?: FrameworkName
  readonly record?: ArchiveRecord
}

/**
 * Start Spring Kafka, Kafka Streams and a share consumer in one JVM that ends with this process. They start in mode
 * `failing`, from the beginning of topics that they create (`FRAMEWORK_TOPICS`, two partitions): once a broker.
 * @throws SandboxError with its log's name when it ends before it is ready
 */
export async function startFrameworks(options: {
  readonly bootstrapServers: string
  /** Folder for log and state; made when it is missing. */
  readonly dir: string
}): Promise<Frameworks> {
  const classPath = await ensureFrameworkLibs()
  await mkdir(options.dir, {recursive: true})
  const logFile = join(options.dir, 'frameworks.log')
  const child = spawn('java', [...jvmArguments(options.dir), '-cp', classPath, MAIN, options.bootstrapServers], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stderr.pipe(createWriteStream(logFile))
  child.stdin.on('error', () => undefined)
  const processed: ProcessedRecord[] = []
  const waiting = new Map<string, PromiseWithResolvers<void>>()
  createInterface({input: child.stdout}).on('line', line => {
    const {event, by, record} = JSON.parse(line) as Event
    if (by !== undefined && record !== undefined) processed.push({by, record})
    waiting.get(event)?.resolve()
  })
  const ended = (reason: string): void => {
    for (const each of waiting.values()) each.reject(new SandboxError(`the frameworks ${reason}: see ${logFile}`))
  }
  child.once('error', error => ended(error.message))
  child.once('exit', () => ended('ended'))
  const next = async (event: string): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new SandboxError(`the frameworks ended: see ${logFile}`)
    const promised = Promise.withResolvers<void>()
    waiting.set(event, promised)
    await promised.promise
    waiting.delete(event)
  }
  const close = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.stdin.end()
    await exit
  }
  await next('ready')
  return {
    logFile,
    async setMode(mode) {
      const done = next(mode)
      child.stdin.write(`${mode}\n`)
      await done
    },
    processed: () => [...processed],
    close,
    [Symbol.asyncDispose]: close,
  }
}

const MAIN = 'org.kdlq.sandbox.frameworks.Frameworks'

function jvmArguments(dir: string): string[] {
  return [
    ...SMALL_JVM,
    `-Dlog4j2.configurationFile=${join(sandboxDir, 'log4j2.properties')}`,
    '-Dkdlq.log.target=SYSTEM_ERR',
    `-Dkdlq.state.dir=${join(dir, 'streams')}`,
  ]
}
