import {setImmediate} from 'node:timers/promises'
import {clusterOver} from '../../../../src/lib/kafka/client/cluster.ts'
import type {KafkaCluster} from '../../../../src/lib/kafka/client/cluster.ts'
import type {FetchTuning} from '../../../../src/lib/kafka/client/fetch-tuning.ts'
import {TransportError} from '../../../../src/lib/kafka/client/transport-error.ts'
import type {
  FetchRequest,
  FetchResponse,
  FetchResponsePartitionData,
} from '../../../../src/lib/kafka/protocol/generated/fetch.ts'
import type {Api, ApiRange, Node, NodeId} from '../../../../src/lib/kafka/protocol/types.ts'
import {RecordBatchBuilder} from '../../../../src/lib/kafka/records/batch-builder.ts'
import type {
  Answer,
  ClusterMetadata,
  RequestOptions,
  TopicMetadata,
  Transport,
} from '../../../../src/lib/kafka/transport.ts'
import {FakeClock} from '../../../support/fake-clock.ts'

export interface Sent {
  readonly to: NodeId | 'any' | 'controller'
  readonly api: string
  readonly body: unknown
  readonly maxVersion: number | undefined
}

type Handler = (body: never, sent: Sent) => unknown

/** A transport that answers by handlers of the test, and keeps everything that was asked. */
export class FakeTransport implements Transport {
  readonly sent: Sent[] = []
  readonly features = new Map<string, number>()
  topics: readonly TopicMetadata[] = []
  /** Advertised range of every API. */
  range: ApiRange = {min: 0, max: 17}
  /** Thrown by metadata while set. */
  metadataError: Error | null = null
  metadataCalls = 0
  /** Called before each metadata answer, with the number of the call from 1. */
  onMetadata: ((call: number) => void) | null = null
  /** What FindCoordinator answers, with the number of the call from 1. */
  onCoordinator: (call: number) => NodeId = () => 1
  coordinatorCalls = 0
  /** Node ids of all brokers. */
  brokers: readonly NodeId[] = []
  closed = false
  readonly #handlers = new Map<string, Handler>()

  on<Req, Res>(api: Api<Req, Res>, handler: (body: Req, sent: Sent) => Res | Promise<Res>): void {
    this.#handlers.set(api.name, handler)
  }

  /** Bodies of all requests of this API, oldest first. */
  bodies<Req, Res>(api: Api<Req, Res>): Req[] {
    return this.sent.filter(({api: name}) => name === api.name).map(({body}) => body as Req)
  }

  async send<Req, Res>(
    to: NodeId | 'any' | 'controller',
    api: Api<Req, Res>,
    body: Req,
    options: RequestOptions = {},
  ): Promise<Answer<Res>> {
    options.signal?.throwIfAborted()
    const sent: Sent = {to, api: api.name, body, maxVersion: options.maxVersion}
    this.sent.push(sent)
    const handler = this.#handlers.get(api.name)
    if (handler === undefined) throw new Error(`the test has no handler for ${api.name}`)
    const {promise, reject} = Promise.withResolvers<never>()
    const abort = (): void => reject(options.signal?.reason)
    options.signal?.addEventListener('abort', abort, {once: true})
    try {
      // Answers come with the event loop's next turn, as from a socket.
      const answered = setImmediate().then(() => handler(body as never, sent))
      const answer = (await Promise.race([answered, promise])) as Res & {throttleTimeMs?: number}
      const version = Math.min(api.versions.max, this.range.max, options.maxVersion ?? api.versions.max)
      return {version, throttleMs: answer.throttleTimeMs ?? 0, body: answer}
    } finally {
      options.signal?.removeEventListener('abort', abort)
    }
  }

  async metadata(names: readonly string[] | null): Promise<ClusterMetadata> {
    this.metadataCalls++
    this.onMetadata?.(this.metadataCalls)
    await Promise.resolve()
    if (this.metadataError !== null) throw this.metadataError
    const topics = this.topics.filter(({name}) => names === null || names.includes(name))
    return {clusterId: 'c', controllerId: 1, topics}
  }

  supports(): ApiRange {
    return this.range
  }

  async coordinator(): Promise<NodeId> {
    await Promise.resolve()
    return this.onCoordinator(++this.coordinatorCalls)
  }

  nodes(): readonly Node[] {
    return this.brokers.map(id => ({id, host: `b${id}`, port: 9092, rack: null}))
  }

  controller(): NodeId {
    return 1
  }

  async connect(): Promise<void> {
    await Promise.resolve()
  }

  invalidate(): void {
    this.sent.push({to: 'any', api: 'invalidate', body: null, maxVersion: undefined})
  }

  async close(): Promise<void> {
    this.closed = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** Topic metadata with one leader for all partitions. */
export function topic(
  name: string,
  partitions: number,
  {
    leader = 1,
    leaderEpoch = 3,
    id = 'AAAAAAAAAAAAAAAAAAAAAQ',
  }: {leader?: number; leaderEpoch?: number; id?: string | null} = {},
): TopicMetadata {
  return {
    name,
    id,
    error: 0,
    internal: false,
    partitions: Array.from({length: partitions}, (_, index) => ({
      index,
      error: leader < 0 ? 5 : 0,
      leader,
      leaderEpoch,
      replicas: [1],
      isr: [1],
      offline: [],
    })),
  }
}

export interface BatchOptions {
  readonly base: bigint
  /** Offset of the last record minus `base`; the records before it are gone, as after compaction. */
  readonly lastDelta?: number
  readonly values: readonly string[]
  readonly transactional?: boolean
  readonly producerId?: bigint
}

/** A batch as a broker stores it. */
export function batchAt({base, values, lastDelta, transactional = false, producerId = -1n}: BatchOptions): Buffer {
  const builder = new RecordBatchBuilder()
  for (const [index, value] of values.entries()) {
    const isLast = index === values.length - 1
    const record = {timestamp: 1_764_500_000_000n, key: null, value: Buffer.from(value), headers: []}
    builder.append(record, isLast && lastDelta !== undefined ? lastDelta : index)
  }
  const bytes = builder.encode({compression: 'none', producerId, producerEpoch: 0, baseSequence: 0, transactional})
  bytes.writeBigInt64BE(base, 0)
  bytes.writeInt32BE(3, 12)
  return bytes
}

/** A commit or abort marker of one offset; the checksum is made anew because the attributes change. */
export function markerAt(base: bigint, kind: 'commit' | 'abort', producerId = 7n): Buffer {
  const builder = new RecordBatchBuilder()
  const key = Buffer.from([0, 0, 0, kind === 'commit' ? 1 : 0])
  builder.append({timestamp: 1_764_500_000_000n, key, value: Buffer.alloc(6), headers: []})
  const bytes = builder.encode({
    compression: 'none',
    producerId,
    producerEpoch: 0,
    baseSequence: -1,
    transactional: true,
  })
  bytes.writeBigInt64BE(base, 0)
  bytes.writeInt16BE(16 | 32, 21)
  bytes.writeUInt32BE(crcOf(bytes.subarray(21)), 17)
  return bytes
}

/** CRC-32C, bit by bit: not the code under test. */
function crcOf(bytes: Buffer): number {
  let crc = 0xff_ff_ff_ff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82_f6_3b_78 : crc >>> 1
  }
  return (crc ^ 0xff_ff_ff_ff) >>> 0
}

/** A partition's log that answers like a leader: first whole batch always, then up to the partition's byte limit. */
export class FakeLog {
  readonly batches: Buffer[] = []
  start = 0n
  lastStable: bigint | null = null
  aborted: {producerId: bigint; firstOffset: bigint}[] = []

  append(...batches: readonly Buffer[]): void {
    this.batches.push(...batches)
  }

  get end(): bigint {
    const last = this.batches.at(-1)
    return last === undefined ? this.start : lastOffsetOf(last) + 1n
  }

  read(offset: bigint, maxBytes: number): FetchResponsePartitionData {
    if (offset < this.start || offset > this.end) return partitionAnswer({errorCode: 1})
    let size = 0
    const found = this.batches.filter(batch => {
      if (lastOffsetOf(batch) < offset || (this.lastStable !== null && lastOffsetOf(batch) >= this.lastStable))
        return false
      size += batch.length
      return size === batch.length || size <= maxBytes
    })
    return partitionAnswer({
      records: Buffer.concat(found),
      highWatermark: this.end,
      lastStableOffset: this.lastStable ?? this.end,
      logStartOffset: this.start,
      abortedTransactions: this.aborted,
    })
  }
}

function lastOffsetOf(batch: Buffer): bigint {
  return batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(23))
}

export function partitionAnswer(part: Partial<FetchResponsePartitionData>): FetchResponsePartitionData {
  return {
    partitionIndex: 0,
    errorCode: 0,
    highWatermark: -1n,
    lastStableOffset: -1n,
    logStartOffset: -1n,
    divergingEpoch: {epoch: -1, endOffset: -1n},
    currentLeader: {leaderId: -1, leaderEpoch: -1},
    snapshotId: {endOffset: -1n, epoch: -1},
    abortedTransactions: null,
    preferredReadReplica: -1,
    records: null,
    ...part,
  }
}

/** The answer of a leader to a Fetch, partition by partition. */
export function fetchAnswer(
  body: FetchRequest,
  of: (partition: number, offset: bigint, maxBytes: number) => FetchResponsePartitionData,
): FetchResponse {
  const responses = body.topics.map(({topic: name = '', topicId = '', partitions}) => ({
    topic: name,
    topicId,
    partitions: partitions.map(({partition, fetchOffset, partitionMaxBytes}) => ({
      ...of(partition, fetchOffset, partitionMaxBytes),
      partitionIndex: partition,
    })),
  }))
  return {throttleTimeMs: 0, errorCode: 0, sessionId: 0, responses, nodeEndpoints: []}
}

export interface FakeCluster {
  readonly transport: FakeTransport
  readonly clock: FakeClock
  readonly cluster: KafkaCluster
}

/** The client over a fake transport; the clock goes on by itself from wait to wait unless the test wants to move it. */
export function fakeCluster(options: {tuning?: Partial<FetchTuning>; auto?: boolean} = {}): FakeCluster {
  const transport = new FakeTransport()
  const clock = new FakeClock({auto: options.auto ?? true})
  const cluster = clusterOver({transport, clock, name: 'fake:9092', clusterId: 'c', tuning: options.tuning})
  return {transport, clock, cluster}
}

export function connectionLost(): TransportError {
  return new TransportError('closed', 'b1:9092', 'the connection to b1:9092 was lost')
}
