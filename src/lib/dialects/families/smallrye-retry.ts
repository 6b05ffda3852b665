import type {Dialect} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import {textHeader} from '../header-writer.ts'
import type {Failure} from '../model.ts'
import {hasPrefix, headerName} from '../primitives.ts'
import {
  DESERIALIZATION_PREFIX_BYTES,
  lastSmallryeIndex,
  readDeserializationFailure,
  readSmallryeException,
  smallryeNames,
  writeSmallrye,
} from './smallrye-headers.ts'

const PREFIX = 'delayed-retry-'
const PREFIX_BYTES = headerName(PREFIX)
const NAMES = smallryeNames(PREFIX)
const COUNT = `${PREFIX}count`
const ORIGINAL_TIMESTAMP = `${PREFIX}original-timestamp`
const FIRST_PROCESSED = `${PREFIX}first-processing-timestamp`

/**
 * Records in the delayed retry topics of SmallRye Reactive Messaging, and in the dead letter topic behind them: sets are
 * put in front; times are written once, the count is removed and added again.
 */
export const smallryeRetry: Dialect = {
  id: 'smallrye-retry',
  stages: ['deserialize-key', 'deserialize-value'],
  keepsTimestamp: false,
  prepends: true,
  strips: name => hasPrefix(name, PREFIX_BYTES) || hasPrefix(name, DESERIALIZATION_PREFIX_BYTES),
  harmful: name => hasPrefix(name, PREFIX_BYTES) || hasPrefix(name, DESERIALIZATION_PREFIX_BYTES),
  read(record, headers) {
    if (!headers.has(NAMES.coordinates.topic) && !headers.has(COUNT)) return null
    const reader = new HeaderReader(headers)
    const failure: Partial<Failure> = reader.hops(NAMES.coordinates, 'prepend')
    const timestamp = reader.int64(ORIGINAL_TIMESTAMP)
    if (timestamp !== undefined) failure.origin = {...failure.origin, timestamp}
    const exception = readSmallryeException(reader, NAMES)
    if (exception !== undefined) failure.exception = exception
    const retries = reader.int32(COUNT)
    if (retries !== undefined) failure.attempts = retries + 1
    const firstFailedAt = reader.int64(FIRST_PROCESSED)
    if (firstFailedAt !== undefined) failure.firstFailedAt = firstFailedAt
    readDeserializationFailure(record, reader, failure)
    return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex: lastSmallryeIndex(headers, PREFIX)}
  },
  write: failure => {
    const {origin, firstFailedAt, attempts} = failure
    return [
      ...writeSmallrye(failure, NAMES),
      ...(origin?.timestamp === undefined ? [] : [textHeader(ORIGINAL_TIMESTAMP, origin.timestamp)]),
      ...(firstFailedAt === undefined ? [] : [textHeader(FIRST_PROCESSED, firstFailedAt)]),
      ...(attempts === undefined ? [] : [textHeader(COUNT, String(attempts - 1))]),
    ]
  },
}
