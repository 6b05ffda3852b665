import type {KafkaRecord, RecordHeader} from '../../src/lib/kafka/record.ts'

/** Header from text; null stays null. */
export function header(name: string | Buffer, value: string | Buffer | null): RecordHeader {
  return {
    name: typeof name === 'string' ? Buffer.from(name) : name,
    value: typeof value === 'string' ? Buffer.from(value) : value,
  }
}

/** A record with the headers given as pairs, and what else a test wants different. */
export function recordWith(
  headers: readonly (readonly [string | Buffer, string | Buffer | null])[],
  other: Partial<Omit<KafkaRecord, 'headers'>> = {},
): KafkaRecord {
  return {
    topic: 'orders-dlq',
    partition: 0,
    offset: 42n,
    timestamp: 1_764_500_000_123n,
    timestampType: 'CreateTime',
    key: Buffer.from('k-17'),
    value: Buffer.from('{"id":17}'),
    ...other,
    headers: headers.map(([name, value]) => header(name, value)),
  }
}
