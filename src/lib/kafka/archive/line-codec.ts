/** The archive line: one record as JSON, lossless. */
import {isUtf8} from 'node:buffer'

import {IoError} from '../../errors.ts'
import type {KafkaRecord, RecordHeader, TimestampType} from '../record.ts'

const INT64_MAX = 9_223_372_036_854_775_807n
const INT64_MIN = -9_223_372_036_854_775_808n
const INT32_MAX = 2_147_483_647
const OFFSET_PATTERN = /^\d{1,19}$/
const TIMESTAMP_PATTERN = /^-?\d{1,19}$/
/** Searched for, not matched in full: a value of many megabytes must not fill the pattern's stack. */
const NOT_BASE64 = /[^A-Za-z0-9+/]/

/** The record as one archive line, without line end. Bytes are text where they are valid UTF-8, else base64. */
export function formatArchiveLine(record: KafkaRecord): string {
  let headers = ''
  for (const {name, value} of record.headers) {
    headers += `${headers === '' ? '' : ','}[${formatBytes(name)},${formatBytes(value)}]`
  }
  const timestamp = record.timestamp === null ? 'null' : `"${record.timestamp}"`
  return (
    `{"topic":${JSON.stringify(record.topic)},"partition":${record.partition},"offset":"${record.offset}",` +
    `"timestamp":${timestamp},"timestampType":"${record.timestampType}",` +
    `"key":${formatBytes(record.key)},"value":${formatBytes(record.value)},"headers":[${headers}]}`
  )
}

/**
 * Read one archive line. Fields that it does not know are ignored; `headers`, `timestamp` and `timestampType` may be left
 * out, `key` and `value` may not, since a line that lost its value must not become a tombstone.
 * @param lineNumber from 1, for the error
 * @param file for the error; null = not known
 * @throws IoError `E_ARCHIVE_LINE`
 */
export function parseArchiveLine(line: Buffer | string, lineNumber: number, file: string | null = null): KafkaRecord {
  return withPlace(lineNumber, file, () => toRecord(parseJson(line)))
}

/** Where a line's record lies in its topic. */
export type RecordPlace = Pick<KafkaRecord, 'topic' | 'partition' | 'offset' | 'timestamp'>

/**
 * Check one archive line as `parseArchiveLine` does, at half the cost: nothing is decoded.
 * @throws IoError `E_ARCHIVE_LINE`
 */
export function checkArchiveLine(line: Buffer | string, lineNumber: number, file: string | null): RecordPlace {
  return withPlace(lineNumber, file, () => toPlace(parseJson(line)))
}

/** The error for a line that holds no record. */
export function archiveLineError(
  reason: string,
  lineNumber: number,
  file: string | null,
  hints: readonly string[] = [],
): IoError {
  const place = file === null ? `line ${lineNumber}` : `line ${lineNumber} of ${file}`
  return new IoError(`${place} is no record: ${reason}`, {
    code: 'E_ARCHIVE_LINE',
    hints: [...hints, 'leave out lines like this one with --skip-bad-lines'],
    context: {line: lineNumber, file},
  })
}

/** What is wrong with a line, before its place is known. */
class LineFault extends Error {
  readonly hints: readonly string[]
  constructor(message: string, hints: readonly string[] = []) {
    super(message)
    this.hints = hints
  }
}

function withPlace<T>(lineNumber: number, file: string | null, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof LineFault) throw archiveLineError(error.message, lineNumber, file, error.hints)
    throw error
  }
}

function formatBytes(bytes: Buffer | null): string {
  if (bytes === null) return 'null'
  if (isUtf8(bytes)) return JSON.stringify(bytes.toString('utf8'))
  return `{"base64":"${bytes.toString('base64')}"}`
}

function parseJson(line: Buffer | string): Record<string, unknown> {
  if (typeof line !== 'string' && !isUtf8(line)) throw new LineFault('it is not valid UTF-8')
  let value: unknown
  try {
    value = JSON.parse(line.toString())
  } catch {
    throw new LineFault('it is not JSON, or it is cut off', ['one record a line: `jq -c` writes it so'])
  }
  if (!isObject(value)) throw new LineFault('it is not a JSON object')
  // Its values are not those of the record: taken for them, they would be written over the real ones.
  if (value['redacted'] === true) throw new LineFault('values in it are redacted', ['kdlq export writes the real ones'])
  return value
}

function toRecord(line: Record<string, unknown>): KafkaRecord {
  return {
    topic: parseTopic(line['topic']),
    partition: parsePartition(line['partition']),
    offset: parseOffset(line['offset']),
    timestamp: parseTimestamp(line['timestamp']),
    timestampType: parseTimestampType(line['timestampType']),
    key: decodeBytes(checkBytes(line['key'], 'key')),
    value: decodeBytes(checkBytes(line['value'], 'value')),
    headers: checkHeaders(line['headers']).map(([name, value]): RecordHeader => ({
      name: decode(name),
      value: decodeBytes(value),
    })),
  }
}

function toPlace(line: Record<string, unknown>): RecordPlace {
  const place = {
    topic: parseTopic(line['topic']),
    partition: parsePartition(line['partition']),
    offset: parseOffset(line['offset']),
    timestamp: parseTimestamp(line['timestamp']),
  }
  parseTimestampType(line['timestampType'])
  checkBytes(line['key'], 'key')
  checkBytes(line['value'], 'value')
  checkHeaders(line['headers'])
  return place
}

function parseTopic(value: unknown): string {
  if (typeof value !== 'string' || value === '' || !value.isWellFormed()) throw new LineFault('topic is not a name')
  return value
}

function parsePartition(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > INT32_MAX) {
    throw new LineFault('partition is not a number from 0 to 2147483647')
  }
  return value
}

function parseOffset(value: unknown): bigint {
  const offset = parseInt64(value, OFFSET_PATTERN)
  if (offset === null || offset < 0n || offset > INT64_MAX) throw new LineFault('offset is not a string of digits')
  return offset
}

function parseTimestamp(value: unknown): bigint | null {
  if (value === null || value === undefined) return null
  const timestamp = parseInt64(value, TIMESTAMP_PATTERN)
  if (timestamp === null || timestamp < INT64_MIN || timestamp > INT64_MAX) {
    throw new LineFault('timestamp is not epoch milliseconds')
  }
  return timestamp === -1n ? null : timestamp
}

/** A JSON number beyond 2^53 is refused: it has lost digits already. */
function parseInt64(value: unknown, pattern: RegExp): bigint | null {
  if (typeof value === 'string') return pattern.test(value) ? BigInt(value) : null
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : null
}

function parseTimestampType(value: unknown): TimestampType {
  if (value === undefined) return 'CreateTime'
  if (value === 'CreateTime' || value === 'LogAppendTime' || value === 'NoTimestampType') return value
  throw new LineFault('timestampType is not one of CreateTime, LogAppendTime, NoTimestampType')
}

/** Bytes as the line has them, checked: text, or what stands behind `base64`. */
type LineBytes = string | {readonly base64: string}

function checkBytes(value: unknown, field: string): LineBytes | null {
  if (value === null) return null
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new LineFault(`${field} holds half a surrogate pair`)
    return value
  }
  if (value === undefined) throw new LineFault(`${field} is missing`)
  const base64 = isObject(value) ? value['base64'] : undefined
  if (typeof base64 !== 'string') throw new LineFault(`${field} is not null, a string or {"base64":...}`)
  // Buffer.from would pass over what is no base64.
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  if (base64.length % 4 !== 0 || NOT_BASE64.test(base64.slice(0, base64.length - padding))) {
    throw new LineFault(`${field} is not base64`)
  }
  return {base64}
}

function checkHeaders(value: unknown): readonly (readonly [LineBytes, LineBytes | null])[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new LineFault('headers is not a list of [name, value]')
  return value.map((pair: unknown) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw new LineFault('a header is not [name, value]')
    const name = checkBytes(pair[0], 'a header name')
    if (name === null) throw new LineFault('a header name is null')
    return [name, checkBytes(pair[1], 'a header value')] as const
  })
}

function decode(bytes: LineBytes): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : Buffer.from(bytes.base64, 'base64')
}

function decodeBytes(bytes: LineBytes | null): Buffer | null {
  return bytes === null ? null : decode(bytes)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
