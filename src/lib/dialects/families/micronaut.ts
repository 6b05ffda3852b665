import type {Dialect} from '../dialect.ts'
import {FamilyReader} from './family-reader.ts'
import {hasPrefix, headerName} from '../primitives.ts'

const PREFIX = 'micronaut-kafka-'
const PREFIX_BYTES = headerName(PREFIX)

/** Dead letters and retry topics of Micronaut Kafka's development state; each failure replaces the headers of the last. */
export const micronaut: Dialect = {
  id: 'micronaut',
  stages: [],
  keepsTimestamp: true,
  strips: name => hasPrefix(name, PREFIX_BYTES),
  read: (_record, headers) => {
    if (!headers.has(`${PREFIX}original-topic`) && !headers.has(`${PREFIX}exception-class`)) return null
    const reader = new FamilyReader(headers)
    reader.set(
      'origin',
      reader.coordinates(
        {
          topic: `${PREFIX}original-topic`,
          partition: `${PREFIX}original-partition`,
          offset: `${PREFIX}original-offset`,
        },
        'last',
      ),
    )
    reader.set(
      'exception',
      reader.exception({class: `${PREFIX}exception-class`, message: `${PREFIX}exception-message`}),
    )
    reader.set('attempts', reader.int32(`${PREFIX}retry-attempt`))
    reader.set('dueAt', reader.int64(`${PREFIX}retry-due-timestamp`))
    return reader.finish(headers.lastIndexOfPrefix(PREFIX))
  },
}
