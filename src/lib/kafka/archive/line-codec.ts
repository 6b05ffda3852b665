/** The archive line: one record as JSON, lossless. */
import {isUtf8} from 'node:buffer'

import {IoError} from '../../errors.ts'
import type {KafkaRecord, RecordHeader, TimestampType} from '../record.ts'

const INT64_MAX = 9_223_372_036_854_775_807n
const INT64_MIN = -9_223_372_036_854_775_808n
const INT32_MAX = 2_147_483_647
const OFFSET_PATTERN = /^\d{1,19}$/
const TIMESTAMP_PATTERN = /^-?\d{1,19}$/

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
  try {
    return toRecord(parseJson(line))
  } catch (error) {
    if (error instanceof LineFault) throw archiveLineError(error.message, lineNumber, file, error.hints)
    throw error
  }
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
  return value
}

function toRecord(line: Record<string, unknown>): KafkaRecord {
  const timestamp = parseTimestamp(line['timestamp'])
  return {
    topic: parseTopic(line['topic']),
    partition: parsePartition(line['partition']),
    offset: parseOffset(line['offset']),
    timestamp,
    timestampType: parseTimestampType(line['timestampType']),
    key: parseBytes(line['key'], 'key'),
    value: parseBytes(line['value'], 'value'),
    headers: parseHeaders(line['headers']),
  }
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

function parseBytes(value: unknown, field: string): Buffer | null {
  if (value === null) return null
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new LineFault(`${field} holds half a surrogate pair`)
    return Buffer.from(value, 'utf8')
  }
  if (value === undefined) throw new LineFault(`${field} is missing`)
  const text = isObject(value) ? value['base64'] : undefined
  if (typeof text !== 'string') throw new LineFault(`${field} is not null, a string or {"base64":...}`)
  const bytes = Buffer.from(text, 'base64')
  // Buffer.from leaves out what is no base64; then there are fewer bytes than the text stands for.
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  if (text.length % 4 !== 0 || bytes.length !== (text.length / 4) * 3 - padding) {
    throw new LineFault(`${field} is not base64`)
  }
  return bytes
}

function parseHeaders(value: unknown): readonly RecordHeader[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new LineFault('headers is not a list of [name, value]')
  return value.map((pair: unknown) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw new LineFault('a header is not [name, value]')
    const name = parseBytes(pair[0], 'a header name')
    if (name === null) throw new LineFault('a header name is null')
    return {name, value: parseBytes(pair[1], 'a header value')}
  })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
