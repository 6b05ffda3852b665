import {parseThrowable} from '../dialects/root-cause.ts'

/** One frame; `method` is `CLASS.METHOD` without loader, module and line, and without what compilers number. */
export interface StackFrame {
  /** Class, module or package. */
  readonly class: string
  readonly method: string
  /** The code is the platform's or a framework's. */
  readonly isFramework: boolean
}

/** A frame, or a line that is none. */
export type TraceLine =
  | {readonly kind: 'frame'; readonly text: string; readonly frame: StackFrame}
  /** Frames shared with the enclosing exception. */
  | {readonly kind: 'common'; readonly count: number}
  | {readonly kind: 'text'; readonly text: string}

/** One exception of a trace. */
export interface TraceSection {
  readonly relation: 'thrown' | 'cause' | 'suppressed'
  /** Null when the heading is not of the form `CLASS[: MESSAGE]`. */
  readonly class: string | null
  readonly message: string | null
  /** Innermost frame first; indentation removed. */
  readonly lines: readonly TraceLine[]
}

/** A section while its lines are read. */
export interface OpenSection {
  readonly relation: TraceSection['relation']
  /** Lines of the heading, the first of them with class and message. */
  readonly heading: string[]
  readonly lines: TraceLine[]
  /** Where a colon does not end the class. */
  readonly class?: string
}

/** No frame is longer; a longer line is somebody's message. */
const MAX_FRAME_CHARS = 2000

/** Lines without their ends; an empty last one is none. */
export function splitLines(stack: string): string[] {
  const lines = stack.replaceAll('\r\n', '\n').split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** True for a line that can be a frame. */
export function isShort(line: string): boolean {
  return line.length <= MAX_FRAME_CHARS
}

/** A line that names a place in the code. */
export function frameLine(line: string, frame: StackFrame): TraceLine {
  return {kind: 'frame', text: line.trim(), frame}
}

/** A line that is kept as it is. */
export function textLine(line: string): TraceLine {
  return {kind: 'text', text: line.trim()}
}

/** `CLASS[: MESSAGE]` in the first line of the heading, the rest of it belongs to the message. */
export function closeSection({relation, heading, lines, class: name}: OpenSection): TraceSection {
  const first = heading[0] ?? ''
  const thrown = name === undefined ? parseThrowable(first) : {class: name, message: first}
  const message = thrown === undefined ? (first === '' ? null : first) : thrown.message
  const rest = heading.slice(1)
  return {
    relation,
    class: thrown?.class ?? null,
    message: rest.length === 0 ? message : [message ?? '', ...rest].join('\n'),
    lines,
  }
}

/** Last part of a path without its extension: what a file is called wherever it is installed. */
export function fileStem(path: string): string {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
  const dot = name.indexOf('.')
  return dot > 0 ? name.slice(0, dot) : name
}
