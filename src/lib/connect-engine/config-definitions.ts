/** Types of configuration values, by the names of Kafka's `ConfigDef.Type`. */
export type ConfigType = 'LONG' | 'SHORT' | 'STRING' | 'BOOLEAN' | 'LIST'

/** Which way a connector moves records. */
export type ConnectorKind = 'sink' | 'source'

/** One key as Connect documents it. */
export interface ConfigDefinition {
  readonly key: string
  readonly kinds: readonly ConnectorKind[]
  readonly type: ConfigType
  /** As it would be written in a properties file. */
  readonly default: string
  readonly importance: 'MEDIUM'
  readonly group: string
  /** Position in its group, from 1. */
  readonly order: number
  /** Name for people. */
  readonly display: string
}

/** Keys of `errors.tolerance` and its neighbours, under Connect's names. */
export const ERRORS = {
  retryTimeout: 'errors.retry.timeout',
  retryDelayMax: 'errors.retry.delay.max.ms',
  tolerance: 'errors.tolerance',
  logEnable: 'errors.log.enable',
  logIncludeMessages: 'errors.log.include.messages',
  dlqTopicName: 'errors.deadletterqueue.topic.name',
  dlqReplicationFactor: 'errors.deadletterqueue.topic.replication.factor',
  dlqContextHeaders: 'errors.deadletterqueue.context.headers.enable',
} as const

const BOTH: readonly ConnectorKind[] = ['sink', 'source']
const SINK: readonly ConnectorKind[] = ['sink']

/** The error handling keys in Connect's order; no range is enforced. (KIP-298; ConnectorConfig, SinkConnectorConfig) */
export const CONFIG_DEFINITIONS: readonly ConfigDefinition[] = [
  define(1, ERRORS.retryTimeout, BOTH, 'LONG', '0', 'Retry Timeout for Errors'),
  define(2, ERRORS.retryDelayMax, BOTH, 'LONG', '60000', 'Maximum Delay Between Retries for Errors'),
  define(3, ERRORS.tolerance, BOTH, 'STRING', 'none', 'Error Tolerance'),
  define(4, ERRORS.logEnable, BOTH, 'BOOLEAN', 'false', 'Log Errors'),
  define(5, ERRORS.logIncludeMessages, BOTH, 'BOOLEAN', 'false', 'Log Error Details'),
  define(6, ERRORS.dlqTopicName, SINK, 'STRING', '', 'Dead Letter Queue Topic Name'),
  define(7, ERRORS.dlqReplicationFactor, SINK, 'SHORT', '3', 'Dead Letter Queue Topic Replication Factor'),
  define(8, ERRORS.dlqContextHeaders, SINK, 'BOOLEAN', 'false', 'Enable Error Context Headers'),
]

function define(
  order: number,
  key: string,
  kinds: readonly ConnectorKind[],
  type: ConfigType,
  byDefault: string,
  display: string,
): ConfigDefinition {
  return {key, kinds, type, default: byDefault, importance: 'MEDIUM', group: 'Error Handling', order, display}
}
