import {hash} from 'node:crypto'
import type {Failure, FailureException} from '../dialects/model.ts'
import {parseThrowable} from '../dialects/root-cause.ts'
import {WRAPPER_CLASSES} from '../dialects/wrapper-classes.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {normaliseMessage} from './normalise-message.ts'
import {payloadTexts} from './payload-texts.ts'
import {parseForComparison} from './stack-trace.ts'
import type {TraceSection} from './trace.ts'
import {isJavaTrace, javaFacts, type TraceFacts} from './trace-java.ts'

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

/** Version of the rules, part of every hashed text: old and new fingerprints never mix unseen. */
export const FINGERPRINT_RULES = 'kdlq-2'

const SHARED_STAGES: Readonly<Record<string, string>> = {
  KEY_CONVERTER: 'deserialize-key',
  VALUE_CONVERTER: 'deserialize-value',
}

/** Connect's word for the processing of a record. */
const PROCESSING = 'TASK_PUT'

type Payload = Pick<KafkaRecord, 'key' | 'value'>

/**
 * Short stable id of a failure: `f-` and 8 hex digits over the kind of failure and the topic it belongs to (the origin, where
 * a replay would send it). The same for all header families and all runs; null when nothing is known about the failure.
 */
export function fingerprint(failure: Failure, record: Payload): string | null {
  return fingerprintOf(failureKind(failure, record), failure)
}

/** As `fingerprint`, of a kind that is known already. */
export function fingerprintOf(kind: FailureKind, {origin}: Pick<Failure, 'origin'>): string | null {
  return isEmpty(kind) ? null : `f-${digest([origin?.topic ?? '', ...parts(kind)])}`
}

/** Id of the kind alone: `k-` and 8 hex digits, the same wherever it happens; null when nothing is known. */
export function kindId(kind: FailureKind): string | null {
  return isEmpty(kind) ? null : `k-${digest(parts(kind))}`
}

/** The parts of a fingerprint, for showing why two failures are or are not of one kind. */
export function failureKind(failure: Failure, record: Payload): FailureKind {
  const {exception} = failure
  const trace = traceFacts(exception)
  const root = rootCause(exception, trace)
  return {
    stage: failure.stage === undefined ? null : (SHARED_STAGES[failure.stage] ?? failure.stage),
    class: root.class,
    message: root.message === '' ? '' : normaliseMessage(root.message, wordsOf(record, root.message)),
    frame: trace.frame,
  }
}

/** Texts of the record are looked for in brackets and behind colons only. */
function wordsOf({key, value}: Payload, message: string): ReadonlySet<string> {
  return /\(|: /.test(message) ? payloadTexts(value, key) : new Set()
}

interface Facts extends TraceFacts {
  readonly outermost: Pick<TraceSection, 'class' | 'message'> | null
}

function traceFacts(exception: FailureException | undefined): Facts {
  const stack = exception?.stack
  if (stack === undefined) return {cause: null, frame: null, outermost: null}
  if (isJavaTrace(stack)) {
    const facts = javaFacts(stack)
    // The first line matters only where the headers leave something out.
    const isNamed = exception?.class !== undefined && exception.message !== undefined
    if (facts.cause !== null || isNamed) return {...facts, outermost: null}
  }
  const sections = parseForComparison(stack)
  const last = sections.findLast(({relation, class: name}) => relation === 'cause' && name !== null)
  return {
    cause:
      last === undefined || last.class === null ? null : {class: last.class, message: firstLine(last.message ?? '')},
    frame: applicationFrame(sections),
    outermost: sections[0] ?? null,
  }
}

function isEmpty(kind: FailureKind): boolean {
  return kind.stage === null && kind.class === null && kind.message === ''
}

function parts(kind: FailureKind): readonly string[] {
  // Processing is what families without a word for the stage do.
  const stage = kind.stage === null || kind.stage === PROCESSING ? '' : kind.stage
  return [stage, kind.class ?? '', kind.message, kind.frame ?? '']
}

function digest(texts: readonly string[]): string {
  return hash('sha256', [FINGERPRINT_RULES, ...texts].join('\u0000'), 'hex').slice(0, 8)
}

interface Root {
  readonly class: string | null
  readonly message: string
}

function rootCause(exception: FailureException | undefined, {cause: last, outermost}: Facts): Root {
  const named = exception?.cause
  if (named !== undefined && !(last !== null && WRAPPER_CLASSES.has(named))) {
    const own = exception?.causeMessage ?? (last?.class === named ? last.message : undefined)
    return unwrap(named, firstLine(own ?? behindWrapper(exception)))
  }
  if (last !== null) return unwrap(last.class, last.message)
  return unwrap(exception?.class ?? outermost?.class ?? null, exception?.message ?? outermost?.message ?? '')
}

/** Spring's recoverers write `TEXT OF THE WRAPPER; TEXT OF THE CAUSE`. */
function behindWrapper(exception: FailureException | undefined): string {
  const message = exception?.message ?? ''
  if (exception?.class === undefined || !WRAPPER_CLASSES.has(exception.class)) return message
  const end = message.indexOf('; ')
  return end === -1 ? message : message.slice(end + 2)
}

const NESTED = 'nested exception is '

/** A wrapper made from its cause alone says `CLASS: MESSAGE`, one of older Spring `...; nested exception is CLASS: MESSAGE`. */
function unwrap(className: string | null, message: string): Root {
  let current: Root = {class: withoutAssembly(className), message}
  for (let depth = 0; depth < 10; depth++) {
    const nested = current.message.lastIndexOf(NESTED)
    const inner = parseThrowable(nested === -1 ? current.message : current.message.slice(nested + NESTED.length))
    if (inner === undefined || !/^[\w$]+(?:\.[\w$]+)+(?:Exception|Error|Throwable)$/.test(inner.class)) break
    current = {class: inner.class, message: inner.message ?? ''}
  }
  return current
}

/** .NET may name the assembly behind a class, with its version. */
function withoutAssembly(className: string | null): string | null {
  const comma = className?.indexOf(', ') ?? -1
  return className === null || comma < 1 ? className : className.slice(0, comma)
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
      if (line.kind === 'frame' && !line.frame.isFramework) return line.frame.method
    }
  }
  return null
}
