import type {RecordHeader} from '../../kafka/record.ts'
import type {Dialect} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
import {int32Header, minimalBigIntHeader} from '../header-writer.ts'
import type {Failure} from '../model.ts'
import {hasPrefix, headerName, readBinary, readMinimalBigInt} from '../primitives.ts'
import type {Warn} from '../primitives.ts'
import {
  isJavaException,
  isSpringAuxiliary,
  lastSpringIndex,
  readSpring,
  SPRING_GROUP,
  springNames,
  springTypeHeaders,
  writeSpringCoordinates,
  writeSpringExceptions,
} from './spring-headers.ts'

const RETRY_PREFIX = 'retry_topic-'
const ATTEMPTS = `${RETRY_PREFIX}attempts`
const FIRST_TIMESTAMP = `${RETRY_PREFIX}original-timestamp`
const DUE = `${RETRY_PREFIX}backoff-timestamp`
const MAX_ATTEMPTS = 32_767

const NAMES = springNames('kafka_')
const PREFIXES = [RETRY_PREFIX, 'kafka_original-', 'kafka_exception-', 'kafka_key-exception-']
const PREFIX_BYTES = PREFIXES.map(headerName)
const RETRY_PREFIX_BYTES = headerName(RETRY_PREFIX)
const GROUP_BYTES = headerName(SPRING_GROUP)

const lastIndex = (headers: HeaderTable): number =>
  lastSpringIndex(headers, name => PREFIXES.some(prefix => name.startsWith(prefix)))

/**
 * Records in the retry topics of Spring for Apache Kafka (`@RetryableTopic`) and in their dead letter topic:
 * coordinates written once, exceptions replaced, one set of `retry_topic-*` a hop.
 */
export const springRetry: Dialect = {
  id: 'spring-retry',
  stages: ['deserialize-key', 'deserialize-value'],
  keepsTimestamp: false,
  // The global timeout runs from the record's own time: an old one sends it straight to the dead letter topic.
  replaysNow: true,
  strips: name =>
    PREFIX_BYTES.some(prefix => hasPrefix(name, prefix)) || name.equals(GROUP_BYTES) || isSpringAuxiliary(name),
  harmful: name => hasPrefix(name, RETRY_PREFIX_BYTES) || isJavaException(name),
  sideHeaders: (record, headers) => springTypeHeaders(record, lastIndex(headers)),
  read(record, headers) {
    const known = headers.has(NAMES.coordinates.topic) || headers.has(NAMES.exception.class)
    if (!known && headers.lastIndexOfPrefix(RETRY_PREFIX) === -1) return null
    const reader = new HeaderReader(headers, 'binary')
    const failure: Partial<Failure> = readSpring(record, reader, NAMES)
    const attempts = readAttempts(reader)
    if (attempts !== undefined) failure.attempts = attempts
    const dueAt = readTime(reader, DUE, 'last')
    if (dueAt !== undefined) failure.dueAt = dueAt
    if (!headers.has(NAMES.coordinates.timestamp)) {
      const timestamp = readTime(reader, FIRST_TIMESTAMP, 'first')
      if (timestamp !== undefined) failure.origin = {...failure.origin, timestamp}
    }
    return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex: lastIndex(headers)}
  },
  history: readHistory,
  write: failure => [
    ...writeSpringExceptions(failure, NAMES),
    ...writeSpringCoordinates(failure, NAMES),
    ...writeRetry(failure),
  ],
}

/** One failure for each set of `retry_topic-*`: the first knows the place, the last the exception. */
function readHistory(headers: HeaderTable, reading: Partial<Failure>): Partial<Failure>[] {
  const {origin, exception, stage, group} = reading
  const counts = headers.all(ATTEMPTS)
  const dues = headers.all(DUE)
  const silent: Warn = () => undefined
  return counts.map(({value}, index) => {
    const attempts = attemptsIn(value, silent)
    // Sets are complete, or nothing says which time belongs to which count.
    const due = dues.length === counts.length ? dues[index] : undefined
    const dueAt = due === undefined ? undefined : readMinimalBigInt(due.value, silent)
    const isLast = index === counts.length - 1
    return {
      ...(index === 0 && origin !== undefined ? {origin} : {}),
      ...(index === 0 && group !== undefined ? {group} : {}),
      ...(isLast && exception !== undefined ? {exception} : {}),
      ...(isLast && stage !== undefined ? {stage} : {}),
      ...(attempts === undefined ? {} : {attempts}),
      ...(dueAt === undefined ? {} : {dueAt: dueAt.toString()}),
    }
  })
}

function readAttempts({headers, warn}: HeaderReader): number | undefined {
  const found = headers.last(ATTEMPTS)
  return found === undefined ? undefined : attemptsIn(found.value, warn)
}

/** Failed attempts; the header holds the number of the next one. Early releases wrote one unsigned byte. */
function attemptsIn(value: Buffer | null, warn: Warn): number | undefined {
  const next = value?.length === 1 ? value[0] : Number(readBinary(value, 'int32', warn) ?? Number.NaN)
  if (next === undefined || Number.isNaN(next)) return undefined
  if (next >= 1 && next <= MAX_ATTEMPTS) return next - 1
  warn('bad_number')
  return undefined
}

function readTime({headers, warn}: HeaderReader, name: string, pick: 'first' | 'last'): string | undefined {
  const found = headers[pick](name)
  return found === undefined ? undefined : readMinimalBigInt(found.value, warn)?.toString()
}

function writeRetry(failure: Failure): RecordHeader[] {
  const {attempts, dueAt, origin} = failure
  return [
    ...(origin?.timestamp === undefined ? [] : [minimalBigIntHeader(FIRST_TIMESTAMP, BigInt(origin.timestamp))]),
    ...(attempts === undefined ? [] : [int32Header(ATTEMPTS, attempts + 1)]),
    ...(dueAt === undefined ? [] : [minimalBigIntHeader(DUE, BigInt(dueAt))]),
  ]
}
