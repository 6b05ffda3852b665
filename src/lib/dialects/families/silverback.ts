import type {Dialect} from '../dialect.ts'
import {FamilyReader, nameSet} from './family-reader.ts'

const IN_ASSEMBLY = ' in '

const NAMES = [
  'x-source-topic',
  'x-source-partition',
  'x-source-offset',
  'x-source-timestamp',
  'x-source-consumer-group-id',
  'x-failure-reason',
  'x-failed-attempts',
  'x-kafka-message-timestamp',
  'x-kafka-message-key',
]

/** Records that Silverback's move policy (.NET) put on another topic; headers are added or replaced. */
export const silverback: Dialect = {
  id: 'silverback',
  stages: [],
  keepsTimestamp: false,
  strips: nameSet(NAMES),
  read: (_record, headers) => {
    if (!headers.has('x-source-topic') || !headers.has('x-source-offset')) return null
    const reader = new FamilyReader(headers)
    reader.set(
      'origin',
      reader.coordinates({topic: 'x-source-topic', partition: 'x-source-partition', offset: 'x-source-offset'}, 'last'),
    )
    reader.set('group', reader.text('x-source-consumer-group-id'))
    reader.set('sourceTimestampText', reader.text('x-source-timestamp'))
    reader.set('attempts', reader.int32('x-failed-attempts'))
    const reason = reader.text('x-failure-reason')
    if (reason !== undefined) {
      // The full name of a generic type has blanks of its own, an assembly's name has none.
      const at = reason.lastIndexOf(IN_ASSEMBLY)
      reader.set('exception', {class: at === -1 ? reason : reason.slice(0, at)})
      if (at !== -1) reader.set('component', reason.slice(at + IN_ASSEMBLY.length))
    }
    return reader.finish(NAMES)
  },
}
