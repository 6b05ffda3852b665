import {fetchApi} from '../protocol/generated/fetch.ts'
import type {FetchRequestTopic, FetchResponsePartitionData} from '../protocol/generated/fetch.ts'
import type {NodeId} from '../protocol/types.ts'
import type {IsolationLevel} from '../ports.ts'
import type {Transport} from '../transport.ts'
import type {PartitionRead} from './partition-read.ts'

/** The highest version with something for us: topic ids instead of names (KIP-516), so that a new topic of the same name is no silent swap. */
const WITH_TOPIC_IDS = 13
/** From here on the broker compares the epoch of the last batch with its own log (KIP-595). */
const WITH_EPOCH_CHECK = 12

export interface FetchInput {
  readonly node: NodeId
  /** Asked for in this order; the first one gets a whole batch, however large. */
  readonly reads: readonly PartitionRead[]
  readonly isolationLevel: IsolationLevel
  readonly maxWaitMs: number
  readonly maxBytes: number
  readonly partitionMaxBytes: number
}

export interface FetchResult {
  readonly throttleMs: number
  /** Error of the answer as a whole; 0 = none. */
  readonly code: number
  /** A throttling broker leaves out all of them. */
  readonly partitions: ReadonlyMap<PartitionRead, FetchResponsePartitionData>
}

/**
 * One Fetch outside of any session (KIP-227) for partitions that this broker leads.
 * @throws TransportError
 */
export async function fetchPartitions(
  transport: Transport,
  input: FetchInput,
  options: {signal: AbortSignal},
): Promise<FetchResult> {
  const {node, reads, isolationLevel, maxWaitMs, maxBytes} = input
  const withIds = reads.every(({topicId}) => topicId !== null)
  const newest = transport.supports(node, fetchApi.key)?.max ?? 0
  const version = Math.min(newest, withIds ? WITH_TOPIC_IDS : WITH_EPOCH_CHECK)
  const byTopic = new Map<string, {reads: PartitionRead[]; topicId: string | null}>()
  for (const read of reads) {
    const known = byTopic.get(read.range.topic)
    if (known === undefined) byTopic.set(read.range.topic, {reads: [read], topicId: read.topicId})
    else known.reads.push(read)
  }
  const topics = [...byTopic].map(([topic, {reads: of, topicId}]): FetchRequestTopic => ({
    ...(version >= WITH_TOPIC_IDS && topicId !== null ? {topicId} : {topic}),
    partitions: of.map(read => ({
      partition: read.range.partition,
      currentLeaderEpoch: read.leader?.epoch ?? -1,
      fetchOffset: read.position,
      lastFetchedEpoch: version >= WITH_EPOCH_CHECK ? read.lastEpoch : -1,
      partitionMaxBytes: input.partitionMaxBytes,
    })),
  }))
  const body = {
    replicaId: -1,
    maxWaitMs,
    minBytes: 1,
    maxBytes,
    isolationLevel: isolationLevel === 'read_committed' ? 1 : 0,
    sessionId: 0,
    sessionEpoch: -1,
    topics,
  }
  const answer = await transport.send(node, fetchApi, body, {signal: options.signal, maxVersion: version})
  const partitions = new Map<PartitionRead, FetchResponsePartitionData>()
  for (const {topic, topicId, partitions: parts} of answer.body.responses) {
    for (const part of parts) {
      const read = reads.find(
        ({range, topicId: id}) =>
          range.partition === part.partitionIndex &&
          (answer.version >= WITH_TOPIC_IDS ? id === topicId : range.topic === topic),
      )
      if (read !== undefined) partitions.set(read, part)
    }
  }
  return {throttleMs: answer.throttleMs, code: answer.body.errorCode, partitions}
}
