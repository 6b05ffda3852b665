import {BugError, EXIT, InterruptedError, KdlqError} from '../errors.ts'
import type {ErrorDetails} from '../errors.ts'

/**
 * How the engine treats an error: `retriable` is tried again, `exception` may be tolerated, `error` (Java's
 * java.lang.Error) goes through the engine untouched: never retried, tolerated, counted or reported.
 */
export type ErrorFamily = 'retriable' | 'exception' | 'error'

/** What an error is to Java, where it is not what the class says. */
export interface ThrowableDetails extends ErrorDetails {
  /** What Java calls suppressed exceptions: others that happened on the way out. */
  readonly suppressed?: readonly unknown[]
}

/**
 * An error that states itself what a Java exception would: class name, a message that may be null, frames, suppressed
 * errors. Base of the classes below; applications extend `ConnectException`, `DataException` or `RetriableException`.
 */
export abstract class Throwable extends KdlqError {
  override readonly exitCode = EXIT.FAILED
  /** Name to publish in headers and logs, in Java's binary form (`Outer$Inner`). */
  abstract readonly className: string
  readonly family: ErrorFamily = 'exception'
  /** `message`, or null for an exception without one; null and empty differ in a dead letter. */
  readonly javaMessage: string | null
  readonly suppressed: readonly unknown[]

  constructor(message: string | null, defaultCode: string, details: ThrowableDetails = {}) {
    super(message ?? '', defaultCode, details)
    this.javaMessage = message
    this.suppressed = details.suppressed ?? []
  }
}

/** Connect's base exception: what converters, transforms, tasks and the engine throw. */
export class ConnectException extends Throwable {
  override readonly className: string = 'org.apache.kafka.connect.errors.ConnectException'
  constructor(message: string | null, details?: ThrowableDetails) {
    super(message, 'E_CONNECT', details)
  }
}

/** The one error that the engine tries again (and no other: not Kafka's own retriable errors, not one whose cause is this). */
export class RetriableException extends ConnectException {
  override readonly className: string = 'org.apache.kafka.connect.errors.RetriableException'
  override readonly family: ErrorFamily = 'retriable'
  constructor(message: string | null, details?: ThrowableDetails) {
    super(message, {retriable: true, ...details})
  }
}

/** Data that a converter or a transform cannot use. */
export class DataException extends ConnectException {
  override readonly className: string = 'org.apache.kafka.connect.errors.DataException'
}

/** An exception of which only the facts are known: read from headers, a trace or a test, or one that Java would raise. */
export interface ExceptionFacts {
  readonly className: string
  readonly message: string | null
  /** Lines of the stack trace without `at`; absent = none. */
  readonly frames?: readonly string[]
  /** What the first line of the trace shows instead of the message. */
  readonly localizedMessage?: string | null
  readonly cause?: unknown
  readonly suppressed?: readonly unknown[]
  /** Absent = by `familyOfClass`. */
  readonly family?: ErrorFamily
}

/** A Java exception as data. */
export class JavaException extends Throwable {
  override readonly className: string
  override readonly family: ErrorFamily
  readonly frames: readonly string[]
  readonly localizedMessage: string | null

  constructor(facts: ExceptionFacts) {
    const {cause, suppressed} = facts
    const details = {...(cause === undefined ? {} : {cause}), ...(suppressed === undefined ? {} : {suppressed})}
    super(facts.message, 'E_EXCEPTION', details)
    this.className = facts.className
    this.family = facts.family ?? familyOfClass(facts.className)
    this.frames = facts.frames ?? []
    this.localizedMessage = facts.localizedMessage === undefined ? facts.message : facts.localizedMessage
  }
}

/** What `Future.get` throws for a future that failed; its message is the cause's text, as in Java. */
export class ExecutionException extends Throwable {
  override readonly className: string = 'java.util.concurrent.ExecutionException'
  constructor(cause: unknown) {
    super(throwableText(cause), 'E_EXECUTION', {cause})
  }
}

/** What a caller may expect of an operation that a future does not offer. */
export class UnsupportedOperationException extends Throwable {
  override readonly className: string = 'java.lang.UnsupportedOperationException'
  constructor(message: string | null) {
    super(message, 'E_UNSUPPORTED')
  }
}

const CONNECT_RETRIABLE = 'org.apache.kafka.connect.errors.RetriableException'

/** java.lang.Error and its subclasses in Java's own packages end with this; `Exception`s never do. */
const JAVA_ERROR = /^java\.(?:lang|util|io)(?:\.[a-z]+)*\.[A-Za-z]*Error$/

/** Family of an exception that is known by its class name alone: subclasses of other people cannot be told from it. */
export function familyOfClass(className: string): ErrorFamily {
  if (className === CONNECT_RETRIABLE) return 'retriable'
  return JAVA_ERROR.test(className) ? 'error' : 'exception'
}

/** True for Connect's RetriableException and its subclasses. Says nothing about causes, codes or names. */
export function isConnectRetriable(error: unknown): boolean {
  return error instanceof Throwable && error.family === 'retriable'
}

/**
 * True for what plays the part of java.lang.Error: the family says so, a bug of ours, a failed assertion, an abort.
 *
 * An abort is among them because a run that is being stopped has not failed on a record. A RangeError of the runtime is
 * not: bytes of a record can provoke it (a bad length, a nesting too deep), and JavaScript recovers from it.
 */
export function isJavaError(error: unknown): boolean {
  if (error instanceof Throwable) return error.family === 'error'
  if (error instanceof BugError || error instanceof InterruptedError) return true
  if (!(error instanceof Error)) return false
  return error.name === 'AbortError' || ('code' in error && error.code === 'ERR_ASSERTION')
}

/** What was thrown as an Error: JavaScript can throw anything. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new ConnectException(String(thrown))
}

/** Name to publish for an error: what it states itself, else its JavaScript name. */
export function classNameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  if ('className' in error && typeof error.className === 'string') return error.className
  return error.name === 'Error' ? error.constructor.name : error.name
}

/** Message of an error; null when it has none. */
export function messageOf(error: unknown): string | null {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof Throwable) return error.javaMessage
  return Object.hasOwn(error, 'message') ? error.message : null
}

/** First line of a stack trace: class name and, if there is one, the (localised) message. */
export function throwableText(error: unknown): string {
  const message = error instanceof JavaException ? error.localizedMessage : messageOf(error)
  return message === null ? classNameOf(error) : `${classNameOf(error)}: ${message}`
}

/** What else an error carries: suppressed ones, or the parts of an AggregateError. */
export function suppressedOf(error: unknown): readonly unknown[] {
  if (error instanceof Throwable) return error.suppressed
  return error instanceof AggregateError ? (error.errors as unknown[]) : []
}
