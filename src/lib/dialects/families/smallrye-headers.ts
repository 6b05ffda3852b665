import type {KafkaRecord, RecordHeader} from '../../kafka/record.ts'
import type {HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
import {textHeader} from '../header-writer.ts'
import type {Failure, FailureException} from '../model.ts'
import {headerName} from '../primitives.ts'

/** Prefix of what a failed deserialization leaves on the record. */
export const DESERIALIZATION_PREFIX = 'deserialization-failure-'
/** Prefix of the headers of a failed deserialization. */
export const DESERIALIZATION_PREFIX_BYTES = headerName(DESERIALIZATION_PREFIX)

const FAILED_TOPIC = `${DESERIALIZATION_PREFIX}topic`
const FAILED_REASON = `${DESERIALIZATION_PREFIX}reason`
const FAILED_CAUSE = `${DESERIALIZATION_PREFIX}cause`
const MARKER = `${DESERIALIZATION_PREFIX}dlq`
const DESERIALIZER = `${DESERIALIZATION_PREFIX}deserializer`
const IS_KEY = `${DESERIALIZATION_PREFIX}key`
const DATA = `${DESERIALIZATION_PREFIX}data`
const KEY_DATA = `${DESERIALIZATION_PREFIX}key-data`
const VALUE_DATA = `${DESERIALIZATION_PREFIX}value-data`

/** The seven names under one prefix (`dead-letter-`, `delayed-retry-`). */
export interface SmallryeNames {
  readonly class: string
  readonly reason: string
  readonly causeClass: string
  readonly cause: string
  readonly coordinates: {readonly topic: string; readonly partition: string; readonly offset: string}
}

/** Names of the headers of one kind of queue. */
export function smallryeNames(prefix: string): SmallryeNames {
  return {
    class: `${prefix}exception-class-name`,
    reason: `${prefix}reason`,
    causeClass: `${prefix}cause-class-name`,
    cause: `${prefix}cause`,
    coordinates: {topic: `${prefix}topic`, partition: `${prefix}partition`, offset: `${prefix}offset`},
  }
}

/** Last position of a header of either prefix. */
export function lastSmallryeIndex(headers: HeaderTable, prefix: string): number {
  return Math.max(headers.lastIndexOfPrefix(prefix), headers.lastIndexOfPrefix(DESERIALIZATION_PREFIX))
}

/** The newest exception. Sets are put in front, class first, coordinates last, so it ends at the first topic. */
export function readSmallryeException(reader: HeaderReader, names: SmallryeNames): FailureException | undefined {
  const {headers} = reader
  const sets = headers.count(names.coordinates.topic)
  const end = headers.first(names.coordinates.topic)?.index ?? Number.POSITIVE_INFINITY
  const text = (name: string): string | undefined => {
    const found = headers.first(name)
    const stale = found !== undefined && sets > 1 && headers.count(name) < sets && found.index > end
    return stale ? undefined : reader.text(name, 'first')
  }
  const exception: FailureException = {}
  const className = text(names.class)
  if (className !== undefined) exception.class = className
  const message = text(names.reason)
  if (message !== undefined) exception.message = message
  const cause = text(names.causeClass)
  if (cause !== undefined) exception.cause = cause
  const causeMessage = text(names.cause)
  if (causeMessage !== undefined) exception.causeMessage = causeMessage
  return Object.keys(exception).length === 0 ? undefined : exception
}

/** True for a record that shows a failed deserialization, whoever parked it. */
export function carriesDeserializationFailure(headers: HeaderTable): boolean {
  return headers.has(FAILED_TOPIC) && headers.has(FAILED_REASON)
}

/** The failure of a record that has nothing but the headers of a failed deserialization. */
export function readBareDeserializationFailure(reader: HeaderReader): Partial<Failure> {
  const failure: Partial<Failure> = {}
  const origin = reader.coordinates({topic: FAILED_TOPIC}, 'last')
  if (origin !== undefined) failure.origin = origin
  const exception: FailureException = {}
  const message = reader.text(FAILED_REASON)
  if (message !== undefined) exception.message = message
  const causeMessage = reader.text(FAILED_CAUSE)
  if (causeMessage !== undefined) exception.causeMessage = causeMessage
  if (Object.keys(exception).length > 0) failure.exception = exception
  return failure
}

/**
 * What a failed deserialization left: side, deserializer, raw bytes. After a failure of the key alone the dead letter's
 * value is a second copy of the key's bytes, and the real one is gone.
 */
export function readDeserializationFailure(record: KafkaRecord, reader: HeaderReader, failure: Partial<Failure>): void {
  const {headers} = reader
  if (headers.has(MARKER)) reader.warn('auto_dlq_header')
  if (headers.lastIndexOfPrefix(DESERIALIZATION_PREFIX) === -1) return
  const component = reader.text(DESERIALIZER)
  if (component !== undefined) failure.component = component
  const data = bytes(reader, DATA)
  const ofKey = reader.text(IS_KEY) === 'true'
  const keyData = bytes(reader, KEY_DATA) ?? (ofKey && !headers.has(VALUE_DATA) ? data : undefined)
  const valueData = bytes(reader, VALUE_DATA) ?? (ofKey ? undefined : data)
  if (keyData !== undefined) failure.rawKey = keyData.toString('hex')
  if (valueData !== undefined) failure.rawValue = valueData.toString('hex')
  if (valueData !== undefined) failure.stage = 'deserialize-value'
  else if (keyData !== undefined || ofKey) failure.stage = 'deserialize-key'
  else if (component !== undefined) failure.stage = 'deserialize-value'
  if (valueData === undefined && keyData !== undefined && record.value?.equals(keyData) === true) {
    failure.payload = 'value-is-key-copy'
    reader.warn('value_lost')
  }
}

/** The seven headers in the order in which the connector writes them. */
export function writeSmallrye(failure: Failure, names: SmallryeNames): RecordHeader[] {
  const at = failure.last ?? failure.origin
  const {exception} = failure
  const text = (name: string, value: string | number | undefined): RecordHeader[] =>
    value === undefined ? [] : [textHeader(name, String(value))]
  return [
    ...text(names.class, exception?.class),
    ...text(names.reason, exception?.message),
    ...text(names.causeClass, exception?.cause),
    ...text(names.cause, exception?.causeMessage),
    ...text(names.coordinates.topic, at?.topic),
    ...text(names.coordinates.partition, at?.partition),
    ...text(names.coordinates.offset, at?.offset),
  ]
}

function bytes(reader: HeaderReader, name: string): Buffer | undefined {
  const value = reader.bytes(name)
  if (value === null) reader.warn('null_header')
  return value ?? undefined
}
