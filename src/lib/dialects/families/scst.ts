import type {KafkaRecord, RecordHeader} from '../../kafka/record.ts'
import type {Dialect, DialectReading} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
import {int32Header, int64Header, textHeader} from '../header-writer.ts'
import type {Failure, FailureException} from '../model.ts'
import {headerName, isDecimalText} from '../primitives.ts'
import {rootCauseOf} from '../root-cause.ts'

/** Names of the binder's coordinates; also inside the value where headers are embedded. */
export const SCST_COORDINATES = {
  topic: 'x-original-topic',
  partition: 'x-original-partition',
  offset: 'x-original-offset',
  timestamp: 'x-original-timestamp',
  timestampType: 'x-original-timestamp-type',
} as const

const {topic: TOPIC, partition: PARTITION} = SCST_COORDINATES
const EXCEPTION_CLASS = 'x-exception-fqcn'
const EXCEPTION_MESSAGE = 'x-exception-message'
const EXCEPTION_STACK = 'x-exception-stacktrace'
const EXCEPTION_NAMES = [EXCEPTION_CLASS, EXCEPTION_MESSAGE, EXCEPTION_STACK]
const NAMES = [...Object.values(SCST_COORDINATES), ...EXCEPTION_NAMES]
const NAME_BYTES = NAMES.map(headerName)

/** Dead letters of Spring Cloud Stream's Kafka binder: eight headers, numbers in binary, all appended at every hop. */
export const scst: Dialect = {
  id: 'scst',
  stages: [],
  keepsTimestamp: false,
  strips: name => NAME_BYTES.some(own => own.equals(name)),
  read: readScst,
  write: writeScst,
}

function readScst(record: KafkaRecord, headers: HeaderTable): DialectReading | null {
  if (!headers.has(TOPIC) || !EXCEPTION_NAMES.some(name => headers.has(name))) return null
  // The names are anybody's; decimal text in the partition tells a producer of somebody's own.
  const partition = headers.last(PARTITION)?.value
  if (partition !== undefined && partition !== null && isDecimalText(partition)) return null
  const reader = new HeaderReader(headers, 'binary')
  const failure: Omit<Failure, 'dialect' | 'chain'> = reader.hops(SCST_COORDINATES)
  const exception = readScstException(reader)
  if (exception !== undefined) failure.exception = exception
  const group = groupOf(record.topic, (failure.last ?? failure.origin)?.topic)
  if (group !== undefined) failure.group = group
  const lastHeaderIndex = Math.max(...NAMES.map(name => headers.last(name)?.index ?? -1))
  return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex}
}

/** The newest exception. Its class says nothing in the binder's retries: the cause is in the trace. */
export function readScstException(reader: HeaderReader): FailureException | undefined {
  const exception: FailureException = {}
  const className = reader.newestOf(EXCEPTION_CLASS, TOPIC)
  if (className !== undefined) exception.class = className
  const message = reader.newestOf(EXCEPTION_MESSAGE, TOPIC)
  if (message !== undefined) exception.message = message
  const stack = reader.newestOf(EXCEPTION_STACK, TOPIC)
  if (stack !== undefined) {
    exception.stack = stack
    const cause = rootCauseOf(stack)
    if (cause !== undefined) exception.cause = cause.class
  }
  return Object.keys(exception).length === 0 ? undefined : exception
}

/** The group is the tail of `error.TOPIC.GROUP`, the binder's default name. */
function groupOf(deadLetterTopic: string, source: string | undefined): string | undefined {
  if (source === undefined) return undefined
  const start = `error.${source}.`
  return deadLetterTopic.startsWith(start) && deadLetterTopic.length > start.length
    ? deadLetterTopic.slice(start.length)
    : undefined
}

function writeScst(failure: Failure): RecordHeader[] {
  const at = failure.last ?? failure.origin ?? {}
  const text = (name: string, value: string | undefined): RecordHeader[] =>
    value === undefined ? [] : [textHeader(name, value)]
  return [
    ...text(TOPIC, at.topic),
    ...(at.partition === undefined ? [] : [int32Header(PARTITION, at.partition)]),
    ...(at.offset === undefined ? [] : [int64Header(SCST_COORDINATES.offset, BigInt(at.offset))]),
    ...(at.timestamp === undefined ? [] : [int64Header(SCST_COORDINATES.timestamp, BigInt(at.timestamp))]),
    ...text(SCST_COORDINATES.timestampType, at.timestampType),
    ...text(EXCEPTION_CLASS, failure.exception?.class),
    ...text(EXCEPTION_MESSAGE, failure.exception?.message),
    ...text(EXCEPTION_STACK, failure.exception?.stack),
  ]
}
