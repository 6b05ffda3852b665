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

const FRAME = /^#\d+ (?:\[internal function\]|.*?\(\d+\)): ([^('"]+)/

/** A trace as PHP's `Throwable::__toString` writes it: the cause first, `Next` begins what it led to. */
export function readPhpTrace(lines: readonly string[]): TraceSection[] {
  const written: OpenSection[] = []
  let current: OpenSection | undefined
  for (const line of lines) {
    const frame = parsePhpFrame(line)
    const isNext = line.startsWith('Next ')
    if (current === undefined || isNext) {
      const text = frame !== null ? '' : line.replace(/^(?:Next|PHP Fatal error: {1,2}Uncaught) /, '')
      current = {relation: 'cause', heading: [withoutPlace(text)], lines: []}
      written.push(current)
      if (frame !== null) current.lines.push(frameLine(line, frame))
    } else if (frame !== null) current.lines.push(frameLine(line, frame))
    else if (line === 'Stack trace:' || line.trim() === '' || /^#\d{1,9} \{main\}$/.test(line)) continue
    else if (current.lines.length > 0) current.lines.push(textLine(line))
    else current.heading.push(line)
  }
  return written
    .toReversed()
    .map((section, index) => closeSection({...section, relation: index === 0 ? 'thrown' : 'cause'}))
}

function withoutPlace(heading: string): string {
  const at = heading.lastIndexOf(' in ')
  return at !== -1 && /:\d{1,9}$/.test(heading) ? heading.slice(0, at) : heading
}

/** One line of a PHP trace as a frame; null when it is none. */
export function parsePhpFrame(line: string): StackFrame | null {
  const name = isShort(line) ? FRAME.exec(line)?.[1]?.trim() : undefined
  if (name === undefined || name === '') return null
  const method = name.replace(/->|::/, '.')
  const dot = method.lastIndexOf('.')
  return {class: dot > 0 ? method.slice(0, dot) : method, method, isFramework: isFrameworkName('php', name)}
}
