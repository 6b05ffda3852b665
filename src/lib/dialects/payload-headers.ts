type PayloadPart = 'key' | 'value' | 'both'

const PARTS: ReadonlyMap<string, PayloadPart> = new Map([
  ['springDeserializerExceptionKey', 'key'],
  ['springDeserializerExceptionValue', 'value'],
  ['deserialization-failure-key-data', 'key'],
  ['deserialization-failure-value-data', 'value'],
  // Of the key where only that failed.
  ['deserialization-failure-data', 'both'],
  // Karafka, Redpanda Connect, Silverback.
  ['original_key', 'key'],
  ['kafka_key', 'key'],
  ['x-kafka-message-key', 'key'],
  // Confluent's reporter.
  ['payload', 'value'],
])

/** What a framework keeps once more in a header of this name: the record's key or value; null for every other name. */
export function payloadPartOf(headerName: string): PayloadPart | null {
  return PARTS.get(headerName) ?? null
}
