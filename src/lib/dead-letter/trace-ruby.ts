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

const FRAME = /^(?:\s*from )?\s*([^\s:][^:]*):\d+:in ['`]([^']*)'/

/**
 * A trace as Ruby's `full_message` or a joined `backtrace` writes it: where it happened, then `: MESSAGE (CLASS)`; another
 * such line begins a cause.
 */
export function readRubyTrace(lines: readonly string[]): TraceSection[] {
  const sections: OpenSection[] = []
  let current: OpenSection | undefined
  const begin = (heading: string, name?: string): OpenSection => {
    const relation = sections.length === 0 ? 'thrown' : 'cause'
    const section: OpenSection = {relation, heading: [heading], lines: [], ...(name === undefined ? {} : {class: name})}
    sections.push(section)
    return section
  }
  for (const line of lines) {
    const found = isShort(line) ? FRAME.exec(line) : null
    const said = found === null ? undefined : throwableOf(line.slice(found[0].length))
    if (said !== undefined) current = begin(said.message, said.class)
    current ??= begin(found === null ? line : '')
    if (found !== null) current.lines.push(frameLine(line, toFrame(found)))
    else if (current.lines.length > 0) current.lines.push(textLine(line))
    else if (current.heading[0] !== line) current.heading.push(line)
  }
  return sections.map(closeSection)
}

/** `: MESSAGE (CLASS)` behind the place where it happened. */
function throwableOf(text: string): {readonly class: string; readonly message: string} | undefined {
  const open = text.lastIndexOf(' (')
  if (!text.startsWith(': ') || !text.endsWith(')') || open < 1) return undefined
  return {class: text.slice(open + 2, -1), message: text.slice(2, Math.max(open, 2))}
}

/** One line of a Ruby trace as a frame; null when it is none. */
export function parseRubyFrame(line: string): StackFrame | null {
  const found = isShort(line) ? FRAME.exec(line) : null
  return found === null ? null : toFrame(found)
}

/** Blocks count as their method, and a method is called the same with and without its class, as versions of Ruby differ. */
function toFrame([, path = '', label = '']: RegExpExecArray): StackFrame {
  const method = label.replace(/^.*\bin /, '').replace(/^.*[#.]/, '')
  const module = fileStem(path)
  return {class: module, method: `${module}.${method}`, isFramework: isFrameworkFile('ruby', path)}
}
