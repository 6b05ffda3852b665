import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {createInterface} from 'node:readline'
import type {ArchiveRecord, SourceRecord} from './archive-record.ts'
import type {KafkaLibs} from './libs.ts'
import {toolJvmArguments} from './tools.ts'

/** Where a written record lies. */
interface RecordPlace {
  readonly partition: number
  /** Decimal string. */
  readonly offset: string
}

/** `id` is the transactional id: one producer each, open until `close`, also between calls. */
export type TransactionStep =
  | {readonly id: string; readonly do: 'begin' | 'commit' | 'abort' | 'close'}
  | {readonly id: string; readonly do: 'send'; readonly records: readonly SourceRecord[]}

interface NewTopicOptions {
  readonly partitions?: number
  readonly configs?: Readonly<Record<string, string>>
}

type IsolationLevel = 'read_committed' | 'read_uncommitted'

/** Kafka's Java client in one long-running process; commands run one after the other. */
export interface JavaHelper extends AsyncDisposable {
  createTopic(topic: string, options?: NewTopicOptions): Promise<void>
  deleteTopic(topic: string): Promise<void>
  /** Records below `before` are deleted. */
  deleteRecords(topic: string, partition: number, before: string): Promise<void>
  /** Committed offsets of a group; empty when it has none. */
  committedOffsets(group: string): Promise<(RecordPlace & {readonly topic: string})[]>
  commitOffset(group: string, topic: string, partition: number, offset: string): Promise<void>
  /** @param config producer properties, such as `compression.type`, `linger.ms` */
  produce(records: readonly SourceRecord[], config?: Readonly<Record<string, string>>): Promise<RecordPlace[]>
  /** Run a script of steps over several transactions at once; answers the places of all records sent. */
  transactions(steps: readonly TransactionStep[], config?: Readonly<Record<string, string>>): Promise<RecordPlace[]>
  /** All records up to the present end, by partition and offset. */
  consume(topic: string, isolationLevel?: IsolationLevel): Promise<ArchiveRecord[]>
  /** By partition: last stable offset, or high watermark for read_uncommitted. */
  endOffsets(topic: string, isolationLevel?: IsolationLevel): Promise<string[]>
  close(): Promise<void>
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

/** Start the helper; it ends with this process. Its first command waits for the JVM (about a second). */
export function startJavaHelper(libs: KafkaLibs, bootstrapServers: string): JavaHelper {
  const child = spawn('java', [...toolJvmArguments(libs), 'org.kdlq.sandbox.Helper', bootstrapServers], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const waiting = new Map<number, (answer: Answer) => void>()
  let lastId = 0
  let talk = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    talk = (talk + text).slice(-4000)
  })
  createInterface({input: child.stdout}).on('line', line => {
    const answer = JSON.parse(line) as Answer
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  const failAll = (reason: string): void => {
    for (const [id, settle] of waiting) settle({id, error: `${reason}\n${talk}`})
    waiting.clear()
  }
  child.once('error', error => failAll(error.message))
  child.once('exit', () => failAll('the helper ended'))
  // A helper that died says so through its exit; the write into its closed pipe adds nothing.
  child.stdin.on('error', () => undefined)

  const call = async (command: string, fields: object): Promise<unknown> => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the helper ended\n${talk}`)
    lastId += 1
    const id = lastId
    const answer = new Promise<Answer>(resolve => waiting.set(id, resolve))
    child.stdin.write(`${JSON.stringify({id, command, ...fields})}\n`)
    const {error, result} = await answer
    if (error !== undefined) throw new Error(`${command}: ${error}`)
    return result
  }
  const close = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.stdin.end()
    await exit
  }
  return {
    async createTopic(topic, options = {}) {
      await call('createTopic', {topic, ...options})
    },
    async deleteTopic(topic) {
      await call('deleteTopic', {topic})
    },
    async deleteRecords(topic, partition, before) {
      await call('deleteRecords', {topic, partition, before})
    },
    committedOffsets: async group =>
      (await call('committedOffsets', {group})) as (RecordPlace & {readonly topic: string})[],
    async commitOffset(group, topic, partition, offset) {
      await call('commitOffset', {group, topic, partition, offset})
    },
    produce: async (records, config = {}) => (await call('produce', {records, config})) as RecordPlace[],
    transactions: async (steps, config = {}) => (await call('transactions', {steps, config})) as RecordPlace[],
    consume: async (topic, isolationLevel = 'read_committed') =>
      (await call('consume', {topic, isolationLevel})) as ArchiveRecord[],
    endOffsets: async (topic, isolationLevel = 'read_committed') =>
      (await call('endOffsets', {topic, isolationLevel})) as string[],
    close,
    [Symbol.asyncDispose]: close,
  }
}
