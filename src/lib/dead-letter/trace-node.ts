import {isFrameworkFile} from './frameworks.ts'
import {
  closeSection,
  fileStem,
  frameLine,
  isShort,
  type OpenSection,
  type StackFrame,
  textLine,
  type TraceSection,
} from './trace.ts'

const CAUSE = /^\s+\[cause\]: (.*)$/

/** A trace as V8 and Node's `util.inspect` write it; `[cause]:` begins a cause. */
export function readNodeTrace(lines: readonly string[]): TraceSection[] {
  const sections: OpenSection[] = []
  let current: OpenSection | undefined
  for (const line of lines) {
    const frame = parseNodeFrame(line)
    const cause = isShort(line) ? CAUSE.exec(line)?.[1] : undefined
    if (cause !== undefined && current !== undefined) {
      current = {relation: 'cause', heading: [withCode(cause)], lines: []}
      sections.push(current)
    } else if (current === undefined) {
      current = {relation: 'thrown', heading: [frame === null ? withCode(line) : ''], lines: []}
      sections.push(current)
      if (frame !== null) current.lines.push(frameLine(line, frame))
    } else if (frame !== null) current.lines.push(frameLine(line, frame))
    else if (current.lines.length === 0) current.heading.push(line)
    else if (!/^[\s{}]*$/.test(line)) current.lines.push(textLine(line))
  }
  return sections.map(closeSection)
}

/** `TypeError [ERR_CODE]: text` is a class and what it says, the code in front. */
function withCode(heading: string): string {
  return heading.replace(/^(?:Uncaught )?(\w+) \[(\w+)\]: /, '$1: [$2] ')
}

/** One line of a Node trace as a frame; null when it is none. */
export function parseNodeFrame(line: string): StackFrame | null {
  if (!isShort(line)) return null
  const text = line.trim().replace(/ \{$/, '')
  if (!text.startsWith('at ')) return null
  const called = text.slice(3).replace(/^async /, '')
  const open = called.endsWith(')') ? called.lastIndexOf('(') : -1
  const name =
    open > 0
      ? called
          .slice(0, open)
          .trim()
          .replace(/ \[as [^\]]*\]$/, '')
      : '<anonymous>'
  const path = (open > 0 ? called.slice(open + 1, -1) : called).replace(/(?::\d+){1,2}$/, '')
  const isFramework = path.startsWith('index ') || isFrameworkFile('node', path)
  const module = fileStem(path)
  return {class: module, method: `${module}.${name}`, isFramework}
}
