import {parseThrowable} from '../dialects/root-cause.ts'
import {isFrameworkClass} from './frameworks.ts'

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
  readonly relation: 'thrown' | 'cause' | 'suppressed'
  /** Null when the heading is not of the form `CLASS[: MESSAGE]`. */
  readonly class: string | null
  /** May have several lines; null when the exception has no message. Hostile text. */
  readonly message: string | null
  readonly lines: readonly FoldedLine[]
}

/** A Java stack trace, ready for reading: the root cause first, then outwards; suppressed exceptions last. */
export interface FoldedStackTrace {
  readonly sections: readonly FoldedSection[]
  readonly frames: number
  readonly hiddenFrames: number
}

/** One frame; `method` is `CLASS.METHOD` without loader, module and line, and without numbers that compilers give. */
export interface StackFrame {
  readonly class: string
  readonly method: string
}

/** One exception of a trace as it stands there, in the order of the trace. */
export interface TraceSection {
  readonly relation: FoldedSection['relation']
  readonly class: string | null
  readonly message: string | null
  /** As they stand there, indentation included. */
  readonly lines: readonly string[]
}

interface OpenSection {
  readonly relation: FoldedSection['relation']
  readonly heading: string[]
  readonly lines: string[]
}

/**
 * Takes a Java stack trace apart; linear in its length, never throws. Only `Caused by:` at column 0 begins a cause:
 * whatever is indented below a suppressed exception belongs to that one.
 */
export function parseStackTrace(stack: string): TraceSection[] {
  const lines = stack.replaceAll('\r\n', '\n').split('\n')
  if (lines.at(-1) === '') lines.pop()
  const sections: OpenSection[] = []
  let current: OpenSection | undefined
  for (const line of lines) {
    const heading = headingOf(line, current === undefined)
    if (heading !== null) {
      current = {relation: heading.relation, heading: [heading.text], lines: []}
      sections.push(current)
      continue
    }
    if (current === undefined) continue
    // Until the first frame, lines belong to the message.
    if (current.lines.length === 0 && framePath(line) === null && parseCommon(line) === null) current.heading.push(line)
    else current.lines.push(line)
  }
  return sections.map(({relation, heading, lines}) => {
    const thrown = parseThrowable(heading[0] ?? '')
    const rest = heading.slice(1)
    const message = thrown === undefined ? (heading[0] ?? '') : thrown.message
    return {
      relation,
      class: thrown?.class ?? null,
      message: rest.length === 0 ? message : [message ?? '', ...rest].join('\n'),
      lines,
    }
  })
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
      const text = line.trim()
      const frame = parseFrame(line)
      const common = frame === null ? parseCommon(line) : null
      if (frame !== null) frames++
      if (frame !== null && isFrameworkClass(frame.class)) {
        hidden++
        hiddenFrames++
        continue
      }
      flush()
      if (frame !== null) lines.push({kind: 'frame', text, method: frame.method})
      else if (common !== null) lines.push({kind: 'common', count: common})
      else lines.push({kind: 'text', text})
    }
    flush()
    return {relation: section.relation, class: section.class, message: section.message, lines}
  })
  return {sections: folded, frames, hiddenFrames}
}

function headingOf(line: string, isFirst: boolean): {relation: FoldedSection['relation']; text: string} | null {
  if (line.startsWith('Caused by: ')) return {relation: 'cause', text: line.slice('Caused by: '.length)}
  if (line.startsWith('\t')) {
    const text = line.trimStart()
    if (text.startsWith('Suppressed: ')) return {relation: 'suppressed', text: text.slice('Suppressed: '.length)}
    if (text.startsWith('Caused by: ')) return {relation: 'suppressed', text: text.slice('Caused by: '.length)}
  }
  return isFirst ? {relation: 'thrown', text: line} : null
}

const FRAME = /^\s+at ([^\s()]+)\(/

/** One line as a frame; null when it is none. */
export function parseFrame(line: string): StackFrame | null {
  const path = framePath(line)
  if (path === null) return null
  const dot = path.lastIndexOf('.')
  const className = stableName(path.slice(0, dot))
  return {class: className, method: `${className}.${stableName(path.slice(dot + 1))}`}
}

/** `CLASS.METHOD` of a frame line, as it stands there. */
function framePath(line: string): string | null {
  // A frame is short; a longer line is somebody's message.
  const path = line.length > 2000 ? undefined : FRAME.exec(line)?.[1]
  if (path === undefined) return null
  // A slash ends loader and module, except in front of the address of a hidden class.
  const plain = path.includes('/') ? path.replace(/\/0x[0-9a-f]+/, '').replace(/^.*\//, '') : path
  return plain.lastIndexOf('.') > 0 ? plain : null
}

/** Numbers that the compiler or the virtual machine gives differ from build to build: lambdas, proxies, accessors. */
function stableName(name: string): string {
  if (!name.includes('$') && !name.includes('Generated')) return name
  return name
    .replace(/\$\$Lambda.*$/, '$$$$Lambda')
    .replace(/^(lambda\$.*)\$\d+$/, '$1')
    .replace(/(GeneratedMethodAccessor|GeneratedConstructorAccessor|\$Proxy)\d+/, '$1')
    .replace(/(\$\$(?:EnhancerBySpringCGLIB|SpringCGLIB|FastClassBySpringCGLIB)\$\$).*$/, '$1')
}

function parseCommon(line: string): number | null {
  const found = line.length > 100 ? null : /^\s+\.\.\. (\d{1,9}) (?:more|common frames omitted)$/.exec(line)
  return found?.[1] === undefined ? null : Number(found[1])
}
