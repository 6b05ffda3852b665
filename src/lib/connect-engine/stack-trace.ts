import {JavaException, suppressedOf, throwableText} from './errors.ts'

/**
 * The stack trace of an error as a JVM prints it: causes and suppressed errors included, frames shared with the enclosing
 * trace folded into `... N more`, a cycle cut, every line ended by a line feed.
 * @see java.lang.Throwable.printStackTrace
 */
export function stackTraceOf(error: unknown): string {
  const lines: string[] = []
  const seen = new Set<unknown>()
  print(error, {lines, seen, enclosing: [], prefix: '', caption: ''})
  return `${lines.join('\n')}\n`
}

interface Printing {
  readonly lines: string[]
  readonly seen: Set<unknown>
  readonly enclosing: readonly string[]
  readonly prefix: string
  readonly caption: string
}

function print(error: unknown, {lines, seen, enclosing, prefix, caption}: Printing): void {
  const text = throwableText(error)
  if (seen.has(error)) {
    lines.push(`${prefix}${caption}[CIRCULAR REFERENCE: ${text}]`)
    return
  }
  seen.add(error)
  const frames = framesOf(error)
  const shared = sharedFrames(frames, enclosing)
  lines.push(`${prefix}${caption}${text}`)
  for (const frame of frames.slice(0, frames.length - shared)) lines.push(`${prefix}\tat ${frame}`)
  if (shared > 0) lines.push(`${prefix}\t... ${shared} more`)
  for (const suppressed of suppressedOf(error)) {
    print(suppressed, {lines, seen, enclosing: frames, prefix: `${prefix}\t`, caption: 'Suppressed: '})
  }
  if (error instanceof Error && error.cause !== undefined && error.cause !== null) {
    print(error.cause, {lines, seen, enclosing: frames, prefix, caption: 'Caused by: '})
  }
}

function sharedFrames(frames: readonly string[], enclosing: readonly string[]): number {
  let shared = 0
  while (
    shared < frames.length &&
    shared < enclosing.length &&
    frames[frames.length - 1 - shared] === enclosing[enclosing.length - 1 - shared]
  )
    shared++
  return shared
}

const V8_FRAME = /^\s+at (.+)$/

/** Frames of an error: stated by a Java exception, else the ones of V8's own text. */
function framesOf(error: unknown): readonly string[] {
  if (error instanceof JavaException) return error.frames
  if (!(error instanceof Error) || typeof error.stack !== 'string') return []
  // The message comes first and may hold lines that look like frames.
  const head = error.stack.indexOf(error.message)
  const rest = head === -1 ? error.stack : error.stack.slice(head + error.message.length)
  return rest.split('\n').flatMap(line => V8_FRAME.exec(line)?.[1] ?? [])
}
