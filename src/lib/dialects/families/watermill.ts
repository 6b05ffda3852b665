import type {Dialect} from '../dialect.ts'
import {FamilyReader, nameSet} from './family-reader.ts'

const NAMES = ['reason_poisoned', 'topic_poisoned', 'handler_poisoned', 'subscriber_poisoned']

/** Poison queue of Watermill (Go): a map of metadata, so a second failure overwrites the first. */
export const watermill: Dialect = {
  id: 'watermill',
  stages: [],
  keepsTimestamp: false,
  strips: nameSet(NAMES),
  read: (_record, headers) => {
    if (!headers.has('topic_poisoned') || !headers.has('reason_poisoned')) return null
    const reader = new FamilyReader(headers)
    reader.set('origin', reader.coordinates({topic: 'topic_poisoned'}, 'last'))
    reader.set('exception', reader.exception({message: 'reason_poisoned'}))
    reader.set('component', reader.text('handler_poisoned'))
    return reader.finish(NAMES)
  },
}
