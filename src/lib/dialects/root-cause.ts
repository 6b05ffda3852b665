import type {FailureException} from './model.ts'
import {WRAPPER_CLASSES} from './wrapper-classes.ts'

const MARK = 'Caused by: '

/** What a Java stack trace names as the root cause. */
export interface RootCause {
  readonly class: string
  /** Rest of the line behind `class: `; null when the exception has no message. */
  readonly message: string | null
}

/**
 * Root cause of a Java stack trace: what the last unindented `Caused by:` names (CRLF counts as LF). Indented ones belong
 * to suppressed exceptions. Linear in the length.
 *
 * Text inside a trace is not trustworthy: a message with a line break can forge such a line.
 */
export function rootCauseOf(stack: string): RootCause | undefined {
  for (let at = stack.lastIndexOf(MARK); at !== -1; at = at === 0 ? -1 : stack.lastIndexOf(MARK, at - 1)) {
    if (at === 0 || stack[at - 1] === '\n') {
      const end = stack.indexOf('\n', at)
      const cause = parseThrowable(stack.slice(at + MARK.length, end === -1 ? undefined : end).replace(/\r$/, ''))
      if (cause !== undefined) return cause
    }
  }
  return undefined
}

/**
 * What the root cause itself says: by header, else from the stack trace when that names the same class; undefined
 * without a cause, and when the cause says nothing.
 */
export function causeMessageOf({cause, causeMessage, stack}: FailureException): string | undefined {
  if (cause === undefined) return undefined
  const root = causeMessage === undefined && stack !== undefined ? rootCauseOf(stack) : undefined
  const message = causeMessage ?? (root?.class === cause ? root.message : null)
  return message === null || message === '' ? undefined : message
}

/**
 * Root cause if one is known, else the exception, with what it says; a cause without words lets the exception speak. A cause
 * that is itself only a wrapper gives way to the last one of the stack trace.
 */
export function headlineOf(exception: FailureException | undefined): {
  readonly class: string | null
  readonly message: string | null
} {
  if (exception === undefined) return {class: null, message: null}
  const {cause, stack} = exception
  const isWrapper = cause !== undefined && WRAPPER_CLASSES.has(cause)
  const root = isWrapper && stack !== undefined ? rootCauseOf(stack) : undefined
  if (root !== undefined && root.class !== cause) {
    return {class: root.class, message: root.message ?? exception.message ?? null}
  }
  return {
    class: cause ?? exception.class ?? null,
    message: causeMessageOf(exception) ?? exception.message ?? null,
  }
}

/** `CLASS[: MESSAGE]` as `Throwable.toString` prints it; undefined when the text is not of that form. */
export function parseThrowable(text: string): RootCause | undefined {
  const colon = text.indexOf(':')
  const name = colon === -1 ? text : text.slice(0, colon)
  if (!/^[\p{L}_$][^\s:()[\]]*$/u.test(name)) return undefined
  const message = colon === -1 ? null : text.slice(colon + 1)
  return {class: name, message: message?.startsWith(' ') === true ? message.slice(1) : message}
}
