import {foldStackTrace, type FoldedSection} from '../dead-letter/stack-trace.ts'
import {plural} from './numbers.ts'
import type {Paint} from './paint.ts'
import {sanitizeBlock} from './sanitize.ts'

const RELATION: Readonly<Record<FoldedSection['relation'], string>> = {
  thrown: 'which led to',
  cause: 'which led to',
  suppressed: 'suppressed',
}

/** A Java stack trace for reading: root cause first, frames of frameworks counted. Lines end with a line break. */
export function* renderFoldedStack(stack: string, paint: Paint): Generator<string> {
  const {sections, hiddenFrames} = foldStackTrace(stack)
  for (const [index, section] of sections.entries()) {
    const relation = index === 0 ? '' : `${paint('faint', RELATION[section.relation])} `
    const message = section.message === null ? '' : `: ${indentRest(sanitizeBlock(section.message))}`
    yield `${relation}${paint('bad', sanitizeBlock(section.class ?? ''))}${section.class === null ? message.slice(2) : message}\n`
    for (const line of section.lines) {
      if (line.kind === 'hidden') yield `    ${paint('faint', `... ${plural(line.count, 'framework frame')}`)}\n`
      else if (line.kind === 'common') yield `    ${paint('faint', `... ${plural(line.count, 'frame')} as below`)}\n`
      else yield `    ${sanitizeBlock(line.text)}\n`
    }
  }
  if (hiddenFrames > 0)
    yield `${paint('faint', `${plural(hiddenFrames, 'framework frame')} hidden; --full-stack shows the trace as it is`)}\n`
}

/** The trace as it is, safe for a terminal. */
export function renderFullStack(stack: string): string {
  const text = sanitizeBlock(stack)
  return text.endsWith('\n') ? text : `${text}\n`
}

function indentRest(text: string): string {
  return text.replaceAll('\n', '\n    ')
}
