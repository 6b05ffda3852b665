import type {KafkaRecord, RecordHeader} from '../../kafka/record.ts'
import type {Dialect, DialectReading} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import {HeaderTable} from '../header-table.ts'
import type {Failure} from '../model.ts'
import {isDecimalText} from '../primitives.ts'
import {readScstException, SCST_COORDINATES} from './scst.ts'

const MARK = 0xff

/**
 * Dead letters of Spring Cloud Stream's Kafka binder with `headerMode=embeddedHeaders`: the headers are JSON inside the
 * value, in front of the payload.
 */
export const scstEmbedded: Dialect = {
  id: 'scst-embedded',
  stages: [],
  keepsTimestamp: false,
  strips: () => false,
  read: readEmbedded,
}

function readEmbedded(record: KafkaRecord): DialectReading | null {
  if (record.value === null || record.value[0] !== MARK) return null
  const parts = parseEmbedded(record.value)
  if (parts === undefined) return null
  const headers = new HeaderTable(parts.headers)
  if (!headers.has(SCST_COORDINATES.topic)) return null
  const reader = new HeaderReader(headers)
  const failure: Omit<Failure, 'dialect' | 'chain'> = {}
  const origin = reader.coordinates(SCST_COORDINATES, 'last')
  if (origin !== undefined) failure.origin = origin
  const exception = readScstException(reader)
  if (exception !== undefined) failure.exception = exception
  failure.payload = 'embedded'
  failure.rawValue = parts.payload.toString('hex')
  return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex: Number.POSITIVE_INFINITY}
}

/**
 * `FF`, a count, then for each header a length byte, the name, four length bytes and a JSON value; the payload follows.
 * Every length is checked against what is there.
 */
function parseEmbedded(value: Buffer): {readonly headers: RecordHeader[]; readonly payload: Buffer} | undefined {
  const count = value[1]
  if (count === undefined) return undefined
  const headers: RecordHeader[] = []
  let at = 2
  for (let index = 0; index < count; index++) {
    const nameEnd = at + 1 + (value[at] ?? 0)
    if (nameEnd + 4 > value.length) return undefined
    const valueEnd = nameEnd + 4 + value.readUInt32BE(nameEnd)
    if (valueEnd > value.length) return undefined
    headers.push({name: value.subarray(at + 1, nameEnd), value: fromJson(value.subarray(nameEnd + 4, valueEnd))})
    at = valueEnd
  }
  return {headers, payload: value.subarray(at)}
}

/** Bytes of a JSON string's text or of a whole number's digits, which may be beyond 2^53; null for anything else. */
function fromJson(json: Buffer): Buffer | null {
  if (isDecimalText(json)) return json
  let parsed: unknown
  try {
    parsed = JSON.parse(json.toString('utf8'))
  } catch {
    return null
  }
  return typeof parsed === 'string' ? Buffer.from(parsed, 'utf8') : null
}
