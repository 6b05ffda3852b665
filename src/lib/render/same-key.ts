import type {SameKey, SameKeyRecords} from '../dead-letter/same-key.ts'
import {formatCount, plural} from './numbers.ts'
import {sanitize} from './sanitize.ts'
import {formatTimestamp} from './time.ts'
import type {RenderContext} from './view.ts'

/** Other records with the key of a dead letter, for reading; null = its key is null. Lines end with a line break. */
export function* sameKeyLines(sameKey: SameKey | null, context: RenderContext): Generator<string> {
  const {paint} = context
  yield `\n${paint('heading', 'Same key')}\n`
  if (sameKey === null) {
    yield `${paint('faint', 'the key is null')}\n`
    return
  }
  const {deadLetters, newerAtOrigin} = sameKey
  yield* placeLines('other dead letters', deadLetters, context)
  if (newerAtOrigin === null) yield `${paint('faint', 'at the origin: its partition is not known')}\n`
  else yield* placeLines('newer at the origin', newerAtOrigin, context)
}

function* placeLines(
  title: string,
  {count, records, complete}: SameKeyRecords,
  {paint}: RenderContext,
): Generator<string> {
  const bound = complete ? '' : ' so far; not all was read'
  yield `${title}: ${paint(count > 0 ? 'warn' : 'good', formatCount(count))}${bound}\n`
  for (const {address, timestamp, tombstone} of records) {
    const time = timestamp === null ? 'no time' : formatTimestamp(timestamp)
    yield `  ${sanitize(address)}  ${time}${tombstone ? '  tombstone' : ''}\n`
  }
  if (count > records.length)
    yield `  ${paint('faint', `${plural(count - records.length, 'older record')} not named`)}\n`
}
