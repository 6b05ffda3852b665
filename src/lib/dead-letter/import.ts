import type {Clock} from '../clock.ts'
import {systemClock} from '../clock.ts'
import {PartialFailureError, RefusedError, type KdlqError} from '../errors.ts'
import type {CallOptions, Cluster, NewTopic, OutgoingBatch, ProducerSession, ProduceResult} from '../kafka/ports.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {RecordBatchBuilder} from '../kafka/records/batch-builder.ts'
import type {CompressionType} from '../kafka/records/types.ts'
import type {DeadLetter} from './model.ts'

/** Batches are at most this large before compression, or as large as their one record. */
const BATCH_BYTES = 900 * 1024
/** All open batches together. */
const CHUNK_BYTES = 8 * 1024 * 1024
const DELIVERY_TIMEOUT_MS = 30_000
/** Room for keys, headers and framing in a topic that is created for large records. */
const DEFAULT_MAX_MESSAGE_BYTES = 1_048_588

export interface ImportRule {
  /** Target for all records; null = each record's own topic. */
  readonly topic: string | null
  /** Write to the partition number of the archive line; else by key. */
  readonly keepPartition: boolean
  /** Partition for a key, as Kafka's Java producer chooses it. */
  readonly partitionForKey: (key: Uint8Array, partitions: number) => number
}

/** What an import would write; JSON as it is. */
export interface ImportPlan {
  readonly targets: readonly ImportTarget[]
  readonly records: number
  /** Topics that do not exist and would be created. */
  readonly create: readonly (NewTopic & {readonly configs: Readonly<Record<string, string>>})[]
  readonly warnings: readonly string[]
}

export interface ImportTarget {
  readonly topic: string
  readonly partition: number
  readonly count: number
}

interface Survey {
  /** Records by source partition, per target topic. */
  readonly partitions: Map<string, Map<number, number>>
  readonly largest: Map<string, number>
  oldest: bigint | null
  records: number
}

/**
 * Reads the archive once and says what an import would do; writes nothing.
 * @param create make missing topics, with `retention.ms=-1`: dead letters keep old timestamps
 * @throws RefusedError for a missing topic without `create`, and for a partition that the target does not have
 */
export async function planImport(
  records: AsyncIterable<Pick<DeadLetter, 'record'>>,
  target: Pick<Cluster, 'reader' | 'admin'>,
  rule: ImportRule,
  {create, nowMs, ...options}: CallOptions & {readonly create: boolean; readonly nowMs: number},
): Promise<ImportPlan> {
  const survey = await surveyOf(records, rule)
  const names = [...survey.partitions.keys()]
  const found = names.length === 0 ? [] : await target.reader.topics(names, options)
  const existing = new Map(
    found.filter(({error}) => error === null).map(({name, partitions}) => [name, partitions.length]),
  )
  const missing = names.filter(name => !existing.has(name))
  const [firstMissing] = missing
  if (firstMissing !== undefined && !create) {
    throw new RefusedError(`topic ${firstMissing} does not exist`, {
      code: 'E_TARGET_MISSING',
      hints: ['add --create to create it, or name another one with --topic'],
      context: {topics: missing},
    })
  }
  const newTopics = missing.map(name => newTopic(name, survey))
  for (const {name, partitions} of newTopics) existing.set(name, partitions)
  const targets = names.flatMap(topic => targetsOf(topic, survey, existing.get(topic) ?? 0, rule))
  return {
    targets,
    records: survey.records,
    create: newTopics,
    warnings: await retentionWarnings(
      survey,
      names.filter(name => !missing.includes(name)),
      target,
      nowMs,
      options,
    ),
  }
}

async function surveyOf(records: AsyncIterable<Pick<DeadLetter, 'record'>>, rule: ImportRule): Promise<Survey> {
  const survey: Survey = {partitions: new Map(), largest: new Map(), oldest: null, records: 0}
  for await (const {record} of records) {
    const topic = rule.topic ?? record.topic
    const counts = survey.partitions.get(topic) ?? new Map<number, number>()
    survey.partitions.set(topic, counts)
    counts.set(record.partition, (counts.get(record.partition) ?? 0) + 1)
    survey.largest.set(topic, Math.max(survey.largest.get(topic) ?? 0, sizeOf(record)))
    if (record.timestamp !== null && (survey.oldest === null || record.timestamp < survey.oldest))
      survey.oldest = record.timestamp
    survey.records += 1
  }
  return survey
}

function sizeOf({key, value, headers}: KafkaRecord): number {
  const headerBytes = headers.reduce((sum, header) => sum + header.name.length + (header.value?.length ?? 0) + 10, 0)
  return (key?.length ?? 0) + (value?.length ?? 0) + headerBytes + 128
}

function newTopic(name: string, {partitions, largest}: Survey): NewTopic {
  const size = largest.get(name) ?? 0
  const configs: Record<string, string> = {'retention.ms': '-1'}
  if (size > DEFAULT_MAX_MESSAGE_BYTES) configs['max.message.bytes'] = `${size * 2}`
  return {name, partitions: Math.max(0, ...(partitions.get(name)?.keys() ?? [])) + 1, replicationFactor: -1, configs}
}

function targetsOf(topic: string, {partitions}: Survey, existing: number, rule: ImportRule): ImportTarget[] {
  const counts = partitions.get(topic) ?? new Map<number, number>()
  if (!rule.keepPartition)
    return [{topic, partition: -1, count: [...counts.values()].reduce((sum, count) => sum + count, 0)}]
  return [...counts]
    .toSorted(([left], [right]) => left - right)
    .map(([partition, count]) => {
      if (partition >= existing) {
        throw new RefusedError(
          `topic ${topic} has ${existing} partitions, the archive has records of partition ${partition}`,
          {
            code: 'E_TARGET_PARTITION',
            hints: ['leave out --keep-partition to choose partitions by key'],
            context: {topic, partition},
          },
        )
      }
      return {topic, partition, count}
    })
}

/** The broker deletes records that are older than the topic's retention soon after they were written. */
async function retentionWarnings(
  {oldest}: Survey,
  topics: readonly string[],
  {admin}: Pick<Cluster, 'admin'>,
  nowMs: number,
  options: CallOptions,
): Promise<readonly string[]> {
  if (oldest === null || topics.length === 0) return []
  const warnings: string[] = []
  for (const {topic, configs} of await admin.topicConfigs(topics, options)) {
    const retention = configs.get('retention.ms')?.value ?? null
    const isDeleted = (configs.get('cleanup.policy')?.value ?? 'delete').includes('delete')
    if (retention === null || !isDeleted || !/^[0-9]+$/.test(retention)) continue
    if (oldest + BigInt(retention) < BigInt(nowMs)) {
      warnings.push(
        `${topic} keeps records for ${retention} ms: older ones of this archive will be deleted again soon (retention.ms)`,
      )
    }
  }
  return warnings
}

export interface ImportResult {
  /** Acknowledged by the target. */
  readonly imported: number
  readonly targets: readonly ImportTarget[]
}

/**
 * Creates what the plan says and writes all records, in order within each partition; timestamps are kept.
 * @throws PartialFailureError when a batch was refused after others were written, else the refusal itself
 */
export async function importRecords(
  records: AsyncIterable<Pick<DeadLetter, 'record'>>,
  target: Cluster,
  plan: ImportPlan,
  rule: ImportRule,
  {
    compression,
    onProgress,
    clock = systemClock,
    ...options
  }: CallOptions & {
    readonly compression: CompressionType
    readonly clock?: Clock | undefined
    readonly onProgress?: ((imported: number) => void) | undefined
  },
): Promise<ImportResult> {
  for (const topic of plan.create) await target.admin.createTopic(topic, options)
  const counts = new Map(plan.create.map(({name, partitions}) => [name, partitions]))
  const names = [...new Set(plan.targets.map(({topic}) => topic))].filter(name => !counts.has(name))
  const described = names.length === 0 ? [] : await target.reader.topics(names, options)
  for (const {name, partitions} of described) counts.set(name, partitions.length)
  await using session = await target.writer.open({
    compression,
    transactionalId: null,
    deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
  })
  const run = new ImportRun(session, counts, rule, {...options, clock})
  for await (const {record} of records) {
    options.signal?.throwIfAborted()
    if (await run.add(record)) onProgress?.(run.imported)
  }
  await run.flush()
  return {imported: run.imported, targets: run.targets()}
}

interface ImportOptions extends CallOptions {
  readonly clock: Clock
}

/** How long batches on their way may take to be acknowledged after an abort, ms; the rest of two seconds is for closing. */
const SETTLE_MS = 1500

/** One open batch a target partition, sent together. */
class ImportRun {
  imported = 0
  readonly #session: ProducerSession
  readonly #partitions: ReadonlyMap<string, number>
  readonly #rule: ImportRule
  readonly #options: ImportOptions
  readonly #open = new Map<string, {topic: string; partition: number; records: RecordBatchBuilder}>()
  readonly #written = new Map<string, ImportTarget>()
  #bytes = 0
  #unkeyed = 0

  constructor(
    session: ProducerSession,
    partitions: ReadonlyMap<string, number>,
    rule: ImportRule,
    options: ImportOptions,
  ) {
    this.#session = session
    this.#partitions = partitions
    this.#rule = rule
    this.#options = options
  }

  /** @returns true when a chunk was written */
  async add(record: KafkaRecord): Promise<boolean> {
    const topic = this.#rule.topic ?? record.topic
    const partition = this.#partitionOf(topic, record)
    const key = `${topic}:${partition}`
    let batch = this.#open.get(key)
    const size = sizeOf(record)
    const isFull =
      this.#bytes > 0 &&
      (this.#bytes + size > CHUNK_BYTES || (batch !== undefined && batch.records.sizeInBytes + size > BATCH_BYTES))
    if (isFull) {
      await this.flush()
      batch = undefined
    }
    if (batch === undefined) {
      batch = {topic, partition, records: new RecordBatchBuilder()}
      this.#open.set(key, batch)
    }
    batch.records.append(record)
    this.#bytes += size
    return isFull
  }

  async flush(): Promise<void> {
    const batches = [...this.#open.values()]
    this.#open.clear()
    this.#bytes = 0
    if (batches.length === 0) return
    const results = await this.#produce(batches)
    let failure: ProduceResult | null = null
    for (const [index, batch] of batches.entries()) {
      const result = results[index]
      if (result?.error !== null) {
        failure ??= result ?? null
        continue
      }
      const {topic, partition} = batch
      const before = this.#written.get(`${topic}:${partition}`)?.count ?? 0
      this.#written.set(`${topic}:${partition}`, {topic, partition, count: before + batch.records.count})
      this.imported += batch.records.count
    }
    if (failure !== null && failure.error !== null) throw this.#stopped(failure.error, failure)
  }

  /** An abort gives the batches on their way some time to be acknowledged, so that it is known what was written. */
  async #produce(batches: readonly OutgoingBatch[]): Promise<readonly ProduceResult[]> {
    const {clock, signal} = this.#options
    signal?.throwIfAborted()
    const giveUp = new AbortController()
    const done = new AbortController()
    const onAbort = (): void => {
      clock.sleep(SETTLE_MS, {signal: done.signal}).then(
        () => giveUp.abort(signal?.reason),
        () => undefined,
      )
    }
    signal?.addEventListener('abort', onAbort, {once: true})
    try {
      return await this.#session.produce(batches, {signal: giveUp.signal})
    } finally {
      done.abort()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  targets(): readonly ImportTarget[] {
    return [...this.#written.values()].toSorted((left, right) =>
      left.topic === right.topic ? left.partition - right.partition : left.topic < right.topic ? -1 : 1,
    )
  }

  #stopped(error: KdlqError, {topic, partition}: ProduceResult): KdlqError {
    if (this.imported === 0) return error
    return new PartialFailureError(`stopped at ${topic}:${partition}: ${error.message}`, {
      code: 'E_IMPORT_STOPPED',
      hints: [`${this.imported} records were written; importing again writes them twice`],
      context: {...error.context, topic, partition, imported: this.imported},
      cause: error,
    })
  }

  #partitionOf(topic: string, {partition, key}: KafkaRecord): number {
    if (this.#rule.keepPartition) return partition
    const partitions = Math.max(1, this.#partitions.get(topic) ?? 1)
    if (key !== null) return this.#rule.partitionForKey(key, partitions)
    // Without a key there is no order to keep: in turn, as producers spread them.
    this.#unkeyed += 1
    return (this.#unkeyed - 1) % partitions
  }
}
