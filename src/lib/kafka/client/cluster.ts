import type {Clock} from '../../clock.ts'
import type {Cluster} from '../ports.ts'
import type {Transport} from '../transport.ts'
import {KafkaAdmin} from './admin.ts'
import {defaultTuning} from './fetch-tuning.ts'
import type {FetchTuning} from './fetch-tuning.ts'
import {kafkaRelease} from './broker-version.ts'
import {KafkaReader} from './reader.ts'
import {KafkaWriter} from './writer.ts'

/** A cluster with what its brokers tell about themselves. */
export interface KafkaCluster extends Cluster {
  /** Finalized features by ApiVersions, such as `metadata.version`. */
  readonly features: ReadonlyMap<string, number>
  /** Kafka release by these features, such as `4.4`; null when they do not tell. */
  readonly release: string | null
}

export interface ClusterParts {
  /** Connected; the cluster closes it. */
  readonly transport: Transport
  readonly clock: Clock
  /** What a person calls it. */
  readonly name: string
  readonly clusterId: string | null
  readonly tuning?: Partial<FetchTuning> | undefined
}

/** The ports over a connected transport. */
export function clusterOver({transport, clock, name, clusterId, tuning}: ClusterParts): KafkaCluster {
  const deps = {transport, clock}
  const close = (): Promise<void> => transport.close()
  return {
    description: {kind: 'kafka', clusterId, name},
    features: transport.features,
    release: kafkaRelease(transport.features),
    reader: new KafkaReader({...deps, tuning: {...defaultTuning, ...tuning}}),
    writer: new KafkaWriter(deps),
    admin: new KafkaAdmin(deps),
    close,
    [Symbol.asyncDispose]: close,
  }
}
