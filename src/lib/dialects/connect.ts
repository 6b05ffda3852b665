import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'
import type {Dialect, DialectReading} from './dialect.ts'
import type {HeaderTable} from './header-table.ts'
import {textHeader} from './header-writer.ts'
import type {Failure, FailureException, RecordCoordinates, Warning} from './model.ts'
import {hasPrefix, headerName, readDecimal, readNullableText, readText, readTopic, warnNegative} from './primitives.ts'
import type {Warn} from './primitives.ts'
import {rootCauseOf} from './root-cause.ts'

const PREFIX = '__connect.errors.'
const PREFIX_BYTES = headerName(PREFIX)

const TOPIC = `${PREFIX}topic`
const PARTITION = `${PREFIX}partition`
const OFFSET = `${PREFIX}offset`
const CONNECTOR = `${PREFIX}connector.name`
const TASK = `${PREFIX}task.id`
const STAGE = `${PREFIX}stage`
const COMPONENT = `${PREFIX}class.name`
const EXCEPTION_CLASS = `${PREFIX}exception.class.name`
const EXCEPTION_MESSAGE = `${PREFIX}exception.message`
const EXCEPTION_STACK = `${PREFIX}exception.stacktrace`

/** Stages of Connect's error handling, by the names and in the order of its `Stage` constants (KIP-298). */
export const CONNECT_STAGES = [
  'TASK_POLL',
  'TASK_PUT',
  'TRANSFORMATION',
  'KEY_CONVERTER',
  'VALUE_CONVERTER',
  'HEADER_CONVERTER',
  'KAFKA_PRODUCE',
  'KAFKA_CONSUME',
] as const

export type ConnectStage = (typeof CONNECT_STAGES)[number]

/**
 * Dead letters of Kafka Connect sinks, as `DeadLetterQueueReporter` writes them (KIP-298, KIP-610): ten headers, appended
 * and never removed, so the first set tells the origin and the last one the current failure.
 */
export const connect: Dialect = {
  id: 'connect',
  stages: CONNECT_STAGES,
  keepsTimestamp: true,
  strips: name => hasPrefix(name, PREFIX_BYTES),
  read: readConnect,
  write: writeConnect,
}

function readConnect(_record: KafkaRecord, headers: HeaderTable): DialectReading | null {
  const lastHeaderIndex = headers.lastIndexOfPrefix(PREFIX)
  if (lastHeaderIndex === -1) return null
  const warnings = new Set<Warning>()
  const warn: Warn = warning => warnings.add(warning)
  const failure: Omit<Failure, 'dialect' | 'chain'> = {}

  const counts = [headers.count(TOPIC), headers.count(PARTITION), headers.count(OFFSET)] as const
  const hops = counts[0] > 0 ? counts[0] : Math.max(counts[1], counts[2])
  if (new Set(counts.filter(count => count > 0)).size > 1) warn('ragged_hops')
  const origin = readCoordinates(name => headers.first(name), warn)
  if (origin !== undefined) failure.origin = origin
  if (hops > 1) {
    failure.hops = hops
    const last = readCoordinates(name => headers.last(name), warn)
    if (last !== undefined) failure.last = last
  }

  const text = (name: string): string | undefined => {
    const found = headers.last(name)
    return found === undefined ? undefined : readText(found.value, warn)
  }
  const connector = text(CONNECTOR)
  if (connector !== undefined) failure.connector = connector
  const taskHeader = headers.last(TASK)
  const task = taskHeader === undefined ? undefined : readDecimal(taskHeader.value, 'int32', warn)
  if (task !== undefined) failure.task = Number(task)
  const stage = text(STAGE)
  if (stage !== undefined) failure.stage = stage
  const component = text(COMPONENT)
  if (component !== undefined) failure.component = component
  const exception = readException(headers, hops, warn)
  if (exception !== undefined) failure.exception = exception
  if (warnings.size > 0) failure.warnings = [...warnings]
  return {failure, lastHeaderIndex}
}

function readCoordinates(
  pick: (name: string) => {readonly value: Buffer | null} | undefined,
  warn: Warn,
): RecordCoordinates | undefined {
  const coordinates: RecordCoordinates = {}
  const topicHeader = pick(TOPIC)
  const topic = topicHeader === undefined ? undefined : readTopic(topicHeader.value, warn)
  if (topic !== undefined) coordinates.topic = topic
  const partitionHeader = pick(PARTITION)
  const partition = partitionHeader === undefined ? undefined : readDecimal(partitionHeader.value, 'int32', warn)
  if (partition !== undefined) coordinates.partition = Number(partition)
  const offsetHeader = pick(OFFSET)
  const offset = offsetHeader === undefined ? undefined : readDecimal(offsetHeader.value, 'int64', warn)
  if (offset !== undefined) coordinates.offset = offset.toString()
  warnNegative(coordinates, warn)
  return Object.keys(coordinates).length === 0 ? undefined : coordinates
}

/**
 * The exception of the newest set. A task may report a null error, and then the set ends with the executing class: an
 * exception in front of the newest set belongs to an older failure and must not explain this one.
 */
function readException(headers: HeaderTable, hops: number, warn: Warn): FailureException | undefined {
  const newestSet = headers.last(TOPIC)?.index ?? -1
  const pick = (name: string): {readonly value: Buffer | null} | undefined => {
    const found = headers.last(name)
    const stale = hops > 1 && found !== undefined && headers.count(name) < hops && found.index < newestSet
    return stale ? undefined : found
  }
  const exception: FailureException = {}
  const classHeader = pick(EXCEPTION_CLASS)
  const className = classHeader === undefined ? undefined : readText(classHeader.value, warn)
  if (className !== undefined) exception.class = className
  const message = readNullableText(pick(EXCEPTION_MESSAGE)?.value ?? null, warn)
  if (message !== undefined) exception.message = message
  const stackHeader = pick(EXCEPTION_STACK)
  const stack = stackHeader === undefined ? undefined : readText(stackHeader.value, warn)
  if (stack !== undefined) {
    exception.stack = stack
    const cause = rootCauseOf(stack)
    if (cause !== undefined) exception.cause = cause.class
  }
  return Object.keys(exception).length === 0 ? undefined : exception
}

function writeConnect(failure: Failure): RecordHeader[] {
  const at = failure.last ?? failure.origin
  const {exception} = failure
  const text = (name: string, value: string | number | undefined): RecordHeader[] =>
    value === undefined ? [] : [textHeader(name, String(value))]
  return [
    ...text(TOPIC, at?.topic),
    ...text(PARTITION, at?.partition),
    ...text(OFFSET, at?.offset),
    ...text(CONNECTOR, failure.connector),
    ...text(TASK, failure.task),
    ...text(STAGE, failure.stage),
    ...text(COMPONENT, failure.component),
    ...text(EXCEPTION_CLASS, exception?.class),
    ...(exception === undefined ? [] : [textHeader(EXCEPTION_MESSAGE, exception.message ?? null)]),
    ...text(EXCEPTION_STACK, exception?.stack),
  ]
}

/** What a dead letter says about a failure, for writing it as Connect would. */
export interface ConnectContext {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly connector: string
  readonly task: number
  readonly stage: ConnectStage
  /** Binary name of the class that failed, or what stands for it. */
  readonly component: string
  /** Absent when the failure has no error: the exception headers are then not written. */
  readonly error?: {readonly class: string; readonly message: string | null; readonly stack: string}
}

/**
 * One set of context headers in the order and encoding of `DeadLetterQueueReporter.populateContextHeaders`; a null
 * exception message becomes a header with a null value.
 */
export function connectHeaders(context: ConnectContext): RecordHeader[] {
  const {error} = context
  return [
    textHeader(TOPIC, context.topic),
    textHeader(PARTITION, String(context.partition)),
    textHeader(OFFSET, context.offset.toString()),
    textHeader(CONNECTOR, context.connector),
    textHeader(TASK, String(context.task)),
    textHeader(STAGE, context.stage),
    textHeader(COMPONENT, context.component),
    ...(error === undefined
      ? []
      : [
          textHeader(EXCEPTION_CLASS, error.class),
          textHeader(EXCEPTION_MESSAGE, error.message),
          textHeader(EXCEPTION_STACK, error.stack),
        ]),
  ]
}
