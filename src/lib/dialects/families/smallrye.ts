import type {Dialect} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
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
    if (!carriesSmallrye(headers)) return null
    const reader = new HeaderReader(headers)
    const failure: Partial<Failure> = reader.hops(NAMES.coordinates, 'prepend')
    const exception = readSmallryeException(reader, NAMES)
    if (exception !== undefined) failure.exception = exception
    readDeserializationFailure(record, reader, failure)
    return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex: lastSmallryeIndex(headers, PREFIX)}
  },
  write: failure => writeSmallrye(failure, NAMES),
}

function carriesSmallrye(headers: HeaderTable): boolean {
  return headers.has(NAMES.coordinates.topic) && headers.has(NAMES.coordinates.offset)
}
