import type {DialectReading} from './dialect.ts'
import type {HeaderOccurrence} from './header-table.ts'
import type {Failure, FailureException, RecordCoordinates, Warning} from './model.ts'
import {readDecimal, readNullableText, readText, readTopic, warnNegative} from './primitives.ts'
import type {Warn} from './primitives.ts'
import {rootCauseOf} from './root-cause.ts'

/** How a header's bytes become a field's value. `time` is a number, or else a text in the field beside it. */
type Form = 'topic' | 'text' | 'nullable' | 'int32' | 'int64' | 'time'

const FORMS = {
  'origin.topic': 'topic',
  'origin.partition': 'int32',
  'origin.offset': 'int64',
  'origin.timestamp': 'time',
  group: 'text',
  connector: 'text',
  task: 'int32',
  app: 'text',
  taskId: 'text',
  stage: 'text',
  component: 'text',
  description: 'text',
  'exception.class': 'text',
  'exception.message': 'nullable',
  'exception.cause': 'text',
  'exception.causeMessage': 'nullable',
  'exception.stack': 'text',
  'exception.code': 'text',
  attempts: 'int32',
  deliveryAttempt: 'int32',
  queueId: 'text',
  traceId: 'text',
  condition: 'text',
  dueAt: 'int64',
  failedAt: 'time',
  firstFailedAt: 'int64',
} as const satisfies Record<string, Form>

/** A field of the failure that a single header can hold, by its path in JSON. */
export type FailureField = keyof typeof FORMS

/** True for the name of a field that can be mapped. */
export function isFailureField(name: string): name is FailureField {
  return Object.hasOwn(FORMS, name)
}

/** All of them, in the order of the model. */
export const FAILURE_FIELDS: readonly FailureField[] = Object.keys(FORMS).filter(isFailureField)

/** The failure that single headers tell, one header a field. Never throws. */
export function readMappedFields(found: ReadonlyMap<FailureField, HeaderOccurrence>): DialectReading {
  const warnings = new Set<Warning>()
  const warn: Warn = warning => warnings.add(warning)
  const origin: RecordCoordinates = {}
  const exception: FailureException = {}
  const failure: Omit<Failure, 'dialect' | 'chain'> = {}
  let lastHeaderIndex = -1
  for (const [field, {value, index}] of found) {
    lastHeaderIndex = Math.max(lastHeaderIndex, index)
    const [name, parsed] = readField(field, value, warn)
    if (parsed === undefined) continue
    const dot = name.indexOf('.')
    const holder = name.startsWith('origin.') ? origin : name.startsWith('exception.') ? exception : failure
    Object.assign(holder, {[name.slice(dot + 1)]: parsed})
  }
  if (exception.stack !== undefined && exception.cause === undefined) {
    const cause = rootCauseOf(exception.stack)
    if (cause !== undefined) exception.cause = cause.class
  }
  warnNegative(origin, warn)
  if (Object.keys(origin).length > 0) failure.origin = origin
  if (Object.keys(exception).length > 0) failure.exception = exception
  if (warnings.size > 0) failure.warnings = [...warnings]
  return {failure, lastHeaderIndex}
}

/** The field's path and value; a time that is no number goes into the text field beside it. */
function readField(
  field: FailureField,
  value: Buffer | null,
  warn: Warn,
): readonly [path: string, value: string | number | undefined] {
  const form: Form = FORMS[field]
  if (form === 'topic') return [field, readTopic(value, warn)]
  if (form === 'text') return [field, readText(value, warn)]
  if (form === 'nullable') return [field, readNullableText(value, warn)]
  if (form === 'time' && value !== null && readDecimal(value, 'int64', () => {}) === undefined) {
    return [field === 'failedAt' ? 'failedAtText' : 'sourceTimestampText', readText(value, warn)]
  }
  const number = readDecimal(value, form === 'int32' ? 'int32' : 'int64', warn)
  return [field, form === 'int32' && number !== undefined ? Number(number) : number?.toString()]
}
