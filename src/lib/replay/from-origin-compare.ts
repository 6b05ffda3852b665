import type {DeadLetter} from '../dead-letter/model.ts'
import type {Dialect} from '../dialects/dialect.ts'
import {DIALECTS} from '../dialects/registry.ts'
import {carriedHeaders, headerStripper, originalPayload, originalTimestamp, payloadState} from '../dialects/restore.ts'
import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'
import type {OriginAnswer} from './from-origin.ts'
import {isProvenanceName} from './provenance.ts'

/** What of the dead letter's own copy is not what the origin has. */
export type CopyDifference = 'key' | 'value' | 'headers'

/** The origin of one dead letter: the record itself, or why it cannot be taken. */
export type OriginFinding =
  | {
      readonly state: 'found'
      readonly record: KafkaRecord
      /** Empty: the copy is byte-equal, or there is none. */
      readonly differences: readonly CopyDifference[]
    }
  /** Another record stands at the place. */
  | {readonly state: 'other'; readonly record: KafkaRecord; readonly reason: string}
  | {readonly state: 'gone' | 'unknown'; readonly reason: string}

/** How far a producer's clock may be ahead of the broker's that wrote the dead letter, ms. */
const CLOCK_MARGIN_MS = 300_000n

/**
 * Hold what stands at a dead letter's origin against what the dead letter still knows of it: its time, key, value and
 * headers. A different value alone makes no other record: serializers of dead letter producers rewrite it.
 */
export function compareWithOrigin(
  letter: DeadLetter,
  answer: OriginAnswer,
  dialects: readonly Dialect[] = DIALECTS,
): OriginFinding {
  if (answer.state !== 'found') return answer
  const {record} = answer
  const copy = copyOf(letter, dialects)
  const differences = copy === null ? [] : differencesOf(copy, record)
  const reason = whyOther({letter, record, copy, differences, dialects})
  return reason === null ? {state: 'found', record, differences} : {state: 'other', record, reason}
}

interface Copy extends Pick<KafkaRecord, 'key' | 'value'> {
  readonly headers: readonly RecordHeader[]
}

/** What the dead letter has of the original, its own additions taken away; null when it is only a pointer. */
function copyOf({record, failure}: DeadLetter, dialects: readonly Dialect[]): Copy | null {
  if (payloadState(record, failure, dialects) === 'absent') return null
  const strips = headerStripper(record, failure, {dialects})
  const headers = carriedHeaders(record, failure).filter(({name}, index) => !strips(name, index))
  return {...originalPayload(record, failure), headers}
}

function differencesOf(copy: Copy, record: KafkaRecord): CopyDifference[] {
  const own = record.headers.filter(({name}) => !isProvenanceName(name))
  const differs = {
    key: !isSame(copy.key, record.key),
    value: !isSame(copy.value, record.value),
    headers: !isSameHeaders(copy.headers, own),
  }
  return (['key', 'value', 'headers'] as const).filter(part => differs[part])
}

/** Why the record cannot be the one that failed; null when nothing speaks against it. */
function whyOther({
  letter: {record: dead, failure},
  record,
  copy,
  differences,
  dialects,
}: {
  readonly letter: DeadLetter
  readonly record: KafkaRecord
  readonly copy: Copy | null
  readonly differences: readonly CopyDifference[]
  readonly dialects: readonly Dialect[]
}): string | null {
  const known = originalTimestamp(dead, failure, dialects)
  if (known !== null && record.timestamp !== null) {
    if (known === record.timestamp) return null
    // Streams keeps the time that its extractor made, not the record's.
    const isExact = failure.origin?.timestamp !== undefined || !failure.dialect.startsWith('streams')
    if (isExact) return `the record there is of time ${record.timestamp}, the one that failed was of ${known}`
  }
  if (copy === null) {
    const isNewer =
      record.timestamp !== null && dead.timestamp !== null && record.timestamp > dead.timestamp + CLOCK_MARGIN_MS
    return isNewer
      ? `the record there is of time ${record.timestamp}, after its dead letter of ${dead.timestamp}`
      : null
  }
  if (copy.value !== null && !differences.includes('value')) return null
  if (differences.includes('key')) return 'the record there has another key'
  if (copy.key !== null) return null
  const hasHeaders = copy.headers.length > 0 && !differences.includes('headers')
  return hasHeaders || differences.length === 0 ? null : 'nothing of the record there is as in the dead letter'
}

function isSameHeaders(left: readonly RecordHeader[], right: readonly RecordHeader[]): boolean {
  return (
    left.length === right.length &&
    left.every(({name, value}, index) => {
      const other = right[index]
      return other !== undefined && name.equals(other.name) && isSame(value, other.value)
    })
  )
}

function isSame(left: Buffer | null, right: Buffer | null): boolean {
  return left === null || right === null ? left === right : left.equals(right)
}
