const MARK = 'Caused by: '

/** What a Java stack trace names as the root cause. */
export interface RootCause {
  readonly class: string
  /** Rest of the line behind `class: `; null when the exception has no message. */
  readonly message: string | null
}

/**
 * Root cause of a Java stack trace: the last line of the form `Caused by: CLASS[: MESSAGE]` at column 0, after CRLF
 * became LF. Indented lines belong to suppressed exceptions. Linear in the length.
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

/** `CLASS[: MESSAGE]` as `Throwable.toString` prints it; undefined when the text is not of that form. */
export function parseThrowable(text: string): RootCause | undefined {
  const colon = text.indexOf(':')
  const name = colon === -1 ? text : text.slice(0, colon)
  if (!/^[\p{L}_$][^\s:()[\]]*$/u.test(name)) return undefined
  const message = colon === -1 ? null : text.slice(colon + 1)
  return {class: name, message: message?.startsWith(' ') === true ? message.slice(1) : message}
}
