import type {Dialect} from '../dialect.ts'
import {FamilyReader, nameSet} from './family-reader.ts'

const SIGNATURE = ['kafka_topic', 'kafka_offset', 'kafka_lag']
const NAMES = [
  ...SIGNATURE,
  'kafka_partition',
  'kafka_key',
  'kafka_timestamp_ms',
  'kafka_timestamp_unix',
  'kafka_tombstone_message',
  'fallback_error',
]

/**
 * Metadata that Redpanda Connect (Benthos) turns into headers, with the error of its fallback output. Only outputs that
 * export metadata write them.
 */
export const redpandaConnect: Dialect = {
  id: 'redpanda-connect',
  stages: [],
  keepsTimestamp: false,
  strips: nameSet(NAMES),
  read: (_record, headers) => {
    if (!headers.has('fallback_error') && !SIGNATURE.every(name => headers.has(name))) return null
    const reader = new FamilyReader(headers)
    reader.set(
      'origin',
      reader.coordinates(
        {
          topic: 'kafka_topic',
          partition: 'kafka_partition',
          offset: 'kafka_offset',
          timestamp: 'kafka_timestamp_ms',
        },
        'last',
      ),
    )
    reader.set('exception', reader.exception({message: 'fallback_error'}))
    return reader.finish(NAMES)
  },
}
