import type {Dialect, DialectReading} from '../dialect.ts'
import type {HeaderOccurrence, HeaderTable} from '../header-table.ts'
import {FAILURE_FIELDS, type FailureField, readMappedFields} from '../mapped-fields.ts'

/** Names with and without a leading `x`. */
const x = (...names: readonly string[]): string[] => names.flatMap(name => [name, `x ${name}`])
const coordinate = (name: string): string[] => [
  ...x(`original ${name}`, `source ${name}`, `dlq original ${name}`),
  `dlq source ${name}`,
]

/** Names that home-made producers give their headers, after `normalise`. */
const ALIASES: Readonly<Partial<Record<FailureField, readonly string[]>>> = {
  'origin.topic': [...coordinate('topic'), 'origin topic', 'x dlq topic', 'dead letter original topic'],
  'origin.partition': coordinate('partition'),
  'origin.offset': coordinate('offset'),
  'origin.timestamp': [...x('original timestamp'), 'dlq original timestamp'],
  'exception.class': [
    ...x('error class', 'error type', 'exception class'),
    'x exception',
    'x exception type',
    'dlq error class',
    'dlq exception class',
    'x dlq error class',
  ],
  'exception.message': [
    ...x('error', 'error message', 'error reason', 'reason', 'dlq reason', 'dlq error'),
    'x exception message',
    'exception message',
    'dlq exception message',
    'x failure reason',
  ],
  'exception.stack': ['stack', ...x('stacktrace', 'stack trace', 'error stack', 'exception stacktrace'), 'dlq stack'],
  attempts: [...x('retry count', 'retries', 'attempts', 'dlq attempts'), 'x attempt', 'x delivery attempt'],
  failedAt: [...x('failed at'), 'dlq failed at', 'x failed timestamp', 'dlq failure timestamp', 'x dlq timestamp'],
  group: [...x('consumer group'), 'dlq consumer group', 'x failed by', 'x consumer'],
}

const FIELD_OF: ReadonlyMap<string, FailureField> = new Map(
  FAILURE_FIELDS.flatMap(field => (ALIASES[field] ?? []).map(name => [name, field] as const)),
)
/** Each of these names holds one of these words: most other headers are done with after one look. */
const WORD = /topic|partition|offset|time|error|reason|exception|stack|retr|attempt|failed|consumer/i
/** Longer names are none of these; a cut keeps the work per header small. */
const MAX_NAME = 64

/** Headers that look like a failure without a reserved name: home-made producers. A guess, and marked as one. */
export const generic: Dialect = {
  id: 'generic',
  stages: [],
  keepsTimestamp: false,
  lastResort: true,
  strips: name => lookAlikeOf(name.toString('latin1')) !== undefined,
  read: (_record, headers) => readGeneric(headers),
}

function readGeneric(headers: HeaderTable): DialectReading | null {
  const found = lookAlikes(headers)
  const isFailure =
    found.has('origin.topic') ||
    (found.has('origin.partition') && found.has('origin.offset')) ||
    (found.has('exception.message') && (found.has('attempts') || found.has('failedAt')))
  if (!isFailure) return null
  const {failure, lastHeaderIndex} = readMappedFields(found)
  return {failure: {...failure, warnings: [...(failure.warnings ?? []), 'weak_signature']}, lastHeaderIndex}
}

/** The latest header of each field, whichever of its names it has. */
export function lookAlikes(headers: HeaderTable): Map<FailureField, HeaderOccurrence> {
  const found = new Map<FailureField, HeaderOccurrence>()
  for (const name of headers.names()) {
    const field = lookAlikeOf(name)
    const occurrence = field === undefined ? undefined : headers.last(name)
    if (field === undefined || occurrence === undefined) continue
    const known = found.get(field)
    if (known === undefined || known.index < occurrence.index) found.set(field, occurrence)
  }
  return found
}

/** The field that a header of this name gives, by its looks; one character a byte. */
export function lookAlikeOf(name: string): FailureField | undefined {
  return name.length > MAX_NAME || !WORD.test(name) ? undefined : FIELD_OF.get(normalise(name))
}

/** `originalTopic`, `X-Original-Topic` and `original_topic` become one: lower case, words apart by one space. */
function normalise(name: string): string {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[-_. ]+/g, ' ')
    .toLowerCase()
}
