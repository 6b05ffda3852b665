import type {CompressionType} from '../kafka/records/types.ts'
import type {ClientProperties} from './client-properties.ts'
import {ConfigException, parseConfigValue} from './config-value.ts'

/** What a dead letter producer takes from a Kafka client's properties. */
export interface DeadLetterProducerSettings {
  /** `max.in.flight.requests.per.connection`. */
  readonly maxInFlight?: number
  /** `max.request.size`, bytes. */
  readonly maxRequestBytes?: number
  /** `compression.type`. */
  readonly compression?: CompressionType
  /** `delivery.timeout.ms`. */
  readonly deliveryTimeoutMs?: number
}

const CODECS: readonly CompressionType[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

/**
 * Settings of the dead letter producer in the properties that `dlqProducerProperties` layered. The connection's own
 * properties (servers, TLS, SASL) are for whoever connects; `acks` is always `all` and the producer always idempotent.
 * @throws ConfigException for a value that Kafka's producer refuses
 */
export function deadLetterProducerSettings(properties: ClientProperties): DeadLetterProducerSettings {
  const maxInFlight = integerOf(properties, 'max.in.flight.requests.per.connection', 1)
  const maxRequestBytes = integerOf(properties, 'max.request.size', 0)
  const deliveryTimeoutMs = integerOf(properties, 'delivery.timeout.ms', 0)
  const compression = codecOf(properties, 'compression.type')
  return {
    ...(maxInFlight === null ? {} : {maxInFlight}),
    ...(maxRequestBytes === null ? {} : {maxRequestBytes}),
    ...(deliveryTimeoutMs === null ? {} : {deliveryTimeoutMs}),
    ...(compression === null ? {} : {compression}),
  }
}

const LARGEST_INT = 2n ** 31n - 1n

/** Null when the property is not there. */
function integerOf(properties: ClientProperties, key: string, least: number): number | null {
  const text = properties[key]
  if (text === undefined) return null
  const value = parseConfigValue(key, text, 'LONG')
  if (typeof value !== 'bigint' || value > LARGEST_INT) {
    throw ConfigException.ofValue(key, text, 'Not a number of type INT')
  }
  if (value < BigInt(least)) throw ConfigException.ofValue(key, text, `Value must be at least ${least}`)
  return Number(value)
}

function codecOf(properties: ClientProperties, key: string): CompressionType | null {
  const text = properties[key]
  if (text === undefined) return null
  const codec = CODECS.find(name => name === text.trim())
  if (codec !== undefined) return codec
  throw ConfigException.ofValue(key, text, `String must be one of: ${CODECS.join(', ')}`)
}
