import type {MetadataResponse} from '../protocol/generated/metadata.ts'
import type {Node, NodeId} from '../protocol/types.ts'
import {ZERO_UUID} from '../protocol/wire.ts'
import type {ClusterMetadata} from '../transport.ts'

/** A Metadata answer as the rest of the client wants it; topics without a name are left out. */
export function toClusterMetadata(body: MetadataResponse): ClusterMetadata {
  return {
    clusterId: body.clusterId === '' ? null : body.clusterId,
    controllerId: body.controllerId,
    topics: body.topics.flatMap(({name, topicId, errorCode, isInternal, partitions}) => {
      if (name === null) return []
      const id = topicId === ZERO_UUID ? null : topicId
      return [{name, id, error: errorCode, internal: isInternal, partitions: partitions.map(toPartition)}]
    }),
  }
}

function toPartition(
  partition: MetadataResponse['topics'][number]['partitions'][number],
): ClusterMetadata['topics'][number]['partitions'][number] {
  return {
    index: partition.partitionIndex,
    error: partition.errorCode,
    leader: partition.leaderId,
    leaderEpoch: partition.leaderEpoch,
    replicas: partition.replicaNodes,
    isr: partition.isrNodes,
    offline: partition.offlineReplicas,
  }
}

/** Brokers of an answer; a broker that is still starting names none, and then those known before stay. */
export function toNodes(body: MetadataResponse, before: ReadonlyMap<NodeId, Node>): ReadonlyMap<NodeId, Node> {
  if (body.brokers.length === 0) return before
  return new Map(body.brokers.map(({nodeId, host, port, rack}) => [nodeId, {id: nodeId, host, port, rack}]))
}
