import type {DeadLetter, Handled} from '../dead-letter/model.ts'
import type {SameKey} from '../dead-letter/same-key.ts'
import type {RecordCoordinates} from '../dialects/model.ts'
import {causeMessageOf} from '../dialects/root-cause.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {amqpText} from './amqp.ts'
import {bytesToFullText, bytesToText} from './bytes.ts'
import {formatCoordinates} from './dead-letter-view.ts'
import type {DecodedJson} from './decoded-json.ts'
import {formatBytes, plural} from './numbers.ts'
import {type OriginComparison, originLines} from './origin-lines.ts'
import type {Tone} from './paint.ts'
import {payloadLines} from './payload.ts'
import {sanitize} from './sanitize.ts'
import {sameKeyLines} from './same-key.ts'
import {springTypeLines} from './spring-types.ts'
import {renderFoldedStack, renderFullStack} from './stack.ts'
import {formatAge, formatTimestamp} from './time.ts'
import {timelineLines} from './timeline.ts'
import type {RenderContext} from './view.ts'
import {displayWidth} from './width.ts'

export interface DetailOptions {
  readonly fullStack: boolean
  readonly hex: boolean
  /** Key and value, as far as they could be decoded. */
  readonly decoded: DecodedJson
  readonly origin: OriginComparison | null
  /** What a ledger says about it, oldest first; null or absent = none was read. */
  readonly history?: readonly Handled[] | null
  /** Other records with its key; null = the key is null; undefined or absent = not looked for. */
  readonly sameKey?: SameKey | null | undefined
}

const LABEL_WIDTH = 12
/** Widest line of a header without `--full-stack`, in columns: class names and messages stay whole, traces do not. */
const MAX_HEADER_WIDTH = 160
/** A value gets so many columns, however long its name is. */
const MIN_HEADER_VALUE_WIDTH = 40

/** Everything about one dead letter, for reading; ends with a line break. */
export function* renderDetail(
  deadLetter: DeadLetter,
  options: DetailOptions,
  context: RenderContext,
): Generator<string> {
  const {record, failure} = deadLetter
  const {paint} = context
  const line = (label: string, value: string | null | undefined, tone: Tone = 'plain'): string =>
    value === null || value === undefined
      ? ''
      : `${paint('faint', label.padEnd(LABEL_WIDTH))} ${paint(tone, sanitize(value))}\n`
  yield `${paint('heading', sanitize(deadLetter.address))}\n`
  yield line('time', timeText(record.timestamp, record.timestampType, context))
  yield line('fingerprint', deadLetter.fingerprint)
  yield line('dialect', failure.chain?.join(' over ') ?? failure.dialect)
  yield line('stage', failure.stage, 'warn')
  yield line('component', failure.component)
  yield line(
    'connector',
    failure.connector === undefined
      ? null
      : `${failure.connector}${failure.task === undefined ? '' : `, task ${failure.task}`}`,
  )
  yield line('group', failure.group)
  yield line(
    'app',
    failure.app === undefined
      ? null
      : `${failure.app}${failure.taskId === undefined ? '' : `, task ${failure.taskId}`}`,
  )
  yield line('exception', failure.exception?.class, 'bad')
  yield line('message', failure.exception?.message)
  yield line('caused by', failure.exception?.cause, 'bad')
  yield line('cause says', failure.exception === undefined ? null : causeMessageOf(failure.exception))
  yield line('description', failure.description)
  yield line('origin', originText(failure.origin, context))
  if (failure.last !== undefined) yield line('last', originText(failure.last, context))
  yield line('hops', failure.hops === undefined ? null : `${failure.hops}`)
  yield line('attempts', failure.attempts === undefined ? null : `${failure.attempts}`)
  yield line('payload', failure.payload)
  yield line('warnings', failure.warnings?.join(', '), 'warn')
  if (failure.dialect === 'none') {
    yield line('note', 'nothing in this record says why it died: no known error headers')
  }
  if (options.origin !== null) yield* originLines(options.origin, line)
  if (options.sameKey !== undefined) yield* sameKeyLines(options.sameKey, context)
  if (options.history !== undefined && options.history !== null) yield* historyLines(options.history, context)
  yield* timelineLines(deadLetter, context)
  if (failure.exception?.stack !== undefined) {
    yield `\n${paint('heading', 'Stack trace')}${options.fullStack ? '' : paint('faint', ' (cause first)')}\n`
    if (options.fullStack) yield renderFullStack(failure.exception.stack)
    else yield* renderFoldedStack(failure.exception.stack, paint)
  }
  yield* headerLines(record, options.fullStack, context)
  yield* springTypeLines(record.headers, context)
  yield* payloadLines(deadLetter, options.decoded, options.hex, context)
}

function timeText(timestamp: bigint | null, type: string, {width, nowMs}: RenderContext): string {
  if (timestamp === null) return 'none'
  const age = width === null ? '' : ` (${formatAge(timestamp, nowMs)})`
  return `${formatTimestamp(timestamp)}${age}, ${type}`
}

function originText(coordinates: RecordCoordinates | undefined, {width, nowMs}: RenderContext): string {
  const place = formatCoordinates(coordinates)
  if (place === null) return 'unknown'
  const timestamp = coordinates?.timestamp
  if (timestamp === undefined || timestamp.startsWith('-')) return place
  return `${place} at ${formatTimestamp(timestamp)}${width === null ? '' : ` (${formatAge(timestamp, nowMs)})`}`
}

function* historyLines(history: readonly Handled[], {paint}: RenderContext): Generator<string> {
  yield `\n${paint('heading', 'Ledger')}${history.length === 0 ? paint('faint', ' no entry') : ''}\n`
  for (const {state, run, at, by, attempt, target, reason, stale} of history) {
    const parts = [
      formatTimestamp(BigInt(at)),
      run,
      by === null ? null : `by ${by}`,
      attempt === 0 ? null : `attempt ${attempt}`,
      target === null ? null : `to ${targetText(target)}`,
      reason === null ? null : `reason: ${reason}`,
    ].filter(part => part !== null)
    yield `${paint(stale === true ? 'faint' : 'name', state)} ${sanitize(parts.join(', '))}\n`
    if (stale === true) yield `  ${paint('warn', 'stale: about another record that stood here; counts for nothing')}\n`
  }
}

function targetText({topic, partition, offset}: NonNullable<Handled['target']>): string {
  return offset === null ? `${topic}:${partition}` : `${topic}:${partition}:${offset}`
}

function* headerLines(record: KafkaRecord, isWhole: boolean, {paint}: RenderContext): Generator<string> {
  if (record.headers.length === 0) return
  const bytes = record.headers.reduce((sum, {name, value}) => sum + name.length + (value?.length ?? 0), 0)
  yield `\n${paint('heading', 'Headers')} ${paint('faint', `${record.headers.length}, ${formatBytes(bytes)}`)}\n`
  let cut = 0
  for (const {name, value} of record.headers) {
    const title = bytesToText(name)
    const encoded = value === null ? null : amqpText(value)
    const shown = encoded === null ? value : Buffer.from(encoded)
    const note = encoded === null ? '' : ` ${paint('faint', 'AMQP text')}`
    const whole = bytesToFullText(shown)
    const room = Math.max(MIN_HEADER_VALUE_WIDTH, MAX_HEADER_WIDTH - displayWidth(title) - ' = '.length)
    if (isWhole || shown === null || displayWidth(whole) <= room) {
      yield `${paint('name', title)} = ${whole}${note}\n`
      continue
    }
    cut++
    const size = formatBytes(shown.length)
    yield `${paint('name', title)} = ${bytesToText(shown, room - size.length - 1)} ${paint('faint', size)}${note}\n`
  }
  if (cut > 0)
    yield `${paint('faint', `${plural(cut, 'value')} cut; --full-stack shows all of ${cut === 1 ? 'it' : 'them'}`)}\n`
}
