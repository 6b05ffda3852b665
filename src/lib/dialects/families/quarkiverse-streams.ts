import type {Dialect} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import {textHeader} from '../header-writer.ts'
import type {Failure, FailureException} from '../model.ts'
import {hasPrefix, headerName} from '../primitives.ts'
import {DESERIALIZATION_PREFIX_BYTES} from './smallrye-headers.ts'

const PREFIX = 'dead-letter-'
const PREFIX_BYTES = headerName(PREFIX)
const COORDINATES = {topic: `${PREFIX}topic`, partition: `${PREFIX}partition`} as const
const OFFSET = `${PREFIX}offset`
const REASON = `${PREFIX}reason`
/** A class name here, unlike SmallRye's header of the same name. */
const CAUSE = `${PREFIX}cause`

/** Dead letters of Quarkiverse's Kafka Streams processor: SmallRye's names without an offset, appended. */
export const quarkiverseStreams: Dialect = {
  id: 'quarkiverse-streams',
  stages: [],
  keepsTimestamp: false,
  strips: name => hasPrefix(name, PREFIX_BYTES) || hasPrefix(name, DESERIALIZATION_PREFIX_BYTES),
  harmful: name => hasPrefix(name, DESERIALIZATION_PREFIX_BYTES),
  read(_record, headers) {
    if (!headers.has(COORDINATES.topic) || !headers.has(COORDINATES.partition) || headers.has(OFFSET)) return null
    const reader = new HeaderReader(headers)
    const failure: Partial<Failure> = reader.hops(COORDINATES)
    // A set ends with its coordinates: what stands in front of the last but one belongs to an older failure.
    const older = headers.all(COORDINATES.topic).at(-2)?.index ?? -1
    const newest = (name: string): string | undefined =>
      (headers.last(name)?.index ?? -1) > older ? reader.text(name) : undefined
    const exception: FailureException = {}
    const message = newest(REASON)
    if (message !== undefined) exception.message = message
    const cause = newest(CAUSE)
    if (cause !== undefined) exception.cause = cause
    if (Object.keys(exception).length > 0) failure.exception = exception
    return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex: headers.lastIndexOfPrefix(PREFIX)}
  },
  write: failure => {
    const at = failure.last ?? failure.origin
    const {exception} = failure
    return [
      ...(exception?.message === undefined ? [] : [textHeader(REASON, exception.message)]),
      ...(exception?.cause === undefined ? [] : [textHeader(CAUSE, exception.cause)]),
      ...(at?.topic === undefined ? [] : [textHeader(COORDINATES.topic, at.topic)]),
      ...(at?.partition === undefined ? [] : [textHeader(COORDINATES.partition, String(at.partition))]),
    ]
  },
}
