import type {RecordCursor} from '../../kafka/records/types.ts'
import {badValue} from '../usage.ts'
import type {FilterDefinition, Peek} from './filter.ts'
import {equalsAt} from './raw.ts'

/**
 * The byte strings that a value may stand for: its UTF-8 text and, for `0x` and whole bytes in hex, those bytes. Both,
 * because keys that are text and begin with 0x (account numbers) are common.
 */
function bytesMeant(text: string): readonly Buffer[] {
  const hex = /^0x((?:[0-9a-fA-F]{2})*)$/.exec(text)
  const plain = Buffer.from(text)
  return hex === null ? [plain] : [Buffer.from(hex[1] ?? '', 'hex'), plain]
}

function isOneOf(bytes: Buffer | null, wanted: readonly Buffer[]): boolean {
  return bytes !== null && wanted.some(one => one.equals(bytes))
}

export const keyFilter: FilterDefinition = {
  summary: 'Record key: its text, or its bytes as 0xHEX.',
  placeholder: 'TEXT|0xHEX',
  compile(text) {
    const wanted = bytesMeant(text)
    return {
      matches: ({record: {key}}) => isOneOf(key, wanted),
      peek: ({bytes, keyStart, keyLength}) =>
        keyLength >= 0 && wanted.some(key => equalsAt(bytes, keyStart, keyLength, key)) ? 'yes' : 'no',
    }
  },
}

/** A header with this name, and this value unless null. */
export interface HeaderPattern {
  readonly name: string
  readonly value: string | null
}

/**
 * `NAME` or `NAME=VALUE`; the name ends at the first `=`. An empty VALUE is an empty value, not a null one.
 * @throws UsageError naming the flag when there is no name
 */
export function parseHeader(text: string, flag: string): HeaderPattern {
  const at = text.indexOf('=')
  const name = at < 0 ? text : text.slice(0, at)
  if (name === '') throw badValue(flag, text, 'give NAME or NAME=VALUE')
  return {name, value: at < 0 ? null : text.slice(at + 1)}
}

/** Text that `parseHeader` reads as the same pattern. */
export function formatHeader({name, value}: HeaderPattern): string {
  return value === null ? name : `${name}=${value}`
}

export const headerFilter: FilterDefinition = {
  summary: 'A header with this name (and value: text, or bytes as 0xHEX).',
  placeholder: 'NAME[=VALUE]',
  compile(text, {flag}) {
    const {name: nameText, value: valueText} = parseHeader(text, flag)
    const name = Buffer.from(nameText)
    const values = valueText === null ? null : bytesMeant(valueText)
    return {
      matches: ({record: {headers}}) =>
        headers.some(header => header.name.equals(name) && (values === null || isOneOf(header.value, values))),
      peek: cursor => peekHeader(cursor, name, values),
    }
  },
}

function peekHeader(cursor: RecordCursor, name: Buffer, values: readonly Buffer[] | null): Peek {
  cursor.rewindHeaders()
  while (cursor.nextHeader()) {
    if (!equalsAt(cursor.bytes, cursor.headerNameStart, cursor.headerNameLength, name)) continue
    if (values === null) return 'yes'
    const {bytes, headerValueStart, headerValueLength} = cursor
    if (headerValueLength >= 0 && values.some(value => equalsAt(bytes, headerValueStart, headerValueLength, value))) {
      return 'yes'
    }
  }
  return 'no'
}
