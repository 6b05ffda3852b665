import type {KafkaRecord, RecordHeader} from '../../kafka/record.ts'
import type {HeaderTest} from '../dialect.ts'
import type {CoordinateNames, HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
import {int32Header, int64Header, textHeader} from '../header-writer.ts'
import {readJavaException} from '../java-exception-header.ts'
import type {Failure, FailureException} from '../model.ts'
import {headerName} from '../primitives.ts'
import {rootCauseOf} from '../root-cause.ts'

/** The group under both spellings of the other headers. */
export const SPRING_GROUP = 'kafka_dlt-original-consumer-group'

const DELIVERY_ATTEMPT = 'kafka_deliveryAttempt'
const LISTENER_INFO = 'kafka_listenerInfo'
const JAVA_KEY = 'springDeserializerExceptionKey'
const JAVA_VALUE = 'springDeserializerExceptionValue'
const JAVA_NAMES = [headerName(JAVA_KEY), headerName(JAVA_VALUE)]
const AUXILIARY_NAMES = [...JAVA_NAMES, headerName(DELIVERY_ATTEMPT), headerName(LISTENER_INFO)]
const DESERIALIZATION_EXCEPTION = 'org.springframework.kafka.support.serializer.DeserializationException'

const VALUE_TYPE = '__TypeId__'
const KEY_TYPE = '__Key_TypeId__'
/** What Spring's JSON serializer adds for the value, and for the key. */
const TYPE_HEADERS = [
  VALUE_TYPE,
  '__ContentTypeId__',
  '__KeyTypeId__',
  KEY_TYPE,
  '__Key_ContentTypeId__',
  '__Key_KeyTypeId__',
].map(headerName)
/** Class of a byte array: the dead letter's serializer made text of bytes, an application never declares this. */
const BYTE_ARRAY_TYPE = '[B'

/** Names of one spelling. */
export interface SpringNames {
  readonly coordinates: Required<CoordinateNames>
  readonly exception: Record<'class' | 'cause' | 'message' | 'stack', string>
  readonly keyException: Record<'class' | 'message' | 'stack', string>
}

/** @param prefix `kafka_dlt-` (dead letter recoverer) or `kafka_` (retry topics) */
export function springNames(prefix: string): SpringNames {
  return {
    coordinates: {
      topic: `${prefix}original-topic`,
      partition: `${prefix}original-partition`,
      offset: `${prefix}original-offset`,
      timestamp: `${prefix}original-timestamp`,
      timestampType: `${prefix}original-timestamp-type`,
    },
    exception: {
      class: `${prefix}exception-fqcn`,
      cause: `${prefix}exception-cause-fqcn`,
      message: `${prefix}exception-message`,
      stack: `${prefix}exception-stacktrace`,
    },
    keyException: {
      class: `${prefix}key-exception-fqcn`,
      message: `${prefix}key-exception-message`,
      stack: `${prefix}key-exception-stacktrace`,
    },
  }
}

/** Everything that both spellings have in common. */
export function readSpring(record: KafkaRecord, reader: HeaderReader, names: SpringNames): Partial<Failure> {
  const failure: Partial<Failure> = reader.hops(names.coordinates)
  const group = reader.text(SPRING_GROUP)
  if (group !== undefined) failure.group = group
  const deliveryAttempt = reader.int32(DELIVERY_ATTEMPT)
  if (deliveryAttempt !== undefined) failure.deliveryAttempt = deliveryAttempt
  const exception = readException(reader, names.exception)
  if (exception !== undefined) failure.exception = exception
  const keyException = readKeyException(reader, names.keyException)
  if (keyException !== undefined) failure.keyException = keyException
  readPayload(record, reader, failure)
  return failure
}

/** The newest exception. Before 2.8 sets were appended, and one without a message must not borrow an older one's. */
function readException(reader: HeaderReader, names: SpringNames['exception']): FailureException | undefined {
  const exception: FailureException = {}
  const className = reader.newestOf(names.class, names.class)
  if (className !== undefined) exception.class = className
  const cause = reader.newestOf(names.cause, names.class)
  if (cause !== undefined) exception.cause = cause
  const message = reader.newestOf(names.message, names.class)
  if (message !== undefined) exception.message = message
  const stack = reader.newestOf(names.stack, names.class)
  if (stack !== undefined) exception.stack = stack
  if (cause === undefined && stack !== undefined) {
    const root = rootCauseOf(stack)
    if (root !== undefined) exception.cause = root.class
  }
  return Object.keys(exception).length === 0 ? undefined : exception
}

function readKeyException(reader: HeaderReader, names: SpringNames['keyException']): Failure['keyException'] {
  const exception: NonNullable<Failure['keyException']> = {}
  const className = reader.text(names.class)
  if (className !== undefined) exception.class = className
  const message = reader.newestOf(names.message, names.class)
  if (message !== undefined) exception.message = message
  const stack = reader.newestOf(names.stack, names.class)
  if (stack !== undefined) exception.stack = stack
  return Object.keys(exception).length === 0 ? undefined : exception
}

/** Which side could not be deserialised, and its bytes where the record itself does not have them as they were. */
function readPayload(record: KafkaRecord, reader: HeaderReader, failure: Partial<Failure>): void {
  const {exception, keyException} = failure
  const valueFailed =
    exception?.class === DESERIALIZATION_EXCEPTION ||
    (exception?.class !== undefined && keyException === undefined && exception.cause === DESERIALIZATION_EXCEPTION)
  const keyFailed = keyException !== undefined
  const undescribed = exception === undefined && keyException === undefined
  const value = readJavaHeader(reader, JAVA_VALUE)
  const key = readJavaHeader(reader, JAVA_KEY)
  // A header left over from an earlier life says nothing about a value that has failed otherwise since.
  const rawValue = valueFailed || undescribed ? value : undefined
  const rawKey = keyFailed || undescribed ? key : undefined
  if (rawKey !== undefined && record.key?.equals(rawKey) !== true) failure.rawKey = rawKey.toString('hex')
  if (rawValue !== undefined && record.value?.equals(rawValue) !== true) failure.rawValue = rawValue.toString('hex')
  if (valueFailed || rawValue !== undefined) failure.stage = 'deserialize-value'
  else if (keyFailed || rawKey !== undefined) failure.stage = 'deserialize-key'
  else return
  const valueText = reader.isLast(VALUE_TYPE, BYTE_ARRAY_TYPE) ? decodeBase64Json(record.value) : undefined
  if (valueText !== undefined && (valueFailed || rawValue !== undefined)) {
    failure.payload = 'base64-json'
    failure.rawValue = valueText.toString('hex')
  }
  const keyText = reader.isLast(KEY_TYPE, BYTE_ARRAY_TYPE) ? decodeBase64Json(record.key) : undefined
  if (keyText !== undefined && (keyFailed || rawKey !== undefined)) failure.rawKey = keyText.toString('hex')
}

function readJavaHeader(reader: HeaderReader, name: string): Buffer | undefined {
  const value = reader.bytes(name)
  if (value === undefined) return undefined
  if (value === null) {
    reader.warn('null_header')
    return undefined
  }
  const found = readJavaException(value)
  if (found === undefined) reader.warn('opaque_java_header')
  return found?.data ?? undefined
}

/** Bytes that a JSON serializer wrote as base64 in quotes; undefined when the text is anything else. */
function decodeBase64Json(value: Buffer | null): Buffer | undefined {
  if (value === null || value.length < 2 || value.length % 4 !== 2) return undefined
  const text = value.toString('latin1')
  if (!text.startsWith('"') || !text.endsWith('"')) return undefined
  const decoded = Buffer.from(text.slice(1, -1), 'base64')
  return decoded.toString('base64') === text.slice(1, -1) ? decoded : undefined
}

/** True for the headers that Spring adds to the consumed record, and that its dead letter copies. */
export function isSpringAuxiliary(name: Buffer): boolean {
  return AUXILIARY_NAMES.some(auxiliary => auxiliary.equals(name))
}

/** True for the serialised exceptions: old versions deserialise them, and take a tombstone for a failed value. */
export function isJavaException(name: Buffer): boolean {
  return JAVA_NAMES.some(java => java.equals(name))
}

/** Type headers that the dead letter's JSON serializer added: those behind the set, and any that says byte array. */
export function springTypeHeaders(record: KafkaRecord, lastHeaderIndex: number): HeaderTest {
  return (name, index) =>
    TYPE_HEADERS.some(type => type.equals(name)) &&
    (index > lastHeaderIndex || record.headers[index]?.value?.toString('latin1') === BYTE_ARRAY_TYPE)
}

/** Last position of a header that the test or the group's name selects. */
export function lastSpringIndex(headers: HeaderTable, matches: (name: string) => boolean): number {
  return headers.lastIndexWhere(name => name === SPRING_GROUP || matches(name))
}

/** The exception headers in the order of the recoverer: the key's in front of the value's, the cause behind a class. */
export function writeSpringExceptions({exception, keyException}: Failure, names: SpringNames): RecordHeader[] {
  const cause = optionalText(names.exception.cause, exception?.cause)
  const ofKeyOnly = exception?.class === undefined
  return [
    ...optionalText(names.keyException.class, keyException?.class),
    ...(ofKeyOnly ? cause : []),
    ...optionalText(names.keyException.message, keyException?.message),
    ...optionalText(names.keyException.stack, keyException?.stack),
    ...optionalText(names.exception.class, exception?.class),
    ...(ofKeyOnly ? [] : cause),
    ...optionalText(names.exception.message, exception?.message),
    ...optionalText(names.exception.stack, exception?.stack),
  ]
}

/** The coordinates and the group, numbers in binary. */
export function writeSpringCoordinates(failure: Failure, names: SpringNames): RecordHeader[] {
  const at = failure.last ?? failure.origin ?? {}
  const {coordinates} = names
  return [
    ...optionalText(coordinates.topic, at.topic),
    ...(at.partition === undefined ? [] : [int32Header(coordinates.partition, at.partition)]),
    ...(at.offset === undefined ? [] : [int64Header(coordinates.offset, BigInt(at.offset))]),
    ...(at.timestamp === undefined ? [] : [int64Header(coordinates.timestamp, BigInt(at.timestamp))]),
    ...optionalText(coordinates.timestampType, at.timestampType),
    ...optionalText(SPRING_GROUP, failure.group),
  ]
}

function optionalText(name: string, text: string | undefined): RecordHeader[] {
  return text === undefined ? [] : [textHeader(name, text)]
}
