import type {KafkaRecord} from '../../kafka/record.ts'
import type {Dialect, DialectReading} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
import type {Failure, FailureException} from '../model.ts'
import {hasPrefix, headerName} from '../primitives.ts'
import {rootCauseOf} from '../root-cause.ts'

const PREFIX = '__streams.errors.'
const PREFIX_BYTES = headerName(PREFIX)
const TOPIC = `${PREFIX}topic`
const PARTITION = `${PREFIX}partition`
const OFFSET = `${PREFIX}offset`
/** An old release wrote the Java expression itself as the name. */
const OLD_OFFSET = 'HEADER_PREFIX + offset'
const OLD_OFFSET_BYTES = headerName(OLD_OFFSET)
const EXCEPTION_CLASS = `${PREFIX}exception.class.name`
const EXCEPTION_MESSAGE = `${PREFIX}exception.message`
const EXCEPTION_STACK = `${PREFIX}exception.stack_trace`
const DESCRIPTION = `${PREFIX}description`

/** Dead letters of bakdata's header processor for Kafka Streams: the native prefix, names of its own, replaced by each hop. */
export const streamsBakdata: Dialect = {
  id: 'streams-bakdata',
  stages: [],
  keepsTimestamp: true,
  strips: name => hasPrefix(name, PREFIX_BYTES) || name.equals(OLD_OFFSET_BYTES),
  read: readBakdata,
}

/** True when the names of this processor tell its headers from the native ones under the same prefix. */
export function carriesBakdata(headers: HeaderTable): boolean {
  return headers.has(EXCEPTION_CLASS) || headers.has(DESCRIPTION)
}

function readBakdata(_record: KafkaRecord, headers: HeaderTable): DialectReading | null {
  if (!carriesBakdata(headers)) return null
  const reader = new HeaderReader(headers)
  const failure: Omit<Failure, 'dialect' | 'chain'> = {}
  const offset = headers.has(OFFSET) ? OFFSET : OLD_OFFSET
  const origin = reader.coordinates({topic: TOPIC, partition: PARTITION, offset}, 'last')
  if (origin !== undefined) failure.origin = origin
  const description = reader.nullableText(DESCRIPTION)
  if (description !== undefined) failure.description = description
  const exception: FailureException = {}
  const className = reader.nullableText(EXCEPTION_CLASS)
  if (className !== undefined) exception.class = className
  const message = reader.nullableText(EXCEPTION_MESSAGE)
  if (message !== undefined) exception.message = message
  const stack = reader.nullableText(EXCEPTION_STACK)
  if (stack !== undefined) {
    exception.stack = stack
    const cause = rootCauseOf(stack)
    if (cause !== undefined) exception.cause = cause.class
  }
  if (Object.keys(exception).length > 0) failure.exception = exception
  const lastHeaderIndex = headers.lastIndexWhere(name => name.startsWith(PREFIX) || name === OLD_OFFSET)
  return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex}
}
