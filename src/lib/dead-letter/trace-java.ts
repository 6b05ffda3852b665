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
