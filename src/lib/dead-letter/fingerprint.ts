import {hash} from 'node:crypto'
import type {Failure} from '../dialects/model.ts'
import {parseThrowable} from '../dialects/root-cause.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {isFrameworkClass} from './frameworks.ts'
import {normaliseMessage} from './normalise-message.ts'
import {payloadTexts} from './payload-texts.ts'
import {parseFrame, parseStackTrace} from './stack-trace.ts'
import type {TraceSection} from './stack-trace.ts'

/** What makes two failures the same kind; null where the headers do not say. */
export interface FailureKind {
  /** In words that all families share: a converter's stage is the deserialisation it does. */
  readonly stage: string | null
  /** Root cause, wrappers removed. */
  readonly class: string | null
  /** Message of the root cause without what differs from record to record; empty when there is none. */
  readonly message: string
  /** `CLASS.METHOD` of the first frame that belongs to the application. */
  readonly frame: string | null
}

/** Part of the hashed text; a change of the rules changes it, so that old and new fingerprints never mix unseen. */
const RULES = 'kdlq-1'

const SHARED_STAGES: Readonly<Record<string, string>> = {
  KEY_CONVERTER: 'deserialize-key',
  VALUE_CONVERTER: 'deserialize-value',
}

/**
 * Short stable id of a kind of failure: `f-` and 8 hex digits over stage, root cause class, normalised message and first
 * application frame. The same for all header families and all runs; null when nothing is known.
 */
export function fingerprint(failure: Failure, record: Pick<KafkaRecord, 'key' | 'value'>): string | null {
  const kind = failureKind(failure, record)
  if (kind.stage === null && kind.class === null && kind.message === '') return null
  const text = [RULES, kind.stage ?? '', kind.class ?? '', kind.message, kind.frame ?? ''].join('\u0000')
  return `f-${hash('sha256', text, 'hex').slice(0, 8)}`
}

/** The parts of a fingerprint, for showing why two failures are or are not of one kind. */
export function failureKind(failure: Failure, record: Pick<KafkaRecord, 'key' | 'value'>): FailureKind {
  const {exception} = failure
  const trace = exception?.stack === undefined ? [] : parseStackTrace(exception.stack)
  const root = rootCause(failure, trace)
  return {
    stage: failure.stage === undefined ? null : (SHARED_STAGES[failure.stage] ?? failure.stage),
    class: root.class,
    message: root.message === '' ? '' : normaliseMessage(root.message, payloadTexts(record.value, record.key)),
    frame: applicationFrame(trace),
  }
}

function rootCause({exception}: Failure, trace: readonly TraceSection[]): {class: string | null; message: string} {
  const last = trace.findLast(({relation, class: name}) => relation === 'cause' && name !== null)
  if (exception?.cause !== undefined) {
    const message = exception.causeMessage ?? (last?.class === exception.cause ? last.message : undefined)
    return unwrap(exception.cause, firstLine(message ?? exception.message ?? ''))
  }
  if (last !== undefined) return unwrap(last.class, firstLine(last.message ?? ''))
  return unwrap(exception?.class ?? trace[0]?.class ?? null, exception?.message ?? '')
}

/** A wrapper made from its cause alone has the cause's text as its message: `CLASS: MESSAGE`. */
function unwrap(className: string | null, message: string): {class: string | null; message: string} {
  let current = {class: className, message}
  for (let depth = 0; depth < 10; depth++) {
    const inner = parseThrowable(current.message)
    if (inner === undefined || !/^[\w$]+(?:\.[\w$]+)+(?:Exception|Error|Throwable)$/.test(inner.class)) break
    current = {class: inner.class, message: inner.message ?? ''}
  }
  return current
}

function firstLine(message: string): string {
  const end = message.indexOf('\n')
  return end === -1 ? message : message.slice(0, end)
}

/** From the root cause outwards, since Java leaves out of a cause the frames it shares with its wrapper. */
function applicationFrame(trace: readonly TraceSection[]): string | null {
  for (const {relation, lines} of trace.toReversed()) {
    if (relation === 'suppressed') continue
    for (const line of lines) {
      const frame = parseFrame(line)
      if (frame !== null && !isFrameworkClass(frame.class)) return frame.method
    }
  }
  return null
}
