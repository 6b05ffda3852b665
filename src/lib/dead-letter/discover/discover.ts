import type {Clock} from '../../clock.ts'
import type {Connector} from '../../connect-rest/connectors.ts'
import type {Dialect} from '../../dialects/dialect.ts'
import {DIALECTS} from '../../dialects/registry.ts'
import type {CallOptions, Cluster, TopicDescription} from '../../kafka/ports.ts'
import {describeTopics} from './describe-topics.ts'
import {isTold} from './model.ts'
import type {Candidate, DiscoveredTopic} from './model.ts'
import {connectorOwners, shareGroupOwners} from './owners.ts'
import type {Owner} from './owners.ts'
import {boundsOf, newestOf, peek} from './peek.ts'
import type {PartitionBounds} from './peek.ts'
import {readTopicName} from './topic-names.ts'

/** Where to look, and how far. */
export interface DiscoverInput {
  /** Whether a topic is asked for. */
  readonly matches: (topic: string) => boolean
  /** False: no record is read. */
  readonly peek: boolean
  readonly connectors: readonly Connector[]
  /** Bytes a second. */
  readonly readRate?: number | undefined
  /** Header families that are looked for; absent = all that kdlq knows. */
  readonly dialects?: readonly Dialect[] | undefined
  /** Told why share groups could not be asked. */
  readonly onUnknownGroups: (error: unknown) => void
}

/** Partitions of a topic whose newest records are read to find out whether it holds dead letters. */
const PEEKED_PARTITIONS = 3
/** Newest offsets of each: a transaction's marker takes one. */
const PEEKED_OFFSETS = 4n

/**
 * Find the dead letter topics of a cluster. Reads a few records of each topic (not with `peek: false`), changes nothing.
 * @returns by name
 * @throws KdlqError when the cluster cannot be asked
 */
export async function discoverTopics(
  {cluster, clock}: {readonly cluster: Cluster; readonly clock: Clock},
  input: DiscoverInput,
  options: CallOptions = {},
): Promise<readonly DiscoveredTopic[]> {
  const looks = {readRate: input.readRate, dialects: input.dialects ?? DIALECTS}
  const described = await cluster.reader.topics(null, options)
  const existing = new Map(described.map(topic => [topic.name, topic]))
  const owners = Map.groupBy(
    [...connectorOwners(input.connectors), ...(await shareGroups(cluster, input, options))],
    ({topic}) => topic,
  )
  const exists = (topic: string): boolean => existing.has(topic)
  const names = [...new Set([...existing.keys(), ...owners.keys()])].filter(input.matches).sort()
  const asked = names.filter(topic => isForRecords(existing.get(topic)))
  const bounds = Map.groupBy(
    await boundsOf(
      cluster.reader,
      asked.flatMap(topic => partitionsOf(existing.get(topic))),
      options,
    ),
    ({topic}) => topic,
  )
  const ranges = input.peek ? asked.flatMap(topic => newestRanges(bounds.get(topic) ?? [])) : []
  const letters = Map.groupBy(await peek(cluster.reader, ranges, {...options, ...looks}), ({record}) => record.topic)
  const found = names.flatMap((topic): Candidate[] => {
    const description = existing.get(topic) ?? null
    const candidate = {
      topic,
      description,
      name: isForRecords(description ?? undefined) || description === null ? readTopicName(topic, exists) : null,
      owners: owners.get(topic) ?? [],
      bounds: bounds.get(topic) ?? [],
      letters: letters.get(topic) ?? [],
    }
    return isFound(candidate) ? [candidate] : []
  })
  return describeTopics({cluster, nowMs: clock.now()}, found, {peek: input.peek, ...looks}, options)
}

async function shareGroups(cluster: Cluster, input: DiscoverInput, options: CallOptions): Promise<readonly Owner[]> {
  try {
    return await shareGroupOwners(cluster.admin, options)
  } catch (error) {
    options.signal?.throwIfAborted()
    input.onUnknownGroups(error)
    return []
  }
}

/** Kafka's own topics and those of frameworks' bookkeeping hold no dead letters. */
function isForRecords(topic: TopicDescription | undefined): boolean {
  return topic !== undefined && !topic.internal && !topic.name.startsWith('__') && topic.error === null
}

function partitionsOf(topic: TopicDescription | undefined): readonly {topic: string; partition: number}[] {
  return topic === undefined ? [] : topic.partitions.map(({partition}) => ({topic: topic.name, partition}))
}

function newestRanges(bounds: readonly PartitionBounds[]) {
  const fullest = bounds.toSorted((a, b) => Number(b.end - b.earliest - (a.end - a.earliest)))
  return fullest.slice(0, PEEKED_PARTITIONS).flatMap(partition => newestOf(partition, PEEKED_OFFSETS))
}

function isFound({name, owners, letters}: Candidate): boolean {
  return name !== null || owners.length > 0 || letters.some(isTold)
}
