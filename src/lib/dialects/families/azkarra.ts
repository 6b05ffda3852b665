import type {Dialect} from '../dialect.ts'
import {FamilyReader} from './family-reader.ts'
import {hasPrefix, headerName} from '../primitives.ts'

const PREFIX = '__errors.'
const PREFIX_BYTES = headerName(PREFIX)

/** Dead letters of Azkarra Streams; appended. */
export const azkarra: Dialect = {
  id: 'azkarra',
  stages: [],
  keepsTimestamp: false,
  strips: name => hasPrefix(name, PREFIX_BYTES),
  read: (_record, headers) => {
    if (!headers.has(`${PREFIX}exception.class.name`)) return null
    const reader = new FamilyReader(headers)
    Object.assign(
      reader.failure,
      reader.hops({
        topic: `${PREFIX}record.topic`,
        partition: `${PREFIX}record.partition`,
        offset: `${PREFIX}record.offset`,
      }),
    )
    reader.set(
      'exception',
      reader.exception({
        class: `${PREFIX}exception.class.name`,
        message: `${PREFIX}exception.message`,
        stack: `${PREFIX}exception.stacktrace`,
      }),
    )
    reader.set('app', reader.text(`${PREFIX}application.id`))
    reader.set('failedAt', reader.int64(`${PREFIX}timestamp`))
    return reader.finish(headers.lastIndexOfPrefix(PREFIX))
  },
}
