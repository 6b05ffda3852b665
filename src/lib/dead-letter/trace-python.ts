import {isFrameworkFile} from './frameworks.ts'
import {
  closeSection,
  fileStem,
  frameLine,
  isShort,
  type OpenSection,
  type StackFrame,
  type TraceSection,
} from './trace.ts'

const TRACEBACK = 'Traceback (most recent call last):'
const RELATIONS = new Set([
  'The above exception was the direct cause of the following exception:',
  'During handling of the above exception, another exception occurred:',
])

/**
 * A trace as Python's `traceback` writes it: the cause first, innermost frame last, the exception behind its frames. Lines
 * of source code are left out.
 */
export function readPythonTrace(lines: readonly string[]): TraceSection[] {
  const written: OpenSection[] = []
  let current: OpenSection | undefined
  const begin = (): OpenSection => {
    const section: OpenSection = {relation: 'cause', heading: [], lines: []}
    written.push(section)
    return section
  }
  for (const line of lines) {
    const frame = parsePythonFrame(line)
    if (line === TRACEBACK) current = begin()
    else if (frame !== null) {
      // A trace that was cut at its beginning still has frames.
      current ??= begin()
      current.lines.push(frameLine(line, frame))
    } else if (RELATIONS.has(line)) current = undefined
    else if (current !== undefined && (current.heading.length > 0 || !line.startsWith(' '))) current.heading.push(line)
  }
  return written.toReversed().map(({heading, lines: frames}, index) => {
    while (heading.at(-1)?.trim() === '') heading.pop()
    return closeSection({relation: index === 0 ? 'thrown' : 'cause', heading, lines: frames.toReversed()})
  })
}

/** One line of a Python trace as a frame; null when it is none. */
export function parsePythonFrame(line: string): StackFrame | null {
  const found = isShort(line) ? /^ {2}File "([^"]+)", line \d+(?:, in (.+))?$/.exec(line) : null
  if (found === null) return null
  const [, path = '', name = '<module>'] = found
  const module = fileStem(path)
  return {class: module, method: `${module}.${name.trim()}`, isFramework: isFrameworkFile('python', path)}
}
