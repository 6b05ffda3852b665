import {escapeJsonForTerminal} from './sanitize.ts'

/** Version of every JSON document that kdlq prints. */
export const SCHEMA_VERSION = 1

export interface EnvelopeBody {
  readonly result?: unknown
  readonly warnings?: readonly string[]
  readonly error?: unknown
}

/**
 * One whole JSON document with a line end: `{"schemaVersion":1,"command",...}`. On failure `error` is set; a refusal
 * carries both.
 */
export function envelope(command: string, body: EnvelopeBody, forTerminal: boolean): string {
  const document = {
    schemaVersion: SCHEMA_VERSION,
    command,
    ...(body.result === undefined ? {} : {result: body.result}),
    warnings: body.warnings ?? [],
    ...(body.error === undefined ? {} : {error: body.error}),
  }
  return `${jsonText(document, forTerminal)}\n`
}

/** One value as JSON on one line; bigint becomes a decimal string. */
export function jsonText(value: unknown, forTerminal: boolean): string {
  const text = JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? member.toString() : member))
  return forTerminal ? escapeJsonForTerminal(text) : text
}

/**
 * A document whose `result` has one list that is streamed, one element a line:
 * `{"schemaVersion":1,"command":"inspect","result":{"records":[` ... `],"scanned":[...]},"warnings":[]}`.
 * An error in the middle still ends in valid JSON, with `error` set.
 */
export async function* streamedEnvelope<T>(
  items: AsyncIterable<T>,
  options: {
    readonly command: string
    readonly list: string
    readonly toJson: (item: T) => unknown
    /** Members behind the list; asked when the list has ended. */
    readonly rest: () => Readonly<Record<string, unknown>>
    readonly warnings: () => readonly string[]
    readonly forTerminal: boolean
    /** The error as data; the generator rethrows it behind the end of the document. */
    readonly onError: (error: unknown) => unknown
  },
): AsyncGenerator<string, void> {
  const {forTerminal} = options
  yield `{"schemaVersion":${SCHEMA_VERSION},"command":${jsonText(options.command, forTerminal)},"result":{${jsonText(options.list, forTerminal)}:[`
  let count = 0
  let failure: {readonly error: unknown} | null = null
  try {
    for await (const item of items) {
      yield `${count === 0 ? '\n' : ',\n'}${jsonText(options.toJson(item), forTerminal)}`
      count += 1
    }
  } catch (error) {
    failure = {error}
  }
  const rest = Object.entries(options.rest()).map(
    ([name, value]) => `,${jsonText(name, forTerminal)}:${jsonText(value, forTerminal)}`,
  )
  const error = failure === null ? '' : `,"error":${jsonText(options.onError(failure.error), forTerminal)}`
  yield `${count === 0 ? '' : '\n'}]${rest.join('')}},"warnings":${jsonText(options.warnings(), forTerminal)}${error}}\n`
  if (failure !== null) throw failure.error
}
