import type {KafkaRecord, RecordHeader} from '../../kafka/record.ts'
import type {Dialect, DialectReading} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
import {textHeader} from '../header-writer.ts'
import type {Failure, FailureException} from '../model.ts'
import {hasPrefix, headerName} from '../primitives.ts'
import {parseThrowable, rootCauseOf} from '../root-cause.ts'
import {carriesBakdata} from './streams-bakdata.ts'

const PREFIX = '__streams.errors.'
const PREFIX_BYTES = headerName(PREFIX)
const COORDINATES = {topic: `${PREFIX}topic`, partition: `${PREFIX}partition`, offset: `${PREFIX}offset`} as const
const EXCEPTION = `${PREFIX}exception`
const MESSAGE = `${PREFIX}message`
const STACK = `${PREFIX}stacktrace`
const NODE = `${PREFIX}processor.node.id`
const TASK = `${PREFIX}task.id`

/**
 * Dead letters of Kafka Streams' own handlers (KIP-1034): six headers, appended. Failures without a source record
 * (punctuators) have a null topic and -1 in place of partition and offset.
 */
export const streams: Dialect = {
  id: 'streams',
  stages: [],
  keepsTimestamp: true,
  strips: name => hasPrefix(name, PREFIX_BYTES),
  read: readStreams,
  write: writeStreams,
}

function readStreams(record: KafkaRecord, headers: HeaderTable): DialectReading | null {
  if ((!headers.has(EXCEPTION) && !headers.has(STACK)) || carriesBakdata(headers)) return null
  const reader = new HeaderReader(headers)
  const failure: Omit<Failure, 'dialect' | 'chain'> = readHops(reader)
  const component = reader.nullableText(NODE)
  if (component !== undefined) failure.component = component
  const taskId = reader.nullableText(TASK)
  if (taskId !== undefined) failure.taskId = taskId
  const exception = readException(reader)
  if (exception !== undefined) failure.exception = exception
  if (record.key === null && record.value === null) failure.payload = 'absent'
  return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex: headers.lastIndexOfPrefix(PREFIX)}
}

function readHops(reader: HeaderReader): Partial<Failure> {
  const {headers} = reader
  const isSentinel = (pick: 'first' | 'last'): boolean => {
    const partition = headers[pick](COORDINATES.partition)?.value
    const offset = headers[pick](COORDINATES.offset)?.value
    return partition?.toString('latin1') === '-1' && offset?.toString('latin1') === '-1'
  }
  if (!isSentinel('first') && !isSentinel('last')) return reader.hops(COORDINATES)
  reader.warn('no_source')
  const at = (pick: 'first' | 'last'): Failure['origin'] => {
    if (!isSentinel(pick)) return reader.coordinates(COORDINATES, pick)
    const topic = reader.nullableText(COORDINATES.topic, pick)
    return {...(topic === undefined ? {} : {topic}), partition: -1, offset: '-1'}
  }
  const hops = reader.countHops(COORDINATES)
  const failure: Partial<Failure> = {}
  const origin = at('first')
  if (origin !== undefined) failure.origin = origin
  if (hops <= 1) return failure
  failure.hops = hops
  const last = at('last')
  if (last !== undefined) failure.last = last
  return failure
}

function readException(reader: HeaderReader): FailureException | undefined {
  const exception: FailureException = {}
  const named = reader.text(EXCEPTION)
  if (named !== undefined) {
    // Builds before the release wrote `Throwable.toString` here.
    const printed = named.includes(': ') ? parseThrowable(named) : undefined
    if (printed !== undefined) reader.warn('exception_is_tostring')
    exception.class = printed?.class ?? named
  }
  const message = reader.nullableText(MESSAGE)
  if (message !== undefined) exception.message = message
  const stack = reader.text(STACK)
  if (stack !== undefined) {
    exception.stack = stack
    const cause = rootCauseOf(stack)
    if (cause !== undefined) exception.cause = cause.class
  }
  return Object.keys(exception).length === 0 ? undefined : exception
}

/** As `ExceptionHandlerUtils` writes them; no source record is a null topic and -1. */
function writeStreams(failure: Failure): RecordHeader[] {
  const at = failure.last ?? failure.origin
  const {exception} = failure
  return [
    ...(exception?.class === undefined ? [] : [textHeader(EXCEPTION, exception.class)]),
    textHeader(MESSAGE, exception?.message ?? null),
    ...(exception?.stack === undefined ? [] : [textHeader(STACK, exception.stack)]),
    textHeader(COORDINATES.topic, at?.topic ?? null),
    textHeader(COORDINATES.partition, String(at?.partition ?? -1)),
    textHeader(COORDINATES.offset, at?.offset ?? '-1'),
  ]
}
