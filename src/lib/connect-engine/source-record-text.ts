import type {ConnectHeader, ConnectSchema, SourceRecord} from './data.ts'

/** A source record as Connect's `SourceRecord.toString` shows it. */
export function sourceRecordText(record: SourceRecord): string {
  const {sourcePartition, sourceOffset, topic, partition, keySchema, key, valueSchema, value, timestamp} = record
  const source = `sourcePartition=${javaText(sourcePartition)}, sourceOffset=${javaText(sourceOffset)}`
  const keyText = `key=${javaText(key)}, keySchema=${schemaText(keySchema)}`
  const valueText = `value=${javaText(value)}, valueSchema=${schemaText(valueSchema)}`
  const rest = `${keyText}, ${valueText}, timestamp=${javaText(timestamp)}, headers=${headersText(record.headers)}`
  return `SourceRecord{${source}} ConnectRecord{topic='${topic}', kafkaPartition=${javaText(partition)}, ${rest}}`
}

function headersText(headers: readonly ConnectHeader[]): string {
  const texts = headers.map(
    ({key, schema, value}) => `ConnectHeader(key=${key}, value=${javaText(value)}, schema=${schemaText(schema)})`,
  )
  return `ConnectHeaders(headers=${texts.length === 0 ? '' : `[${texts.join(', ')}]`})`
}

function schemaText(schema: ConnectSchema | null): string {
  if (schema === null) return 'null'
  return schema.name === null ? `Schema{${schema.type}}` : `Schema{${schema.name}:${schema.type}}`
}

/**
 * A value as Java's `toString` shows it: maps `{a=1}`, lists `[a, b]`. Bytes show their length; Java shows the address of
 * the array there.
 */
export function javaText(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (ArrayBuffer.isView(value)) return `byte[${value.byteLength}]`
  if (Array.isArray(value)) return `[${value.map(javaText).join(', ')}]`
  if (value instanceof Map) return mapText(value)
  if (typeof value === 'object' && isPlain(value)) return mapText(Object.entries(value))
  return primitiveText(value)
}

function mapText(entries: Iterable<[unknown, unknown]>): string {
  return `{${[...entries].map(([name, value]) => `${javaText(name)}=${javaText(value)}`).join(', ')}}`
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function primitiveText(value: unknown): string {
  // An object of a class says itself how it looks.
  return String(value)
}
