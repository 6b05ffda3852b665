import {systemClock} from '../../clock.ts'
import type {Clock} from '../../clock.ts'
import type {CallOptions} from '../ports.ts'
import {clusterOver} from './cluster.ts'
import type {KafkaCluster} from './cluster.ts'
import type {FetchTuning} from './fetch-tuning.ts'
import {createKafkaTransport} from './kafkajs-transport.ts'
import type {TransportDeps} from './kafkajs-transport.ts'
import {formatAddress} from './security.ts'
import type {ConnectionConfig} from './security.ts'

export type {KafkaCluster} from './cluster.ts'

export interface ConnectOptions extends CallOptions, TransportDeps {
  readonly clock?: Clock
  /** What differs from `defaultTuning`. */
  readonly tuning?: Partial<FetchTuning> | undefined
}

/**
 * Connect to a real cluster; kafkajs is loaded here and not before.
 * @throws TransportError with the most telling cause when no bootstrap server can be used; the signal's reason
 */
export async function connectCluster(config: ConnectionConfig, options: ConnectOptions = {}): Promise<KafkaCluster> {
  const {signal, tuning, clock = systemClock, ...deps} = options
  const transport = createKafkaTransport(config, {...deps, clock})
  try {
    await transport.connect({signal})
    const {clusterId} = await transport.metadata([], {signal})
    const name = config.bootstrapServers.map(server => formatAddress(server)).join(',')
    return clusterOver({transport, clock, name, clusterId, tuning})
  } catch (error) {
    await transport.close()
    throw error
  }
}
