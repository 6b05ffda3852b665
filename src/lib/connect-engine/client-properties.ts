import type {ConnectorProperties} from './config.ts'
import {ConnectException} from './errors.ts'
import {DEFAULT_PROFILE, type Profile} from './options.ts'

/** Properties of a Kafka client, under the names of Kafka's Java client. */
export type ClientProperties = Readonly<Record<string, string>>

/** What the clients of one task's dead letter queue are made of. */
export interface ClientLayers {
  readonly connector: string
  /** Task number. */
  readonly task: number
  /** The connector's properties; `producer.override.` and `admin.override.` count. */
  readonly properties: ConnectorProperties
  /** The worker's properties; `bootstrap.servers`, `producer.`, `admin.` and the override policy count. */
  readonly worker: ClientProperties
  /** `metrics.context.` properties of the worker. */
  readonly metricsContext?: ClientProperties | undefined
  readonly profile?: Profile | undefined
}

const POLICY = 'connector.client.config.override.policy'
const BOOTSTRAP = 'bootstrap.servers'
/** Longest wait that a long of Java holds, ms: practically without end. */
const FOREVER_LONG = '9223372036854775807'
const FOREVER_INT = '2147483647'

/** What policy `Principal` lets a connector override. */
const PRINCIPAL: ReadonlySet<string> = new Set(['sasl.jaas.config', 'sasl.mechanism', 'security.protocol'])

/**
 * Properties of the producer that writes a task's dead letters; later layers win: Connect's own (one request in flight,
 * so that order holds), the worker's `producer.`, the metrics context, the connector's `producer.override.`.
 * @throws ConnectException when the worker's policy does not allow an override
 * @see Connect's Worker.sinkTaskReporters
 */
export function dlqProducerProperties(layers: ClientLayers): ClientProperties {
  return {
    ...bootstrapOf(layers.worker),
    'key.serializer': 'org.apache.kafka.common.serialization.ByteArraySerializer',
    'value.serializer': 'org.apache.kafka.common.serialization.ByteArraySerializer',
    'max.block.ms': FOREVER_LONG,
    'enable.idempotence': 'false',
    acks: 'all',
    'max.in.flight.requests.per.connection': '1',
    'delivery.timeout.ms': FOREVER_INT,
    'client.id': `connector-dlq-producer-${layers.connector}-${layers.task}`,
    ...withPrefix(layers.worker, 'producer.'),
    ...layers.metricsContext,
    ...overridesOf(layers, 'producer.override.'),
  }
}

/**
 * Properties of the admin client that looks for the dead letter topic and creates it; later layers win: client id (until
 * 4.0 all tasks share one), the worker's own properties, its `admin.`, the connector's `admin.override.`, metrics context.
 * @throws ConnectException when the worker's policy does not allow an override
 * @see Connect's Worker.adminConfigs
 */
export function dlqAdminProperties(layers: ClientLayers): ClientProperties {
  const isShared = (layers.profile ?? DEFAULT_PROFILE) === 'P39'
  const own = Object.entries(layers.worker).filter(([key]) => !/^(?:admin|producer|consumer)\./.test(key))
  return {
    ...bootstrapOf(layers.worker),
    'client.id': `connector-dlq-adminclient-${isShared ? '' : `${layers.connector}-${layers.task}`}`,
    ...Object.fromEntries(own),
    ...withPrefix(layers.worker, 'admin.'),
    ...overridesOf(layers, 'admin.override.'),
    ...layers.metricsContext,
  }
}

function bootstrapOf(worker: ClientProperties): ClientProperties {
  const servers = worker[BOOTSTRAP]
  return servers === undefined ? {} : {[BOOTSTRAP]: servers}
}

function withPrefix(properties: ConnectorProperties, prefix: string): ClientProperties {
  const chosen: [string, string][] = []
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith(prefix) && key.length > prefix.length && value !== null) {
      chosen.push([key.slice(prefix.length), value])
    }
  }
  return Object.fromEntries(chosen)
}

function overridesOf({properties, worker}: ClientLayers, prefix: string): ClientProperties {
  const overrides = withPrefix(properties, prefix)
  const policy = worker[POLICY] ?? 'All'
  const refused = Object.keys(overrides).filter(key => !isAllowed(policy, key))
  if (refused.length === 0) return overrides
  const names = refused.map(key => `${prefix}${key}`).join(', ')
  throw new ConnectException(`Client Config Overrides not allowed [${names}] by policy ${policy}`)
}

/** Policies by their short or class name; Connect allows everything by default (since 3.0). */
function isAllowed(policy: string, key: string): boolean {
  const name = policy.replace(/^.*\./, '').replace(/ConnectorClientConfigOverridePolicy$/, '')
  if (name === 'All') return true
  return name === 'Principal' && PRINCIPAL.has(key)
}
