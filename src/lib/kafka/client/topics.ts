import type {CallOptions, TopicDescription} from '../ports.ts'
import {protocolError} from '../protocol/errors.ts'
import type {TopicMetadata, Transport} from '../transport.ts'
import {CODE} from './retry.ts'

/**
 * Topics by Metadata, in the order of `names`; what the answer lacks comes back as unknown.
 * @param names null = all that may be seen
 * @throws TransportError when no broker answers
 */
export async function describeTopics(
  transport: Transport,
  names: readonly string[] | null,
  {signal}: CallOptions = {},
): Promise<readonly TopicDescription[]> {
  // An empty list means "brokers only" to the transport, which is no topic at all here.
  if (names?.length === 0) return []
  const {topics} = await transport.metadata(names, {signal})
  if (names === null) return topics.map(describe)
  const told = new Map(topics.map(topic => [topic.name, topic]))
  return names.map(name => describe(told.get(name) ?? unknownTopic(name)))
}

function describe({name, id, error, internal, partitions}: TopicMetadata): TopicDescription {
  return {
    name,
    id,
    internal,
    error: error === CODE.NONE ? null : protocolError(error, 'Metadata', {topic: name}),
    partitions: partitions
      .map(({index, leader, error: code}) => ({
        partition: index,
        leader: leader < 0 ? null : leader,
        error: code === CODE.NONE ? null : protocolError(code, 'Metadata', {topic: name, partition: index}),
      }))
      .toSorted((a, b) => a.partition - b.partition),
  }
}

function unknownTopic(name: string): TopicMetadata {
  return {name, id: null, error: CODE.UNKNOWN_TOPIC_OR_PARTITION, internal: false, partitions: []}
}
