import type {Dialect} from '../dialect.ts'
import {FamilyReader, nameSet} from './family-reader.ts'

const NAMES = ['submitTimestamp', 'backOffTimeMs', 'GH_OriginalTopic', 'GH_RetryAttempt']

/** Retry topics of Wix Greyhound (Scala). */
export const greyhound: Dialect = {
  id: 'greyhound',
  stages: [],
  keepsTimestamp: false,
  strips: nameSet(NAMES),
  read: (_record, headers) => {
    const isMatch = headers.has('GH_OriginalTopic') || (headers.has('submitTimestamp') && headers.has('backOffTimeMs'))
    if (!isMatch) return null
    const reader = new FamilyReader(headers)
    reader.set('origin', reader.coordinates({topic: 'GH_OriginalTopic'}, 'last'))
    // Counted from zero.
    const attempt = reader.int32('GH_RetryAttempt')
    if (attempt !== undefined) reader.set('attempts', attempt + 1)
    const submitted = reader.int64('submitTimestamp')
    const backOff = reader.int64('backOffTimeMs')
    reader.set('failedAt', submitted)
    if (submitted !== undefined && backOff !== undefined) {
      reader.set('dueAt', (BigInt(submitted) + BigInt(backOff)).toString())
    }
    return reader.finish(NAMES)
  },
}
