import type {RecordHeader} from '../kafka/record.ts'
import {springTypes} from '../serde/index.ts'
import {sanitize} from './sanitize.ts'
import type {RenderContext} from './view.ts'

/** Java types of headers that Spring's JSON header mapper names; nothing when it names none. */
export function* springTypeLines(headers: readonly RecordHeader[], {paint}: RenderContext): Generator<string> {
  const {headers: types, content} = springTypes(headers)
  if (types.length === 0 && content === null) return
  yield `\n${paint('heading', 'Spring types')}\n`
  if (content !== null) yield `${paint('faint', 'elements of the value')} ${sanitize(content)}\n`
  for (const [name, type] of types) yield `${paint('name', sanitize(name))} ${sanitize(type)}\n`
}
