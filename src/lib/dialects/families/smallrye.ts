import type {Dialect} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
import type {Failure} from '../model.ts'
import {hasPrefix, headerName} from '../primitives.ts'
import {
  carriesDeserializationFailure,
  DESERIALIZATION_PREFIX_BYTES,
  lastSmallryeIndex,
  readBareDeserializationFailure,
  readDeserializationFailure,
  readSmallryeException,
  smallryeNames,
  writeSmallrye,
} from './smallrye-headers.ts'

const PREFIX = 'dead-letter-'
const PREFIX_BYTES = headerName(PREFIX)
const NAMES = smallryeNames(PREFIX)

/** Dead letters of SmallRye Reactive Messaging (Quarkus): every set is put in front of the headers that are there. */
export const smallrye: Dialect = {
  id: 'smallrye',
  stages: ['deserialize-key', 'deserialize-value'],
  keepsTimestamp: false,
  prepends: true,
  strips: name => hasPrefix(name, PREFIX_BYTES) || hasPrefix(name, DESERIALIZATION_PREFIX_BYTES),
  harmful: name => hasPrefix(name, DESERIALIZATION_PREFIX_BYTES),
  read(record, headers) {
    const parked = headers.has(NAMES.coordinates.topic) && headers.has(NAMES.coordinates.offset)
    if (!parked && !isBare(headers)) return null
    const reader = new HeaderReader(headers)
    const failure = parked ? readParked(reader) : readBareDeserializationFailure(reader)
    readDeserializationFailure(record, reader, failure)
    return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex: lastSmallryeIndex(headers, PREFIX)}
  },
  write: failure => writeSmallrye(failure, NAMES),
}

/** A record that failed to deserialize and was passed on as it is, without the headers of any strategy. */
function isBare(headers: HeaderTable): boolean {
  if (!carriesDeserializationFailure(headers)) return false
  return headers.lastIndexOfPrefix(PREFIX) === -1 && headers.lastIndexOfPrefix('delayed-retry-') === -1
}

function readParked(reader: HeaderReader): Partial<Failure> {
  const failure: Partial<Failure> = reader.hops(NAMES.coordinates, 'prepend')
  const exception = readSmallryeException(reader, NAMES)
  if (exception !== undefined) failure.exception = exception
  return failure
}
