import type {Dialect} from '../dialect.ts'
import {FamilyReader} from './family-reader.ts'
import {hasPrefix, headerName} from '../primitives.ts'

const PREFIX = 'Kafka-Flow-Retry-Durable-'
const PREFIX_BYTES = headerName(PREFIX)

/** Durable retries of KafkaFlow.Retry (.NET). The coordinates are in its database, not in the record. */
export const kafkaflow: Dialect = {
  id: 'kafkaflow',
  stages: [],
  keepsTimestamp: false,
  strips: name => hasPrefix(name, PREFIX_BYTES),
  read: (_record, headers) => {
    const lastHeaderIndex = headers.lastIndexOfPrefix(PREFIX)
    if (lastHeaderIndex === -1) return null
    const reader = new FamilyReader(headers)
    reader.set('attempts', reader.int32(`${PREFIX}Attempts-Count`))
    reader.set('queueId', reader.text(`${PREFIX}Queue-Id`))
    return reader.finish(lastHeaderIndex)
  },
}
