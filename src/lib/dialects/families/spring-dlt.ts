import type {Dialect} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
import {hasPrefix, headerName} from '../primitives.ts'
import {
  isJavaException,
  isSpringAuxiliary,
  lastSpringIndex,
  readSpring,
  springNames,
  springTypeHeaders,
  writeSpringCoordinates,
  writeSpringExceptions,
} from './spring-headers.ts'

const PREFIX = 'kafka_dlt-'
const PREFIX_BYTES = headerName(PREFIX)
const NAMES = springNames(PREFIX)

const lastIndex = (headers: HeaderTable): number => lastSpringIndex(headers, name => name.startsWith(PREFIX))

/**
 * Dead letters of Spring for Apache Kafka's `DeadLetterPublishingRecoverer`, and of its recovering handlers for Kafka
 * Streams: binary coordinates, appended at every hop; exceptions replaced since 2.8, appended before.
 */
export const springDlt: Dialect = {
  id: 'spring-dlt',
  stages: ['deserialize-key', 'deserialize-value'],
  keepsTimestamp: false,
  strips: name => hasPrefix(name, PREFIX_BYTES) || isSpringAuxiliary(name),
  harmful: isJavaException,
  sideHeaders: (record, headers) => springTypeHeaders(record, lastIndex(headers)),
  read(record, headers) {
    const {coordinates, exception} = NAMES
    // The group alone is no sign: retry topics write it under this prefix too.
    const signature = [coordinates.topic, coordinates.offset, exception.class, exception.stack]
    if (!signature.some(name => headers.has(name))) return null
    const reader = new HeaderReader(headers, 'binary')
    const failure = readSpring(record, reader, NAMES)
    return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex: lastIndex(headers)}
  },
  write: failure => [...writeSpringExceptions(failure, NAMES), ...writeSpringCoordinates(failure, NAMES)],
}
