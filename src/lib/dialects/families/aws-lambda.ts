import {decodeBase64} from '../base64.ts'
import {
  isJsonObject,
  type JsonObject,
  JsonNumber,
  memberOf,
  numberText,
  objectMember,
  parseJsonObject,
  textMember,
} from '../bounded-json.ts'
import type {Dialect, DialectReading} from '../dialect.ts'
import {HeaderTable} from '../header-table.ts'
import type {RecordCoordinates} from '../model.ts'
import {readDecimal, readTopic, warnNegative} from '../primitives.ts'
import {FamilyReader} from './family-reader.ts'

const MARK = Buffer.from('"KafkaBatchInfo"')
const TIMESTAMP_TYPES: Readonly<Record<string, RecordCoordinates['timestampType']>> = {
  CREATE_TIME: 'CreateTime',
  LOG_APPEND_TIME: 'LogAppendTime',
  NO_TIMESTAMP_TYPE: 'NoTimestampType',
}
/** A header value is a list of byte numbers; signed and unsigned writers exist. */
const BYTE = /^(?:-?[0-9]{1,3})$/

/**
 * Reports that AWS Lambda's event source mapping writes to an on-failure topic: the batch that failed stands in the value
 * as JSON, keys and values in base64, the original headers as byte numbers. The dead letter has no headers of its own.
 */
export const awsLambda: Dialect = {
  id: 'aws-lambda',
  stages: [],
  keepsTimestamp: false,
  strips: () => false,
  read: ({value}) => {
    if (value?.[0] !== 0x7b || !value.includes(MARK)) return null
    const report = parseJsonObject(value)
    const request = objectMember(report, 'requestContext')
    const batch = objectMember(report, 'KafkaBatchInfo')
    return report === null || request === undefined || batch === undefined ? null : readReport(report, request, batch)
  },
}

function readReport(report: JsonObject, request: JsonObject, batch: JsonObject): DialectReading {
  const reader = new FamilyReader(new HeaderTable([]))
  reader.set('app', textMember(request, 'functionArn'))
  reader.set('condition', textMember(request, 'condition'))
  const invocations = readNumber(request, 'approximateInvokeCount', 'int32', reader)
  if (invocations !== undefined) reader.set('attempts', Number(invocations))
  reader.set('failedAtText', textMember(report, 'timestamp'))
  reader.set('payload', 'envelope')
  const functionError = textMember(objectMember(report, 'responseContext'), 'functionError')
  if (functionError !== undefined) reader.set('exception', {class: functionError})
  const records = recordsOf(report)
  const [only] = records
  if (only === undefined) reader.warn('value_lost')
  else if (records.length > 1) reader.warn('multi_record_envelope')
  else readRecord(only, batch, reader)
  return reader.finish(Infinity)
}

/** Records of all partitions; what is not an object counts as one that cannot be read. */
function recordsOf(report: JsonObject): readonly unknown[] {
  const byPartition = objectMember(objectMember(report, 'payload'), 'records')
  return Object.values(byPartition ?? {}).flatMap(list => (Array.isArray(list) ? (list as readonly unknown[]) : []))
}

function readRecord(record: unknown, batch: JsonObject, reader: FamilyReader): void {
  const origin: RecordCoordinates = {}
  const topic = textMember(record, 'topic')
  if (topic !== undefined) origin.topic = readTopic(Buffer.from(topic), reader.warn) ?? topic
  const partition = readNumber(record, 'partition', 'int32', reader)
  if (partition !== undefined) origin.partition = Number(partition)
  const offset = readNumber(record, 'offset', 'int64', reader)
  if (offset !== undefined) origin.offset = offset.toString()
  const timestamp = readNumber(record, 'timestamp', 'int64', reader)
  if (timestamp !== undefined) origin.timestamp = timestamp.toString()
  const typeName = textMember(record, 'timestampType') ?? ''
  const timestampType = Object.hasOwn(TIMESTAMP_TYPES, typeName) ? TIMESTAMP_TYPES[typeName] : undefined
  if (timestampType !== undefined) origin.timestampType = timestampType
  warnNegative(origin, reader.warn)
  if (Object.keys(origin).length > 0) reader.set('origin', origin)
  const claimed = numberText(objectMember(batch, 'recordInfo'), 'offset')
  if (claimed !== undefined && offset !== undefined && readQuietly(claimed) !== offset) reader.warn('offset_disagrees')
  const [key, value, headers] = [readBytes(record, 'key'), readBytes(record, 'value'), readHeaders(record)]
  reader.set('rawKey', key ?? undefined)
  reader.set('rawHeaders', headers.readable.length === 0 ? undefined : headers.readable)
  // Without one of its parts the record would go out changed, and nobody would notice.
  if (key === null || value === null || !headers.complete) reader.warn('value_lost')
  else reader.set('rawValue', value)
}

/** Hex; undefined when the original is null, null when it cannot be read. */
function readBytes(record: unknown, name: string): string | undefined | null {
  const member = memberOf(record, name)
  if (member === undefined || member === null) return undefined
  return typeof member === 'string' ? (decodeBase64(member)?.toString('hex') ?? null) : null
}

function readHeaders(record: unknown): {readonly readable: [string, string | null][]; readonly complete: boolean} {
  const list = memberOf(record, 'headers') ?? []
  const headers = Array.isArray(list) ? (list as readonly unknown[]).flatMap(entry => readEntry(entry)) : [null]
  return {readable: headers.filter(header => header !== null), complete: !headers.includes(null)}
}

function readEntry(entry: unknown): ([string, string | null] | null)[] {
  if (!isJsonObject(entry)) return [null]
  return Object.entries(entry).map(([name, value]) => {
    if (value === null) return [name, null]
    const bytes = Array.isArray(value) ? (value as readonly unknown[]).map(readByte) : [null]
    return bytes.includes(null) ? null : [name, Buffer.from(bytes.filter(byte => byte !== null)).toString('hex')]
  })
}

function readByte(value: unknown): number | null {
  if (!(value instanceof JsonNumber) || !BYTE.test(value.text)) return null
  const number = Number(value.text)
  return number < -128 || number > 255 ? null : number & 0xff
}

function readNumber(object: unknown, name: string, range: 'int32' | 'int64', {warn}: FamilyReader): bigint | undefined {
  const text = numberText(object, name)
  return text === undefined ? undefined : readDecimal(Buffer.from(text), range, warn)
}

function readQuietly(text: string): bigint | undefined {
  return readDecimal(Buffer.from(text), 'int64', () => {})
}
