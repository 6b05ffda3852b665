import type {Dialect} from '../dialect.ts'
import {FamilyReader, nameSet} from './family-reader.ts'
import type {RecordCoordinates} from '../model.ts'
import {readTopic} from '../primitives.ts'

const TOPIC_URI = 'kafka://topic/'

const NAMES = [
  'exception-type',
  'exception-message',
  'exception-stack',
  'failed-at',
  'original-destination',
  'original-partition',
  'original-offset',
]

/** Dead letters of Wolverine (.NET); only newer releases say where the record came from. */
export const wolverine: Dialect = {
  id: 'wolverine',
  stages: [],
  keepsTimestamp: false,
  strips: nameSet(NAMES),
  read: (_record, headers) => {
    if (!headers.has('exception-type') || !headers.has('failed-at')) return null
    const reader = new FamilyReader(headers)
    const origin: RecordCoordinates = {}
    const destination = reader.text('original-destination')
    if (destination?.startsWith(TOPIC_URI) === true) {
      const topic = readTopic(Buffer.from(destination.slice(TOPIC_URI.length)), reader.warn)
      if (topic !== undefined) origin.topic = topic
    }
    Object.assign(origin, reader.coordinates({partition: 'original-partition', offset: 'original-offset'}, 'last'))
    if (Object.keys(origin).length > 0) reader.set('origin', origin)
    reader.set(
      'exception',
      reader.exception({class: 'exception-type', message: 'exception-message', stack: 'exception-stack'}),
    )
    reader.set('failedAt', reader.int64('failed-at'))
    return reader.finish(NAMES)
  },
}
