import {UsageError} from '../errors.ts'
import {formatRef, type SchemaRef} from './framing.ts'
import type {Part} from './types.ts'

/** Formats that a person may ask for. */
export const DECODE_FORMATS = [
  'auto',
  'text',
  'json',
  'avro',
  'protobuf',
  'jsonschema',
  'int32',
  'int64',
  'float32',
  'float64',
  'uuid',
  'msgpack',
  'cbor',
  'hex',
] as const
/** A word of `--decode`. */
export type AskedFormat = (typeof DECODE_FORMATS)[number]

/** Formats that can be given a schema. */
const WITH_SCHEMA: readonly AskedFormat[] = ['avro', 'protobuf', 'jsonschema']
const FILE_NAME = /\.(avsc|avro|proto|json)$/

/** A schema for payloads that name none. */
export type AskedSchema =
  | {readonly kind: 'file'; readonly path: string; readonly message: string | null}
  | {readonly kind: 'registry'; readonly ref: SchemaRef; readonly message: string | null}

/** How one payload is to be read. */
export interface DecodeFormat {
  readonly format: AskedFormat
  /** Null = the payload's frame names it. */
  readonly schema: AskedSchema | null
}

/** Formats by part. */
export type DecodeFormats = Readonly<Record<Part, DecodeFormat>>

const AUTO: DecodeFormat = {format: 'auto', schema: null}
/** Both payloads as they present themselves. */
export const AUTO_FORMATS: DecodeFormats = {key: AUTO, value: AUTO}

/** True for a word that `parseDecodeFormats` takes; `--decode` alone may be followed by anything else. */
export function isDecodeWord(text: string): boolean {
  return /^(?:key=|value=)/.test(text) || isFormat(nameOf(text))
}

/**
 * `[key=|value=]FORMAT[:SCHEMA]`, several of them also joined by commas; without a prefix the value is meant.
 * @param flag named in errors
 * @throws UsageError
 */
export function parseDecodeFormats(texts: readonly string[], flag = '--decode'): DecodeFormats {
  return {...AUTO_FORMATS, ...parseAskedFormats(texts, flag)}
}

/** As `parseDecodeFormats`, without what was not asked for. @throws UsageError */
export function parseAskedFormats(texts: readonly string[], flag = '--decode'): Partial<DecodeFormats> {
  const formats: Partial<Record<Part, DecodeFormat>> = {}
  for (const text of texts.flatMap(one => one.split(/,(?=(?:key|value)=)/))) {
    const match = /^(key|value)=(.*)$/.exec(text)
    const part: Part = match?.[1] === 'key' ? 'key' : 'value'
    formats[part] = parseFormat(match?.[2] ?? text, flag)
  }
  return formats
}

/** As `parseDecodeFormats` takes it, without the part. */
export function formatDecodeFormat({format, schema}: DecodeFormat): string {
  if (schema === null) return format
  const name = schema.kind === 'file' ? schema.path : subjectText(schema.ref)
  return `${format}:${name}${schema.message === null ? '' : `#${schema.message}`}`
}

function subjectText(ref: SchemaRef): string {
  return ref.kind === 'subject' ? `${ref.subject}@${ref.version}` : formatRef(ref)
}

/** True when payloads of this format cannot be read without a registry; `auto` may do without. */
export function needsRegistry({format, schema}: DecodeFormat): boolean {
  return schema === null ? WITH_SCHEMA.includes(format) : schema.kind === 'registry'
}

function parseFormat(text: string, flag: string): DecodeFormat {
  const name = nameOf(text)
  if (!isFormat(name)) {
    throw new UsageError(`${flag}: there is no format '${name}'`, {
      hints: [`write [key=|value=] and one of ${DECODE_FORMATS.join(', ')}`],
      context: {flag},
    })
  }
  const rest = text.slice(text.indexOf(':') + 1)
  const format = name === 'string' ? 'text' : name
  if (!text.includes(':')) return {format, schema: null}
  if (!WITH_SCHEMA.includes(format)) {
    throw new UsageError(`${flag}: ${format} takes no schema`, {hints: [`write ${format}`], context: {flag}})
  }
  if (rest === '') {
    throw new UsageError(`${flag}: no schema stands behind ${format}:`, {
      hints: [`write ${format}:SUBJECT, ${format}:SUBJECT@VERSION or ${format}:FILE`],
      context: {flag},
    })
  }
  return {format, schema: parseSchema(rest, format)}
}

function parseSchema(text: string, format: AskedFormat): AskedSchema {
  const hash = format === 'protobuf' ? text.lastIndexOf('#') : -1
  const message = hash === -1 ? null : text.slice(hash + 1)
  const name = hash === -1 ? text : text.slice(0, hash)
  if (name.includes('/') || FILE_NAME.test(name)) return {kind: 'file', path: name, message}
  const versioned = /^(.+)@([0-9]{1,9}|latest)$/.exec(name)
  const [, subject = name, version = 'latest'] = versioned ?? []
  return {kind: 'registry', ref: {kind: 'subject', subject, version}, message}
}

const nameOf = (text: string): string => text.split(':')[0] ?? ''

function isFormat(name: string): name is AskedFormat | 'string' {
  return name === 'string' || DECODE_FORMATS.some(format => format === name)
}
