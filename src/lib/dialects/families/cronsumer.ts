import type {Dialect} from '../dialect.ts'
import {FamilyReader, nameSet} from './family-reader.ts'

const NANOSECONDS_PER_MS = 1_000_000n

const NAMES = ['x-retry-count', 'x-retry-attempt-count', 'x-produce-time']

/** Exception topics of Trendyol's kafka-cronsumer (Go). Neither the origin nor the key is in the record. */
export const cronsumer: Dialect = {
  id: 'cronsumer',
  stages: [],
  keepsTimestamp: false,
  strips: nameSet(NAMES),
  read: (_record, headers) => {
    if (!headers.has('x-retry-count') || !headers.has('x-retry-attempt-count')) return null
    const reader = new FamilyReader(headers)
    reader.set('attempts', reader.int32('x-retry-count'))
    const produced = reader.int64('x-produce-time')
    if (produced !== undefined) reader.set('failedAt', (BigInt(produced) / NANOSECONDS_PER_MS).toString())
    return reader.finish(NAMES)
  },
}
