import type {KafkaRecord} from '../kafka/record.ts'

/** Bytes of a record batch's header (message format 2). */
const BATCH_OVERHEAD = 61

/** Bytes of a batch that holds nothing but this record, uncompressed; what `max.message.bytes` is compared with. */
export function singleBatchBytes(record: Pick<KafkaRecord, 'key' | 'value' | 'headers'>): number {
  // attributes, timestamp delta 0, offset delta 0
  let body = 3 + field(record.key) + field(record.value) + varintBytes(record.headers.length)
  for (const {name, value} of record.headers) body += field(name) + field(value)
  return BATCH_OVERHEAD + varintBytes(body) + body
}

function field(bytes: Buffer | null): number {
  return bytes === null ? 1 : varintBytes(bytes.length) + bytes.length
}

/** Bytes of a zigzag varint for a value that is not negative. */
function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value * 2; rest > 127; rest = Math.floor(rest / 128)) bytes++
  return bytes
}
