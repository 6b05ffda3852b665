import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'

/** A record whose key, value and headers are one piece of memory: objects for each header take many times their bytes. */
export interface PackedRecord extends Omit<KafkaRecord, 'key' | 'value' | 'headers'> {
  /** Each part behind its length (int32, -1 = null): key, value, then names and values of the headers. */
  readonly bytes: Buffer
}

const LENGTH = 4

/** Copy a record into one piece of memory. */
export function packRecord({key, value, headers, ...place}: KafkaRecord): PackedRecord {
  const parts = [key, value, ...headers.flatMap(header => [header.name, header.value])]
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + LENGTH + (part?.length ?? 0), 0))
  let at = 0
  for (const part of parts) {
    at = bytes.writeInt32BE(part?.length ?? -1, at)
    if (part !== null) at += part.copy(bytes, at)
  }
  return {...place, bytes}
}

/** The record again; its parts are slices of the packed one. */
export function unpackRecord({bytes, ...place}: PackedRecord): KafkaRecord {
  let at = 0
  const next = (): Buffer | null => {
    const length = bytes.readInt32BE(at)
    at += LENGTH
    if (length < 0) return null
    at += length
    return bytes.subarray(at - length, at)
  }
  const key = next()
  const value = next()
  const headers: RecordHeader[] = []
  while (at < bytes.length) headers.push({name: next() ?? Buffer.alloc(0), value: next()})
  return {...place, key, value, headers}
}
