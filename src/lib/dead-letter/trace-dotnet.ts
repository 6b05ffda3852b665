import {isFrameworkName} from './frameworks.ts'
import {
  closeSection,
  frameLine,
  isShort,
  type OpenSection,
  type StackFrame,
  textLine,
  type TraceSection,
} from './trace.ts'

const INNER = ' ---> '

/**
 * A trace as .NET's `Exception.ToString` writes it: headings from the outermost exception to the innermost, then the frames of
 * the innermost, then outwards, each level closed by a line.
 */
export function readDotnetTrace(lines: readonly string[]): TraceSection[] {
  const sections: OpenSection[] = []
  /** Sections whose frames are still to come; the last one is being read. */
  const open: OpenSection[] = []
  const begin = (text: string): void => {
    const section: OpenSection = {relation: sections.length === 0 ? 'thrown' : 'cause', heading: [text], lines: []}
    sections.push(section)
    open.push(section)
  }
  for (const line of lines) {
    const frame = parseDotnetFrame(line)
    if (frame === null && (sections.length === 0 || line.startsWith(INNER))) {
      // Older runtimes write all headings in one line.
      const parts = line.split(INNER)
      for (const [index, part] of parts.entries()) if (part !== '' || index > 0) begin(plainHeading(part))
      continue
    }
    if (sections.length === 0) begin('')
    const current = open.at(-1) ?? sections[0]
    if (current === undefined) continue
    if (frame !== null) current.lines.push(frameLine(line, frame))
    else if (line.startsWith('   --- End of inner exception')) open.pop()
    else if (line.startsWith('--- End of stack trace from')) continue
    else if (current.lines.length === 0) current.heading.push(line)
    else current.lines.push(textLine(line))
  }
  return sections.map(closeSection)
}

/** Without the place in an aggregate and the number of the operating system. */
function plainHeading(heading: string): string {
  return heading.replace(/^\(Inner Exception #\d{1,9}\) /, '').replace(/^([\w.+`]+) \(0x[0-9A-F]{8}\): /, '$1: ')
}

/** One line of a .NET trace as a frame; null when it is none. */
export function parseDotnetFrame(line: string): StackFrame | null {
  if (!line.startsWith('   at ') || !isShort(line)) return null
  const open = line.indexOf('(')
  const name = stableName(line.slice(6, open === -1 ? undefined : open).trim())
  if (name === '') return null
  const dot = name.endsWith('..ctor') ? name.length - '..ctor'.length : name.lastIndexOf('.')
  return {class: dot > 0 ? name.slice(0, dot) : name, method: name, isFramework: isFrameworkName('dotnet', name)}
}

/** State machines, closures and type parameters become the method that was written. */
function stableName(name: string): string {
  return name
    .replace(/\.<(\w+)>d__\d+(?:`\d+)?(?:\[[^\]]*\])?\.MoveNext$/, '.$1')
    .replace(/\.<>c(?:__DisplayClass\d+_\d+)?(?:`\d+)?(?=\.)/g, '')
    .replace(/<<?(\w+)>b__[\d_]+>d(?:\.MoveNext)?/, '$1')
    .replace(/<(\w+)>b__[\d_]+/, '$1')
    .replace(/<(\w+)>g__(\w+)\|[\d_]+/, '$1.$2')
    .replace(/`\d+/g, '')
    .replace(/\[[^\]]*\]/g, '')
}
