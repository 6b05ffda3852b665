import {isFrameworkName} from './frameworks.ts'
import {closeSection, frameLine, isShort, type OpenSection, type StackFrame, type TraceSection} from './trace.ts'

/**
 * A trace as Go's `debug.Stack` or an error with a stack writes it: a line with the function, below it one with the file.
 * Go's errors have no class.
 */
export function readGoTrace(lines: readonly string[]): TraceSection[] {
  const section: OpenSection = {relation: 'thrown', heading: [], lines: []}
  for (const [index, line] of lines.entries()) {
    const isFrame = isPlace(lines[index + 1]) && !isPlace(line)
    const frame = isFrame && !line.startsWith('created by ') ? parseGoFunction(line) : null
    if (frame !== null) section.lines.push(frameLine(line, frame))
    else if (section.lines.length === 0 && !isFrame && !isPlace(line) && !line.startsWith('goroutine ')) {
      section.heading.push(line)
    }
  }
  const text = section.heading
    .join('\n')
    .trim()
    .replace(/^panic: /, '')
    .replace(/ \[recovered\]/g, '')
  const {lines: frames} = closeSection(section)
  return [{relation: 'thrown', class: null, message: text === '' ? null : text, lines: frames}]
}

function isPlace(line: string | undefined): boolean {
  return line !== undefined && isShort(line) && /^\s+\S.*\.(?:go|s):\d+/.test(line)
}

/** The line of a function as a frame; null when it is none. */
export function parseGoFunction(line: string): StackFrame | null {
  if (!isShort(line)) return null
  const text = line.trim()
  const called = text.endsWith(')') ? text.slice(0, text.lastIndexOf('(')) : text
  const name = called
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\(\*?([^()]*)\)/g, '$1')
    .replace(/(?:\.func\d+(?:\.\d+)*|\.gowrap\d+|\.\d+|-fm|-range\d+)+$/, '')
  if (name === '' || name.includes(' ')) return null
  const dot = name.lastIndexOf('.')
  return {class: dot > 0 ? name.slice(0, dot) : name, method: name, isFramework: isFrameworkName('go', name)}
}
