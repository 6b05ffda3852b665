import type {KafkaRecord} from '../../kafka/record.ts'
import {isLegalTopicName} from '../../kafka/record.ts'
import type {Dialect, DialectReading} from '../dialect.ts'
import type {HeaderTable} from '../header-table.ts'
import {lenientUtf8, warnNegative} from '../primitives.ts'
import {FamilyReader} from './family-reader.ts'

/** Fields of the message in the key: 1 retry count, 2 topic, 3 partition, 4 offset, 5 time in ns, 6 original key. */
const TEXT_FIELDS: readonly number[] = [2, 6]
const NUMBER_FIELDS: readonly number[] = [1, 3, 4, 5]
const VARINT = 0
const LENGTH_DELIMITED = 2
/** A clock below this, in nanoseconds, lies in the first days of 1970. */
const EARLIEST_CLOCK = 10n ** 15n
const NANOSECONDS_PER_MS = 1_000_000n

/**
 * Dead letters of Uber's kafka-client (Go): no headers, a protobuf message in the key, the original value. Nothing names
 * it, so the whole key has to fit.
 */
export const uberDlq: Dialect = {
  id: 'uber-dlq',
  stages: [],
  keepsTimestamp: false,
  strips: () => false,
  read: readUber,
}

function readUber({key}: KafkaRecord, headers: HeaderTable): DialectReading | null {
  const fields = key === null || !headers.isEmpty ? null : parseKey(key)
  if (fields === null) return null
  const topic = fields.bytes.get(2)
  const clock = fields.numbers.get(5) ?? 0n
  const name = topic === undefined ? '' : lenientUtf8(topic)
  if (!isLegalTopicName(name) || clock <= EARLIEST_CLOCK) return null
  const retries = fields.numbers.get(1) ?? 0n
  const partition = fields.numbers.get(3) ?? 0n
  if (!isInt32(retries) || !isInt32(partition)) return null
  const reader = new FamilyReader(headers)
  const origin = {
    topic: name,
    partition: Number(partition),
    offset: (fields.numbers.get(4) ?? 0n).toString(),
    timestamp: (clock / NANOSECONDS_PER_MS).toString(),
  }
  warnNegative(origin, reader.warn)
  reader.set('origin', origin)
  reader.set('attempts', Number(retries))
  // Protobuf leaves out an empty key: the record's own key is never the original one.
  reader.set('rawKey', fields.bytes.get(6)?.toString('hex') ?? '')
  reader.warn('weak_signature')
  return reader.finish(Infinity)
}

interface Fields {
  readonly bytes: ReadonlyMap<number, Buffer>
  readonly numbers: ReadonlyMap<number, bigint>
}

/** Null unless the whole buffer is this message: known fields of the right type, none twice. */
function parseKey(key: Buffer): Fields | null {
  const bytes = new Map<number, Buffer>()
  const numbers = new Map<number, bigint>()
  let at = 0
  while (at < key.length) {
    const tag = key[at] ?? 0
    const field = tag >> 3
    const isNumber = (tag & 7) === VARINT && NUMBER_FIELDS.includes(field) && !numbers.has(field)
    const isText = (tag & 7) === LENGTH_DELIMITED && TEXT_FIELDS.includes(field) && !bytes.has(field)
    const number = isNumber || isText ? readVarint(key, at + 1) : null
    if (number === null) return null
    at = number.end
    if (isNumber) numbers.set(field, BigInt.asIntN(64, number.value))
    else {
      if (number.value > BigInt(key.length - at)) return null
      bytes.set(field, key.subarray(at, at + Number(number.value)))
      at += Number(number.value)
    }
  }
  return {bytes, numbers}
}

/** Null when it does not end within ten bytes. */
function readVarint(buffer: Buffer, start: number): {readonly value: bigint; readonly end: number} | null {
  let value = 0n
  for (let index = 0; index < 10; index++) {
    const byte = buffer[start + index]
    if (byte === undefined) return null
    value |= BigInt(byte & 0x7f) << BigInt(7 * index)
    if (byte < 0x80) return {value, end: start + index + 1}
  }
  return null
}

function isInt32(number: bigint): boolean {
  return BigInt.asIntN(32, number) === number
}
