import {parseThrowable} from '../dialects/root-cause.ts'
import {isFrameworkClass} from './frameworks.ts'
import {
  closeSection,
  frameLine,
  isShort,
  type OpenSection,
  type StackFrame,
  textLine,
  type TraceSection,
} from './trace.ts'

/**
 * A trace as `Throwable.printStackTrace` writes it. Only `Caused by:` at column 0 begins a cause: whatever is indented below
 * a suppressed exception belongs to that one.
 */
export function readJavaTrace(lines: readonly string[]): TraceSection[] {
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
    const frame = parseFrame(line)
    const common = frame === null ? parseCommon(line) : null
    if (frame !== null) current.lines.push(frameLine(line, frame))
    else if (common !== null) current.lines.push({kind: 'common', count: common})
    // Until the first frame, lines belong to the message.
    else if (current.lines.length === 0) current.heading.push(line)
    else current.lines.push(textLine(line))
  }
  return sections.map(closeSection)
}

function headingOf(line: string, isFirst: boolean): {relation: TraceSection['relation']; text: string} | null {
  if (line.startsWith('Caused by: ')) return {relation: 'cause', text: line.slice('Caused by: '.length)}
  if (line.startsWith('\t')) {
    const text = line.trimStart()
    if (text.startsWith('Suppressed: ')) return {relation: 'suppressed', text: text.slice('Suppressed: '.length)}
    if (text.startsWith('Caused by: ')) return {relation: 'suppressed', text: text.slice('Caused by: '.length)}
  }
  if (!isFirst) return null
  // A trace that begins with a frame has no heading: its exception stands in another header.
  return {relation: 'thrown', text: parseFrame(line) === null ? withoutThread(line) : ''}
}

/** What the default handler of a thread prints in front. */
function withoutThread(line: string): string {
  return line.replace(/^Exception in thread "[^"]{0,200}" /, '')
}

const CAUSE = '\nCaused by: '

/** What two traces are compared by. */
export interface TraceFacts {
  /** Last cause that has a class, with the first line of what it says. */
  readonly cause: {readonly class: string; readonly message: string} | null
  /** `CLASS.METHOD` of the first frame of the application, from the root cause outwards. */
  readonly frame: string | null
}

/** True when only Java can have written it. */
export function isJavaTrace(stack: string): boolean {
  return stack.includes('\n\tat ')
}

/**
 * The same as from `readJavaTrace`, without making objects of the lines that do not matter: reads sections from the last one
 * and stops at the first frame of the application.
 */
export function javaFacts(stack: string): TraceFacts {
  let cause: TraceFacts['cause'] = null
  let frame: string | null = null
  let end = stack.length
  while (end > 0 && (cause === null || frame === null)) {
    // A trace that begins with a cause has its first line there too.
    const before = stack.lastIndexOf(CAUSE, end - 1)
    const start = before === -1 ? 0 : before + 1
    frame ??= sectionFrame(stack, start, end)
    if (cause === null && stack.startsWith('Caused by: ', start)) cause = causeAt(stack, start)
    end = before
  }
  return {cause, frame}
}

function causeAt(stack: string, start: number): TraceFacts['cause'] {
  const thrown = parseThrowable(lineAt(stack, start + CAUSE.length - 1))
  return thrown === undefined ? null : {class: thrown.class, message: thrown.message ?? ''}
}

/** First frame of the application before anything suppressed. */
function sectionFrame(stack: string, start: number, end: number): string | null {
  for (let at = start; at < end;) {
    const next = stack.indexOf('\n', at)
    if (next !== -1 && isPlainlyFramework(stack, at)) {
      at = next + 1
      continue
    }
    const line = lineAt(stack, at)
    if (at > start && line.startsWith('\t') && /^\t\s*(?:Suppressed|Caused by): /.test(line)) return null
    const frame = parseFrame(line)
    if (frame !== null && !frame.isFramework) return frame.method
    if (next === -1) return null
    at = next + 1
  }
  return null
}

/** True for most frames of frameworks, found without taking the line apart; the others are looked at closely. */
function isPlainlyFramework(stack: string, at: number): boolean {
  if (!stack.startsWith('\tat ', at)) return false
  const open = stack.indexOf('(', at)
  if (open === -1 || open - at > 500) return false
  const path = stack.slice(at + 4, open)
  return isFrameworkClass(path.slice(path.lastIndexOf('/') + 1)) && !/\s/.test(path)
}

function lineAt(stack: string, start: number): string {
  const end = stack.indexOf('\n', start)
  const line = stack.slice(start, end === -1 ? undefined : end)
  return end !== -1 && line.endsWith('\r') ? line.slice(0, -1) : line
}

const FRAME = /^\s+at ([^\s()]+)\(/

/** One line of a Java trace as a frame; null when it is none. */
export function parseFrame(line: string): StackFrame | null {
  const path = framePath(line)
  if (path === null) return null
  const dot = path.lastIndexOf('.')
  const className = stableName(path.slice(0, dot))
  return {
    class: className,
    method: `${className}.${stableName(path.slice(dot + 1))}`,
    isFramework: isFrameworkClass(className),
  }
}

/** `CLASS.METHOD` of a frame line, as it stands there. */
function framePath(line: string): string | null {
  const path = isShort(line) ? FRAME.exec(line)?.[1] : undefined
  if (path === undefined) return null
  // A slash ends loader and module, except in front of the address of a hidden class.
  const plain = path.includes('/') ? path.replace(/\/0x[0-9a-f]+/, '').replace(/^.*\//, '') : path
  return plain.lastIndexOf('.') > 0 ? plain : null
}

/** Behind these, names are made by a proxy at run time: what stands before is the class of the application. */
const PROXY =
  /(?:\$\$(?:EnhancerBy|FastClassBy|Spring|Enhancer|Javassist|_jvst)|\$(?:HibernateProxy|ByteBuddy|MockitoMock|Proxy\$_\$\$)\$|_(?:ClientProxy|Subclass|Bean)$|\$Intercepted$|\$\$Proxy|\$\$_WeldClientProxy).*$/

/** What the compiler or the virtual machine numbers differs from build to build: lambdas, anonymous classes, accessors. */
function stableName(name: string): string {
  if (!/[$_]|Generated/.test(name)) return name
  return name
    .replace(/\$\$Lambda.*$/, '$$$$Lambda')
    .replace(/^(lambda\$.*)\$\d+$/, '$1')
    .replace(/(GeneratedMethodAccessor|GeneratedConstructorAccessor|\$Proxy)\d+/, '$1')
    .replace(PROXY, '')
    .replace(/\$\d+/g, '$')
}

function parseCommon(line: string): number | null {
  const found = line.length > 100 ? null : /^\s+\.\.\. (\d{1,9}) (?:more|common frames omitted)$/.exec(line)
  return found?.[1] === undefined ? null : Number(found[1])
}
