import {KafkaError} from '../../../src/lib/errors.ts'
import type {
  Cluster,
  CommittedOffset,
  OffsetAnswer,
  OffsetQuery,
  ReadRange,
  ReadRequest,
  RecordBlock,
  TopicDescription,
} from '../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {RecordBatchBuilder} from '../../../src/lib/kafka/records/batch-builder.ts'
import {parseBatches} from '../../../src/lib/kafka/records/batch-view.ts'
import type {RecordBatchView} from '../../../src/lib/kafka/records/types.ts'

/** Some offsets of a partition's log. Data needs records; control and aborted ones only cover their offsets. */
export interface LogPart {
  readonly records: readonly KafkaRecord[]
  readonly kind?: 'data' | 'control' | 'aborted'
  readonly transactional?: boolean
  readonly broken?: boolean
}

export interface Log {
  readonly parts: readonly LogPart[]
  /** Default: the first record's offset. */
  readonly start?: bigint
  /** Default: the end. */
  readonly lastStable?: bigint
  /** Default: one behind the last record. */
  readonly end?: bigint
  readonly unavailable?: boolean
  /** Blocks without anything that come first, as from a broker that is slow to answer. */
  readonly emptyBlocks?: number
  /** The reader stops here and says why. */
  readonly incomplete?: 'truncated' | 'deleted'
}

export type Logs = Readonly<Record<string, readonly Log[]>>

/** A cluster in memory that keeps what it was asked and cannot be written to. */
export class ScanCluster implements Pick<Cluster, 'description' | 'reader'> {
  readonly description = {kind: 'kafka', clusterId: 'c-1', name: 'localhost:9092'} as const
  readonly reads: ReadRequest[] = []
  readonly offsetQueries: OffsetQuery[] = []
  committed: Readonly<Record<string, readonly CommittedOffset[]>> = {}
  /** Reads that were ended, by themselves or by whoever read. */
  closed = 0
  blocks = 0
  readonly #logs: Logs

  constructor(logs: Logs) {
    this.#logs = logs
  }

  get cluster(): Cluster {
    const refuse = (): never => {
      throw new Error('a scan never writes')
    }
    return {
      description: this.description,
      reader: this.reader,
      writer: {open: refuse, openTransactional: refuse},
      admin: {
        topicConfigs: refuse,
        createTopic: refuse,
        committedOffsets: group => Promise.resolve(this.committed[group] ?? []),
        activeProducers: refuse,
        transactionsOf: refuse,
        groups: refuse,
        groupConfigs: refuse,
      },
      close: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  }

  readonly reader: Cluster['reader'] = {
    topics: names => Promise.resolve((names ?? Object.keys(this.#logs)).map(name => this.#describe(name))),
    offsets: queries => Promise.resolve(queries.map(query => this.#offset(query))),
    read: (request, options) => this.#read(request, options?.signal),
  }

  #describe(name: string): TopicDescription {
    const logs = this.#logs[name]
    return {
      name,
      id: logs === undefined ? null : `id-${name}`,
      internal: name.startsWith('__'),
      partitions: (logs ?? []).map((_, partition) => ({partition, leader: 1, error: null})),
      error: logs === undefined ? new KafkaError('unknown', {code: 'E_UNKNOWN_TOPIC_OR_PARTITION'}) : null,
    }
  }

  #offset(query: OffsetQuery): OffsetAnswer {
    this.offsetQueries.push(query)
    const {topic, partition, at} = query
    const log = this.#logs[topic]?.[partition]
    if (log === undefined || log.unavailable === true) {
      return {topic, partition, offset: null, error: new KafkaError('no leader', {code: 'E_LEADER_NOT_AVAILABLE'})}
    }
    return {topic, partition, offset: offsetAt(log, at), error: null}
  }

  async *#read(request: ReadRequest, signal: AbortSignal | undefined): AsyncGenerator<RecordBlock, void, undefined> {
    this.reads.push(request)
    const places = new Set(request.ranges.map(({topic, partition}) => `${topic}:${partition}`))
    if (places.size < request.ranges.length) throw new Error('a fetch cannot ask for a partition twice')
    try {
      for (const range of request.ranges) {
        for await (const block of this.#readRange(range, request)) {
          signal?.throwIfAborted()
          this.blocks += 1
          yield block
        }
      }
    } finally {
      this.closed += 1
    }
  }

  async *#readRange(range: ReadRange, request: ReadRequest): AsyncGenerator<RecordBlock, void, undefined> {
    await Promise.resolve()
    const log = this.#logs[range.topic]?.[range.partition]
    if (log === undefined) return
    const end = range.to ?? endOf(log)
    const parts = log.parts.filter(part => lastOf(part) >= range.from && firstOf(part) < end)
    for (let empty = 0; empty < (log.emptyBlocks ?? 0); empty++) yield block(range, null, range.from, {done: false})
    if (parts.length === 0) yield block(range, null, end, {done: true})
    for (const [index, part] of parts.entries()) {
      const isLast = index === parts.length - 1
      const visible =
        part.kind !== 'control' && (part.kind !== 'aborted' || request.isolationLevel === 'read_uncommitted')
      const count = part.records.length
      yield block(range, visible ? part : null, isLast ? end : lastOf(part) + 1n, {
        done: isLast,
        control: part.kind === 'control' ? count : 0,
        aborted: part.kind === 'aborted' && !visible ? count : 0,
        incomplete: isLast ? log.incomplete : undefined,
      })
    }
  }
}

function block(
  range: ReadRange,
  part: LogPart | null,
  nextOffset: bigint,
  extra: {done: boolean; control?: number; aborted?: number; incomplete?: 'truncated' | 'deleted' | undefined},
): RecordBlock {
  const {control = 0, aborted = 0, incomplete} = extra
  return {
    ...range,
    batches: part === null ? [] : [batchOf(part)],
    nextOffset,
    bytes: part === null ? 0 : batchOf(part).sizeInBytes,
    controlRecords: control,
    abortedRecords: aborted,
    notices: incomplete === undefined ? [] : [{kind: 'incomplete', at: nextOffset, reason: incomplete, error: null}],
    throttleMs: 0,
    done: extra.done,
  }
}

/** Records as a real batch: encoded, and read back by the codec. */
export function batchOf({records, transactional = false, broken = false}: LogPart): RecordBatchView {
  const base = records[0]?.offset ?? 0n
  const builder = new RecordBatchBuilder()
  for (const record of records) builder.append(record, Number(record.offset - base))
  const bytes = builder.encode({
    compression: 'none',
    producerId: 7n,
    producerEpoch: 0,
    baseSequence: 0,
    transactional,
  })
  bytes.writeBigInt64BE(base, 0)
  if (broken) bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
  const [batch] = parseBatches(bytes).batches
  if (batch === undefined) throw new Error('no batch')
  return batch
}

function firstOf({records}: LogPart): bigint {
  return records[0]?.offset ?? 0n
}

function lastOf({records}: LogPart): bigint {
  return records.at(-1)?.offset ?? 0n
}

function endOf({parts, end}: Log): bigint {
  const last = parts.at(-1)
  return end ?? (last === undefined ? 0n : lastOf(last) + 1n)
}

function offsetAt(log: Log, at: OffsetQuery['at']): bigint | null {
  if (at === 'earliest') return log.start ?? (log.parts[0] === undefined ? 0n : firstOf(log.parts[0]))
  if (at === 'latest') return endOf(log)
  if (at === 'last-stable') return log.lastStable ?? endOf(log)
  const records = log.parts.flatMap(part => part.records)
  return records.find(({timestamp}) => (timestamp ?? -1n) >= at.timestampMs)?.offset ?? null
}
