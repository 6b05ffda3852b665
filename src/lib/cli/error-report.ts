import type {ErrorContext} from '../errors.ts'
import {BugError, InterruptedError, IoError, isKdlqError, type KdlqError} from '../errors.ts'
import {errorCode} from './guards.ts'
import {sanitize, sanitizeBlock} from '../render/sanitize.ts'

/** `error` member of the JSON envelope. */
export interface ErrorJson {
  readonly code: string
  readonly message: string
  readonly exitCode: number
  readonly hints: readonly string[]
  readonly context: ErrorContext
}

const FILE_ERRORS = /^E(ACCES|EXIST|ISDIR|MFILE|NOENT|NOSPC|NOTDIR|PERM|ROFS|IO|FBIG|NAMETOOLONG)$/

/** Anything thrown as one of ours: file errors keep their own words, whatever else is unknown is a bug of kdlq. */
export function toKdlqError(error: unknown): KdlqError {
  if (isKdlqError(error)) return error
  const code = errorCode(error)
  if (error instanceof Error && code !== null && FILE_ERRORS.test(code)) {
    const path = 'path' in error && typeof error.path === 'string' ? error.path : undefined
    return new IoError(error.message.replace(/^[A-Z]+: /, ''), {
      cause: error,
      context: path === undefined ? {code} : {code, path},
    })
  }
  const words = error instanceof Error ? error.message : String(error)
  const name = error instanceof Error ? error.name : 'thrown value'
  return new BugError(`unexpected ${name}: ${words.split('\n')[0] ?? ''}`, {
    cause: error,
    hints: ['this is a bug in kdlq, please report it with the command line and the output of --verbose'],
  })
}

/** The error as data; hints and context as they are (JSON escapes for itself). */
export function errorJson(error: KdlqError): ErrorJson {
  return {
    code: error.code,
    message: error.message,
    exitCode: error.exitCode,
    hints: error.hints,
    context: error.context,
  }
}

export interface ErrorTextOptions {
  readonly verbose: boolean
  /** Paints a word; identity without colour. */
  readonly paint?: (kind: 'error' | 'hint', text: string) => string
}

/** Text for stderr, control characters made visible, ends with a line break. */
export function errorText(error: KdlqError, {verbose, paint = (_, text) => text}: ErrorTextOptions): string {
  const lines: string[] = []
  if (error instanceof InterruptedError) lines.push(sanitize(error.message))
  else lines.push(`${paint('error', 'error:')} ${sanitize(error.message + placeOf(error))}`)
  for (const hint of error.hints) lines.push(`${paint('hint', 'hint:')} ${sanitize(hint)}`)
  if (verbose) {
    lines.push(`code: ${error.code}, exit code ${error.exitCode}`)
    for (const [name, value] of Object.entries(error.context))
      lines.push(`${sanitize(name)}: ${sanitize(String(value))}`)
    lines.push(...stackLines(error))
  }
  return `${lines.join('\n')}\n`
}

/** Facts of the context that say where, when the message does not. */
const PLACES = ['path', 'file', 'archive', 'topic', 'partition', 'offset', 'line', 'name', 'group'] as const

function placeOf({message, context}: KdlqError): string {
  const facts = PLACES.flatMap(name => {
    const value = context[name]
    if (value === undefined || value === null || message.includes(String(value))) return []
    return [`${name} ${String(value)}`]
  })
  return facts.length === 0 ? '' : ` (${facts.join(', ')})`
}

function stackLines(error: Error): string[] {
  const lines: string[] = []
  let current: unknown = error
  for (let depth = 0; current instanceof Error && depth < 8; depth++) {
    const stack = current.stack ?? `${current.name}: ${current.message}`
    lines.push(...sanitizeBlock(depth === 0 ? stack : `caused by ${stack}`).split('\n'))
    current = current.cause
  }
  return lines
}
