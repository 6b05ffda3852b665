import {decodeFailure} from '../dialects/decode.ts'
import type {Dialect} from '../dialects/dialect.ts'
import type {Failure} from '../dialects/model.ts'
import {payloadPartOf} from '../dialects/payload-headers.ts'
import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'
import {maskJson} from './mask-json.ts'
import type {DeadLetter, Handled} from './model.ts'

/** What stands in place of a value that is not shown. */
export const REDACTED = '[redacted]'

const MARKER = Buffer.from(REDACTED)
/** Deeper values are not shown at all. */
const MAX_DEPTH = 200

/** Hides values from every output; what is replayed or exported stays as it is. */
export interface Redaction {
  /**
   * The dead letter as it may be shown: hidden values are `[redacted]`, and the failure says only what is left. The
   * fingerprint is that of the real one. The same object when nothing in it is hidden.
   */
  deadLetter(letter: DeadLetter): DeadLetter
  /** Another record, such as the one at the origin, as it may be shown. */
  record(record: KafkaRecord): KafkaRecord
  /** What a key or value was decoded to, as it may be shown. */
  decoded(part: 'key' | 'value', value: unknown): unknown
}

/**
 * Prepare redaction. A pattern is a name in which `*` stands for anything; case does not matter. It hides headers of this
 * name, and JSON fields of this name in keys, values and headers, at any depth; `a.b` hides the field `b` of `a`. `$key`
 * and `$value` hide all of them, and the headers in which a framework keeps a key or value once more.
 * @returns null when there is nothing to hide
 */
export function compileRedaction(patterns: readonly string[]): Redaction | null {
  const names = patterns.map(pattern => pattern.trim()).filter(pattern => pattern !== '')
  if (names.length === 0) return null
  const hidesKey = names.includes('$key')
  const hidesValue = names.includes('$value')
  const patternsOf = names.filter(name => !name.startsWith('$'))
  const hidesHeader = anyOf(patternsOf.map(wildcard))
  const paths = patternsOf.map(name => name.split('.').map(wildcard))
  // A name with a dot in it may be meant as well.
  const hidesField = (path: readonly string[]): boolean =>
    paths.some(segments => isSuffix(segments, path)) || hidesHeader(path.at(-1) ?? '')
  const masked = (bytes: Buffer): Buffer => maskJson(bytes, hidesField, REDACTED)
  const hidden = (bytes: Buffer | null, isAll: boolean): Buffer | null =>
    bytes === null ? null : isAll ? MARKER : masked(bytes)

  const hidesPayloadHeader = (name: string): boolean => {
    const part = payloadPartOf(name)
    return (part !== 'value' && part !== null && hidesKey) || (part !== 'key' && part !== null && hidesValue)
  }

  const shownRecord = (real: KafkaRecord, hidesToo: NameTest): KafkaRecord => {
    const key = hidden(real.key, hidesKey)
    const value = hidden(real.value, hidesValue)
    let isChanged = key !== real.key || value !== real.value
    const headers = real.headers.map((header): RecordHeader => {
      const name = header.name.toString('utf8')
      const shown = hidden(header.value, hidesHeader(name) || hidesToo(name))
      if (shown === header.value) return header
      isChanged = true
      return {name: header.name, value: shown}
    })
    return isChanged ? {...real, key, value, headers} : real
  }
  const record = (real: KafkaRecord): KafkaRecord => shownRecord(real, hidesPayloadHeader)
  /** Payloads in headers still say how a record failed; the payloads themselves are hidden in the failure. */
  const failureOf = (letter: DeadLetter): Failure =>
    failure(
      decodeFailure(
        shownRecord(letter.record, () => false),
        letter.dialects,
      ),
    )

  const hexOf = (hex: string, isAll: boolean): string =>
    (hidden(Buffer.from(hex, 'hex'), isAll) ?? MARKER).toString('hex')

  /** The original bytes in a failure are the key and the value once more. */
  const failure = (found: Failure): Failure => ({
    ...found,
    ...(found.rawKey === undefined ? {} : {rawKey: hexOf(found.rawKey, hidesKey)}),
    ...(found.rawValue === undefined ? {} : {rawValue: hexOf(found.rawValue, hidesValue)}),
    ...(found.rawHeaders === undefined
      ? {}
      : {
          rawHeaders: found.rawHeaders.map(([name, value]): [string, string | null] => [
            name,
            value === null ? null : hexOf(value, hidesHeader(name)),
          ]),
        }),
  })

  const maskText = (text: string, path: readonly string[]): string => {
    const bytes = Buffer.from(text)
    const shown = maskJson(bytes, inner => hidesField([...path, ...inner]), REDACTED)
    return shown === bytes ? text : shown.toString('utf8')
  }

  const json = (value: unknown, path: readonly string[] = [], depth = 0): unknown => {
    if (depth > MAX_DEPTH) return REDACTED
    if (typeof value === 'string') return maskText(value, path)
    if (Array.isArray(value)) return value.map(item => json(item, path, depth + 1))
    // Bytes have no fields.
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const inner = [...path, name]
        return [name, hidesField(inner) ? REDACTED : json(member, inner, depth + 1)]
      }),
    )
  }

  return {
    record,
    deadLetter: letter => {
      const shown = record(letter.record)
      const told = shown === letter.record ? failure(letter.failure) : failureOf(letter)
      const isSame = shown === letter.record && JSON.stringify(told) === JSON.stringify(letter.failure)
      return isSame ? letter : new RedactedDeadLetter(letter, shown, told)
    },
    decoded: (part, value) => (value !== null && (part === 'key' ? hidesKey : hidesValue) ? REDACTED : json(value)),
  }
}

class RedactedDeadLetter implements DeadLetter {
  readonly unredacted: DeadLetter
  readonly record: KafkaRecord
  readonly failure: Failure
  readonly handled?: Handled | null
  readonly dialects?: readonly Dialect[]

  constructor(unredacted: DeadLetter, record: KafkaRecord, failure: Failure) {
    this.unredacted = unredacted
    this.record = record
    this.failure = failure
    if (unredacted.dialects !== undefined) this.dialects = unredacted.dialects
    if (unredacted.handled !== undefined) this.handled = unredacted.handled
  }

  get address(): string {
    return this.unredacted.address
  }

  get fingerprint(): string | null {
    return this.unredacted.fingerprint
  }
}

type NameTest = (name: string) => boolean

const anyOf =
  (tests: readonly NameTest[]): NameTest =>
  name =>
    tests.some(test => test(name))

function isSuffix(segments: readonly NameTest[], path: readonly string[]): boolean {
  if (segments.length > path.length) return false
  const start = path.length - segments.length
  return segments.every((test, index) => test(path[start + index] ?? ''))
}

/** A name in which `*` stands for any characters; case does not matter. Looks at each part once. */
function wildcard(pattern: string): NameTest {
  const [first = '', ...rest] = pattern.toLowerCase().split('*')
  const last = rest.pop()
  if (last === undefined) return name => name.toLowerCase() === first
  return name => {
    const text = name.toLowerCase()
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
    let at = first.length
    const end = text.length - last.length
    for (const part of rest) {
      const found = text.indexOf(part, at)
      if (found === -1 || found + part.length > end) return false
      at = found + part.length
    }
    return true
  }
}
