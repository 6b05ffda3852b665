import type {DeadLetter} from '../dead-letter/model.ts'
import type {DecodeProblem, DecodeStep, Part, PayloadFormat, SchemaFacts} from '../serde/index.ts'
import {isReadable} from './bytes.ts'
import type {DecodedJson, DecodedPairJson} from './decoded-json.ts'
import {hexDump} from './hex.ts'
import {formatBytes} from './numbers.ts'
import {sanitize, sanitizeBlock} from './sanitize.ts'
import type {RenderContext} from './view.ts'

/** Longest value on a terminal without `--raw` or `--hex`, in bytes. */
const MAX_VALUE_BYTES = 4096
/** Rows of hex on each side of the byte that makes no sense. */
const ROWS_AROUND = 2

const STEP_WORDS: Readonly<Record<DecodeStep, string>> = {
  detect: 'not decoded',
  framing: 'not decoded',
  registry: 'no schema',
  schema: 'schema of no use',
  decode: 'makes no sense',
  validate: 'breaks its schema',
}

/** One payload of a decoded record. */
interface PartView {
  readonly title: 'Key' | 'Value' | 'Original key' | 'Original value'
  readonly bytes: Buffer | null
  readonly format: PayloadFormat
  readonly json: unknown
  readonly schema: SchemaFacts | undefined
  readonly typeId: string | undefined
  readonly error: DecodeProblem | undefined
  /** Null here, but not at the origin. */
  readonly isElsewhere?: boolean
}

/**
 * Key and value: what they are, decoded, and where they stop making sense; then the original ones, where the failure
 * holds them.
 * @param hex all bytes in hex instead
 */
export function* payloadLines(
  {record, failure}: Pick<DeadLetter, 'record' | 'failure'>,
  decoded: DecodedJson,
  hex: boolean,
  context: RenderContext,
): Generator<string> {
  const {types, original} = decoded
  // A pointer holds neither; a lost value was none of null.
  const isPointer = failure.payload === 'absent'
  const isLost = isPointer || failure.warnings?.includes('value_lost') === true
  const keyView = partView('Key', 'key', record.key, decoded, types?.key)
  const valueView = partView('Value', 'value', record.value, decoded, types?.value)
  yield* partLines({...keyView, isElsewhere: isPointer}, hex, context)
  yield* partLines({...valueView, isElsewhere: isLost}, hex, context)
  if (original === undefined) return
  const key = otherBytes(failure.rawKey, record.key)
  const value = otherBytes(failure.rawValue, record.value)
  if (key !== null) yield* partLines(partView('Original key', 'key', key, original), hex, context)
  if (value !== null) yield* partLines(partView('Original value', 'value', value, original), hex, context)
}

/** Bytes in hex when they are others than the record's own; else null. */
export function otherBytes(hex: string | undefined, own: Buffer | null): Buffer | null {
  return hex === undefined || hex === own?.toString('hex') ? null : Buffer.from(hex, 'hex')
}

function partView(
  title: PartView['title'],
  part: Part,
  bytes: Buffer | null,
  pair: DecodedPairJson,
  typeId?: string,
): PartView {
  const error = [pair.error, pair.keyError].find(found => found?.part === part)
  const schema = part === 'key' ? pair.keySchema : pair.schema
  return {title, bytes, format: pair.format[part], json: pair[part], schema, typeId, error}
}

function* partLines(view: PartView, hex: boolean, context: RenderContext): Generator<string> {
  const {title, bytes, error} = view
  const {paint} = context
  const size = bytes === null ? 'null' : formatBytes(bytes.length)
  const tombstone =
    bytes !== null ? '' : view.isElsewhere === true ? ' (not in this record)' : title === 'Value' ? ' (tombstone)' : ''
  const facts = factsOf(view)
  yield `\n${paint('heading', title)} ${paint('faint', `${size}${tombstone}`)}${facts === '' ? '' : ` ${sanitize(facts)}`}\n`
  if (bytes === null) return
  if (hex) yield* hexDump(bytes, {mark: error?.at ?? null, paint})
  else yield* bodyLines(bytes, view, context)
  if (error === undefined) return
  yield `${paint('bad', STEP_WORDS[error.step])}${sanitize(`${placeOf(error)}: ${error.message}`)}\n`
  if (!hex && error.at !== undefined) yield* hexDump(bytes, {mark: error.at, around: ROWS_AROUND, paint})
}

function* bodyLines(bytes: Buffer, view: PartView, {paint, width}: RenderContext): Generator<string> {
  // A pipe gets all of it.
  const most = width === null ? Infinity : MAX_VALUE_BYTES
  const rest = (left: number, flag: string): string =>
    paint('faint', `... ${formatBytes(left)} more; ${flag} shows all`)
  const text = textOf(bytes, view)
  if (text === null) {
    // With a byte to look at, the rows around it say more than the first ones.
    if (view.error?.at !== undefined) return
    yield* hexDump(bytes.subarray(0, most))
    if (bytes.length > most) yield `${rest(bytes.length - most, '--hex')}\n`
    return
  }
  const shown = text.slice(0, most)
  if (shown !== '') yield `${sanitizeBlock(shown)}\n`
  if (shown.length < text.length) yield `${rest(text.length - shown.length, '--raw')}\n`
}

/** Null when there is nothing to read but bytes. */
function textOf(bytes: Buffer, {format, json}: PartView): string | null {
  const isAsItIs = format === 'text' || format === 'json' || format === 'bytes' || format === 'external'
  if (isAsItIs) return isReadable(bytes) ? prettyJson(bytes.toString('utf8')) : null
  if (json === null) return null
  return typeof json === 'string' ? json : JSON.stringify(json, null, 2)
}

function factsOf({format, schema, typeId}: PartView): string {
  const isPlain = format === 'text' || format === 'json' || format === 'null' || format === 'bytes'
  const parts = [
    isPlain ? null : format,
    schema === undefined ? null : schemaText(schema),
    typeId === undefined ? null : `type ${typeId}`,
  ]
  return parts.filter(part => part !== null && part !== '').join(', ')
}

function schemaText({id, guid, subject, version, name}: SchemaFacts): string {
  const subjectText = subject === undefined ? null : version === undefined ? subject : `${subject} version ${version}`
  return [
    id === undefined ? null : `schema ${id}`,
    guid === undefined ? null : `schema ${guid}`,
    subjectText,
    name ?? null,
  ]
    .filter(part => part !== null)
    .join(', ')
}

function placeOf({at, field}: DecodeProblem): string {
  const byte = at === undefined ? '' : ` at byte ${at}`
  return field === undefined ? byte : `${byte}, reading ${field}`
}

/** Indented when it is a JSON object or list; else the text itself. */
function prettyJson(text: string): string {
  if (!/^\s*[[{]/.test(text) || text.length > 1 << 20) return text
  try {
    const value: unknown = JSON.parse(text)
    // A number that JavaScript cannot hold, or a repeated name, would be shown wrongly: then the text as it is.
    return JSON.stringify(value) === withoutJsonSpace(text) ? JSON.stringify(value, null, 2) : text
  } catch {
    return text
  }
}

/** JSON text without the white space between its tokens. */
function withoutJsonSpace(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|\s+/g, token => (token.startsWith('"') ? token : ''))
}
