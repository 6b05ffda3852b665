import {Readable} from 'node:stream'
import {openArchive} from '../../../src/lib/kafka/archive/archive-cluster.ts'
import {formatArchiveLine} from '../../../src/lib/kafka/archive/line-codec.ts'
import type {
  Cluster,
  ConfigEntry,
  OutgoingBatch,
  ProduceResult,
  ProducerSession,
  TopicConfigs,
} from '../../../src/lib/kafka/ports.ts'
import type {Failure} from '../../../src/lib/dialects/model.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {connectSet, header} from '../../support/replay-letters.ts'
import {DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import type {CheckSubject} from '../../../src/lib/replay/checks.ts'
import type {PlanInput} from '../../../src/lib/replay/plan-input.ts'
import {ORIGIN_TARGET} from '../../../src/lib/replay/target.ts'
import {freezeSelection} from '../../../src/lib/dead-letter/freeze.ts'
import {KafkaError} from '../../../src/lib/errors.ts'
import {selectAll} from '../../../src/lib/select/selection.ts'
import {FakeClock} from '../../support/fake-clock.ts'

export const NOW = 1_764_500_000_000

export {connectSet, header}

export type Partial = {-readonly [name in keyof KafkaRecord]?: KafkaRecord[name]}

/** A dead letter of `orders-dlq`, from partition 3 of `orders` at the same offset, unless said otherwise. */
export function deadLetter(offset: number, over: Partial = {}): KafkaRecord {
  return {
    topic: 'orders-dlq',
    partition: 0,
    offset: BigInt(offset),
    timestamp: BigInt(NOW - 60_000),
    timestampType: 'CreateTime',
    key: Buffer.from(`k-${offset}`),
    value: Buffer.from(`v-${offset}`),
    headers: [header('trace', 'abc'), ...connectSet('orders', 3, 1000 + offset)],
    ...over,
  }
}

/** What a check looks at: a dead letter on its way to partition 3 of `orders`, about which nothing is wrong. */
export function checkSubject(
  failure: Failure,
  over: {-readonly [name in keyof CheckSubject]?: CheckSubject[name]} = {},
): CheckSubject {
  return {
    record: deadLetter(0),
    failure,
    destination: {kind: 'known', topic: 'orders', partition: 3, fallback: null},
    facts: null,
    readTopics: new Set(),
    timestamp: BigInt(NOW),
    timestampKept: true,
    timestampLost: false,
    outgoingBytes: 100,
    deadLetterBytes: () => 200,
    nowMs: BigInt(NOW),
    stale: null,
    ...over,
  }
}

const opened: Cluster[] = []

/** Close what `archiveOf` and `archiveAt` opened; for afterEach. */
export async function closeArchives(): Promise<void> {
  await Promise.all(opened.splice(0).map(cluster => cluster.close()))
}

/** An archive on a stream that holds these records. */
export async function archiveOf(records: readonly KafkaRecord[]): Promise<Cluster> {
  return archiveAt(Readable.from(records.map(record => Buffer.from(`${formatArchiveLine(record)}\n`))))
}

/** An archive that is closed behind the test. */
export async function archiveAt(source: string | Readable): Promise<Cluster> {
  const cluster = await openArchive(source)
  opened.push(cluster)
  return cluster
}

/** A plan's input over everything in a cluster. */
export async function inputFor(
  cluster: Cluster,
  over: {-readonly [name in keyof PlanInput]?: PlanInput[name]} = {},
): Promise<PlanInput> {
  return {
    selection: await freezeSelection(cluster, selectAll([{kind: 'all'}]), {
      clock: new FakeClock({now: NOW}),
      readBaseline: async () => [],
    }),
    target: ORIGIN_TARGET,
    headers: DEFAULT_HEADER_POLICY,
    timestamp: 'original',
    rate: null,
    bytesRate: null,
    compression: 'none',
    order: 'dlq',
    delivery: 'at-least-once',
    ledger: {kind: 'none'},
    handled: 'show',
    maxAttempts: 3,
    allow: [],
    skip: [],
    ...over,
  }
}

export interface FakeTopic {
  readonly partitions: number
  readonly id?: string
  readonly configs?: Readonly<Record<string, string>>
  readonly configError?: TopicConfigs['error']
}

/** A target that keeps what it is sent, and answers as a test says. */
export class FakeTarget implements Cluster {
  readonly description
  readonly written: KafkaRecord[] = []
  /** Calls of `produce`, by their batches. */
  readonly calls: {readonly topic: string; readonly partition: number; readonly records: number}[][] = []
  opened = 0
  closed = 0
  /** What to answer instead of writing; null = write. */
  answer: (
    batch: OutgoingBatch,
    records: readonly KafkaRecord[],
  ) => Pick<ProduceResult, 'error' | 'recordErrors'> | null = () => null
  /** Awaited before a call is answered. */
  before: (() => Promise<void>) | null = null
  readonly topics: Map<string, FakeTopic>
  readonly #next = new Map<string, bigint>()

  constructor(topics: Readonly<Record<string, FakeTopic>>, clusterId = 'target-cluster') {
    this.topics = new Map(Object.entries(topics))
    this.description = {kind: 'kafka' as const, clusterId, name: 'fake:9092'}
  }

  readonly reader: Cluster['reader'] = {
    topics: async names =>
      (names ?? [...this.topics.keys()]).map(name => {
        const topic = this.topics.get(name)
        return {
          name,
          id: topic?.id ?? null,
          internal: false,
          partitions: Array.from({length: topic?.partitions ?? 0}, (_, partition) => ({
            partition,
            leader: 1,
            error: null,
          })),
          error: topic === undefined ? new KafkaError('unknown topic', {code: 'E_UNKNOWN_TOPIC_OR_PARTITION'}) : null,
        }
      }),
    offsets: async () => [],
    read: () => {
      throw new Error('the target is not read')
    },
  }

  readonly admin: Cluster['admin'] = {
    topicConfigs: async names =>
      names.map(topic => {
        const known = this.topics.get(topic)
        const entries = Object.entries(known?.configs ?? {})
        return {
          topic,
          configs: new Map<string, ConfigEntry>(entries.map(([name, value]) => [name, {value, isDefault: false}])),
          error: known?.configError ?? null,
        }
      }),
    createTopic: async () => undefined,
    committedOffsets: async () => [],
    groups: async () => [],
    groupConfigs: async () => [],
    activeProducers: async () => [],
    transactionsOf: async () => [],
  }

  readonly writer: Cluster['writer'] = {
    open: async () => {
      this.opened++
      return this.#session()
    },
    openTransactional: async () => {
      throw new Error('the target has no transactions')
    },
  }

  async close(): Promise<void> {
    this.closed++
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #session(): ProducerSession {
    const close = async (): Promise<void> => {
      this.closed++
    }
    return {
      produce: async batches => {
        this.calls.push(batches.map(({topic, partition, records}) => ({topic, partition, records: records.count})))
        await this.before?.()
        return batches.map(batch => this.#write(batch))
      },
      close,
      [Symbol.asyncDispose]: close,
    }
  }

  #write(batch: OutgoingBatch): ProduceResult {
    const {topic, partition} = batch
    const key = `${topic}:${partition}`
    const baseOffset = this.#next.get(key) ?? 0n
    const records: KafkaRecord[] = []
    const cursor = batch.records.view({baseOffset, timestampType: 'CreateTime'}).cursor()
    while (cursor.next()) records.push(cursor.toRecord(topic, partition))
    const refused = this.answer(batch, records)
    if (refused !== null) return {topic, partition, baseOffset: null, logAppendTimeMs: null, ...refused}
    this.written.push(...records)
    this.#next.set(key, baseOffset + BigInt(records.length))
    return {topic, partition, baseOffset, logAppendTimeMs: null, error: null, recordErrors: []}
  }
}
