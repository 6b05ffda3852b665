import {readDotnetTrace} from './trace-dotnet.ts'
import {readGoTrace} from './trace-go.ts'
import {readJavaTrace} from './trace-java.ts'
import {readNodeTrace} from './trace-node.ts'
import {readPhpTrace} from './trace-php.ts'
import {readPythonTrace} from './trace-python.ts'
import {readRubyTrace} from './trace-ruby.ts'
import {splitLines, type TraceSection} from './trace.ts'

/** One line of a folded section. */
export type FoldedLine =
  | {readonly kind: 'frame'; readonly text: string; readonly method: string}
  /** Consecutive frames of platform and framework classes that are not shown. */
  | {readonly kind: 'hidden'; readonly count: number}
  /** Frames shared with the enclosing exception, which Java itself leaves out. */
  | {readonly kind: 'common'; readonly count: number}
  /** Anything else that stands in the trace. */
  | {readonly kind: 'text'; readonly text: string}

/** One exception of a trace. */
export interface FoldedSection {
  readonly relation: TraceSection['relation']
  /** Null when the heading is not of the form `CLASS[: MESSAGE]`. */
  readonly class: string | null
  /** May have several lines; null when the exception has no message. Hostile text. */
  readonly message: string | null
  readonly lines: readonly FoldedLine[]
}

/** A stack trace, ready for reading: the root cause first, then outwards; suppressed exceptions last. */
export interface FoldedStackTrace {
  readonly sections: readonly FoldedSection[]
  readonly frames: number
  readonly hiddenFrames: number
}

/** A line that only one language writes; tried in this order. Anchored and short: linear on any text. */
const LANGUAGES: readonly (readonly [RegExp, (lines: readonly string[]) => TraceSection[]])[] = [
  [/^Traceback \(most recent call last\):$|^ {2}File "[^"]{1,1000}", line \d/, readPythonTrace],
  [/^goroutine \d{1,19} \[|^\t\S{1,1000}\.go:\d/, readGoTrace],
  [/^#\d{1,5} (?:\/|[A-Za-z]:\\|\[internal|\{main)/, readPhpTrace],
  [/^(?:\s*from )?\s*[^\s:][^:]{0,1000}:\d{1,9}:in ['`]/, readRubyTrace],
  [/^ +at (?:.{1,1500}:\d{1,9}:\d{1,9}\)?|.{1,1500}\(<anonymous>\))$/, readNodeTrace],
  [/^ {3}at \S|^ ---> \S|^ +--- End of /, readDotnetTrace],
]

/** A longer trace is looked at from both ends when it is only compared: the cause stands last, or first. */
const MAX_COMPARED_CHARS = 256 * 1024
/** Lines at the beginning that tell the language. */
const MAX_TELLING_LINES = 500

/**
 * Takes a stack trace of Java, .NET, Python, Go, Node, Ruby or PHP apart: the outermost exception first, each with its
 * innermost frame first, whatever the order of the language. Linear in its length, never throws; anything else is read as
 * Java.
 */
export function parseStackTrace(stack: string): TraceSection[] {
  const lines = splitLines(stack)
  const telling = lines.slice(0, MAX_TELLING_LINES)
  // A Java exception may quote another language's trace in its message, never the other way round.
  if (telling.some(line => line.startsWith('\tat '))) return readJavaTrace(lines)
  for (const line of telling) {
    if (line.length > 2000) continue
    const language = LANGUAGES.find(([sign]) => sign.test(line))
    if (language !== undefined) return language[1](lines)
  }
  return readJavaTrace(lines)
}

/** As `parseStackTrace`, leaving out the middle of a trace of more than 256 Ki characters. */
export function parseForComparison(stack: string): TraceSection[] {
  if (stack.length <= MAX_COMPARED_CHARS) return parseStackTrace(stack)
  const half = MAX_COMPARED_CHARS / 2
  return parseStackTrace(`${stack.slice(0, half)}\n${stack.slice(-half)}`)
}

/**
 * A stack trace for reading: the cause first, frames of frameworks counted instead of shown. Data only; a renderer
 * escapes and prints it.
 */
export function foldStackTrace(stack: string): FoldedStackTrace {
  const sections = parseStackTrace(stack)
  const chain = sections.filter(({relation}) => relation !== 'suppressed').toReversed()
  const suppressed = sections.filter(({relation}) => relation === 'suppressed')
  let frames = 0
  let hiddenFrames = 0
  const folded = [...chain, ...suppressed].map((section): FoldedSection => {
    const lines: FoldedLine[] = []
    let hidden = 0
    const flush = (): void => {
      if (hidden > 0) lines.push({kind: 'hidden', count: hidden})
      hidden = 0
    }
    for (const line of section.lines) {
      if (line.kind === 'frame') frames++
      if (line.kind === 'frame' && line.frame.isFramework) {
        hidden++
        hiddenFrames++
        continue
      }
      flush()
      if (line.kind === 'frame') lines.push({kind: 'frame', text: line.text, method: line.frame.method})
      else lines.push(line)
    }
    flush()
    return {relation: section.relation, class: section.class, message: section.message, lines}
  })
  return {sections: folded, frames, hiddenFrames}
}
