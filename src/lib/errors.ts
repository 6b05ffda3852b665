/**
 * Everything kdlq can fail with, divided by who has to act. One place (src/main.ts) turns an error into text, JSON and
 * an exit code; nothing below lib/cli prints or ends the process.
 */

/** Exit codes of the program; the contract of `kdlq help exit-codes` and docs/output.md. */
export const EXIT = {
  OK: 0,
  FAILED: 1,
  USAGE: 2,
  BAD_ANSWER: 3,
  AUTH: 4,
  UNREACHABLE: 5,
  REFUSED: 6,
  BUG: 70,
  SIGINT: 130,
  SIGTERM: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Facts about the place of a failure. Values are what JSON can hold; offsets are decimal strings. */
export type ErrorContext = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

export interface ErrorDetails {
  readonly code?: string
  readonly retriable?: boolean
  readonly hints?: readonly string[]
  readonly context?: ErrorContext
  readonly cause?: unknown
}

/**
 * Base of all errors that kdlq raises on purpose.
 *
 * The message is one line, starts in lower case, has no full stop and no secret; facts are fields of `context`.
 * `retriable` is opt-in: an error says so itself, nothing guesses from its text.
 */
export abstract class KdlqError extends Error {
  abstract readonly exitCode: ExitCode
  readonly code: string
  readonly retriable: boolean
  readonly hints: readonly string[]
  readonly context: ErrorContext

  constructor(message: string, defaultCode: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : {cause: details.cause})
    this.name = new.target.name
    this.code = details.code ?? defaultCode
    this.retriable = details.retriable ?? false
    this.hints = details.hints ?? []
    this.context = details.context ?? {}
  }
}

/** The caller used a command, flag, argument or expression wrongly (exit 2). */
export class UsageError extends KdlqError {
  override readonly exitCode = EXIT.USAGE
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_USAGE', details)
  }
}

/** A configuration file, profile or environment variable is wrong (exit 2). */
export class ConfigError extends KdlqError {
  override readonly exitCode = EXIT.USAGE
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_CONFIG', details)
  }
}

/** The cluster does not know us or does not allow it (exit 4). */
export class AuthError extends KdlqError {
  override readonly exitCode = EXIT.AUTH
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_AUTH', details)
  }
}

/** The cluster could not be reached, or did not answer in time (exit 5). */
export class UnreachableError extends KdlqError {
  override readonly exitCode = EXIT.UNREACHABLE
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_UNREACHABLE', details)
  }
}

/** Kafka answered with an error, or a file could not be read or written (exit 1). */
export class KafkaError extends KdlqError {
  override readonly exitCode = EXIT.FAILED
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_KAFKA', details)
  }
}

/** A file, archive or stream could not be read or written (exit 1). */
export class IoError extends KdlqError {
  override readonly exitCode = EXIT.FAILED
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_IO', details)
  }
}

/** One record cannot be read or written; its neighbours can (exit 3 when a run ends with some of these). */
export class RecordError extends KdlqError {
  override readonly exitCode = EXIT.BAD_ANSWER
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_RECORD', details)
  }
}

/** The work ended, but the answer is bad: records failed, a scan was incomplete, a threshold was passed (exit 3). */
export class PartialFailureError extends KdlqError {
  override readonly exitCode = EXIT.BAD_ANSWER
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_PARTIAL', details)
  }
}

/** A safety check or a person said no; nothing was written (exit 6). */
export class RefusedError extends KdlqError {
  override readonly exitCode = EXIT.REFUSED
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_REFUSED', details)
  }
}

/** A signal ended the run after everything in flight was settled (exit 130 or 143). */
export class InterruptedError extends KdlqError {
  override readonly exitCode: typeof EXIT.SIGINT | typeof EXIT.SIGTERM
  constructor(signal: 'SIGINT' | 'SIGTERM', details?: ErrorDetails) {
    super(`stopped by ${signal}`, 'E_INTERRUPTED', details)
    this.exitCode = signal === 'SIGINT' ? EXIT.SIGINT : EXIT.SIGTERM
  }
}

/** Something kdlq itself got wrong (exit 70). */
export class BugError extends KdlqError {
  override readonly exitCode = EXIT.BUG
  constructor(message: string, details?: ErrorDetails) {
    super(message, 'E_BUG', details)
  }
}

/** True for errors that kdlq raised on purpose; classify by this, never by message text. */
export function isKdlqError(error: unknown): error is KdlqError {
  return error instanceof KdlqError
}
