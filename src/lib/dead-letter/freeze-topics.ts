import {KafkaError, UsageError} from '../errors.ts'
import type {CallOptions, Cluster, TopicDescription} from '../kafka/ports.ts'
import type {TopicName} from '../kafka/record.ts'
import type {Address} from '../select/address.ts'
import {createGlob} from '../select/glob.ts'
import {formatPartitions, hasPartition, toPartitionSet, type PartitionSet} from '../select/partitions.ts'
import type {TopicSource} from '../select/source.ts'
import {didYouMean} from '../suggest.ts'

/** Partitions that are read as a whole, and single records. */
export interface ChosenPartitions {
  readonly partitions: readonly ChosenPartition[]
  readonly addresses: readonly (Address & {readonly topicId: string | null})[]
}

export interface ChosenPartition {
  readonly topic: TopicName
  readonly topicId: string | null
  readonly partition: number
}

const UNKNOWN_TOPIC = new Set(['E_UNKNOWN_TOPIC_OR_PARTITION', 'E_UNKNOWN_TOPIC', 'E_INVALID_TOPIC_EXCEPTION'])

/**
 * Find what the sources name, by topic and partition.
 * @throws KafkaError E_UNKNOWN_TOPIC, with the nearest name; UsageError for a partition that does not exist; what
 * Kafka says of a topic that may not be described
 */
export async function chooseTopics(
  cluster: Cluster,
  sources: readonly TopicSource[],
  wanted: PartitionSet | null,
  options: CallOptions,
): Promise<ChosenPartitions> {
  const whole = new Set(sources.flatMap(source => (source.kind === 'topic' ? [source.topic] : [])))
  const addresses = sources.flatMap(source => (source.kind === 'address' ? [source.address] : []))
  const named = new Set([...whole, ...addresses.map(({topic}) => topic)])
  const patterns = sources.filter(source => source.kind === 'pattern' || source.kind === 'all')
  const all = patterns.length === 0 ? null : await cluster.reader.topics(null, options)
  for (const source of patterns) {
    const found = matching(source, all ?? [])
    if (found.length === 0 && source.kind === 'pattern') throw noMatch(cluster, source.pattern)
    for (const name of found) whole.add(name)
  }
  const known = new Map((all ?? []).map(topic => [topic.name, topic]))
  const missing = [...named].filter(name => known.get(name) === undefined)
  if (missing.length > 0) {
    for (const topic of await cluster.reader.topics(missing, options)) known.set(topic.name, topic)
  }
  for (const name of [...named, ...whole]) await requireTopic(cluster, name, known.get(name), options)
  const topics = [...whole]
    .sort()
    .map(name => known.get(name))
    .filter(topic => topic !== undefined)
  if (wanted !== null && topics.length > 0) requirePartitions(wanted, topics)
  return {
    partitions: topics.flatMap(({name, id, partitions}) =>
      partitions
        .map(({partition}) => ({topic: name, topicId: id, partition}))
        .filter(({partition}) => wanted === null || hasPartition(wanted, partition)),
    ),
    addresses: addresses.map(address => ({...address, topicId: requireAddress(address, known.get(address.topic))})),
  }
}

/** Kafka's own topics are matched only by a pattern that begins as they do, or named. */
function matching(source: TopicSource, all: readonly TopicDescription[]): TopicName[] {
  if (source.kind === 'all') return all.map(({name}) => name)
  if (source.kind !== 'pattern') return []
  const glob = createGlob(source.pattern)
  const takesInternal = source.pattern.startsWith('_')
  return all.filter(({name, internal}) => (takesInternal || !internal) && glob.matches(name)).map(({name}) => name)
}

function noMatch(cluster: Cluster, pattern: string): KafkaError {
  return new KafkaError(`no topic of ${cluster.description.name} matches '${pattern}'`, {
    code: 'E_UNKNOWN_TOPIC',
    context: {pattern},
  })
}

async function requireTopic(
  cluster: Cluster,
  name: TopicName,
  topic: TopicDescription | undefined,
  options: CallOptions,
): Promise<void> {
  if (topic !== undefined && topic.error === null) return
  const error = topic?.error ?? null
  if (error !== null && !UNKNOWN_TOPIC.has(error.code)) throw error
  const others = (await cluster.reader.topics(null, options)).filter(({internal}) => !internal)
  const names = others.map(other => other.name).sort()
  const near = didYouMean(name, names)
  throw new KafkaError(`topic ${name} does not exist in ${cluster.description.name}`, {
    code: 'E_UNKNOWN_TOPIC',
    hints: near.length > 0 ? near : [`topics there: ${firstOf(names)}`],
    context: {topic: name},
    cause: error,
  })
}

/** Names shown of those that exist. */
const SHOWN_NAMES = 5

function firstOf(names: readonly TopicName[]): string {
  if (names.length === 0) return 'none'
  const more = names.length > SHOWN_NAMES ? ` and ${names.length - SHOWN_NAMES} more` : ''
  return `${names.slice(0, SHOWN_NAMES).join(', ')}${more}`
}

function requirePartitions(wanted: PartitionSet, topics: readonly TopicDescription[]): void {
  const exists = new Set(topics.flatMap(({partitions}) => partitions.map(({partition}) => partition)))
  // A range may be wide; what exists is small: the first number that does not exist is near.
  for (const [first, last] of wanted) {
    for (let partition = first; partition <= last; partition++) {
      if (exists.has(partition)) continue
      const names = topics.length > 3 ? `any of ${topics.length} topics` : topics.map(({name}) => name).join(', ')
      throw new UsageError(`partition ${partition} does not exist in ${names}`, {
        hints: [`there are partitions ${formatPartitions(toPartitionSet(exists))}`],
        context: {partition},
      })
    }
  }
}

function requireAddress({topic, partition}: Address, description: TopicDescription | undefined): string | null {
  if (description?.partitions.some(other => other.partition === partition) === true) return description.id
  throw new UsageError(`partition ${partition} does not exist in ${topic}`, {context: {topic, partition}})
}
