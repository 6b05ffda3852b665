/**
 * The sandbox's world: four topics and four sinks, each of which fails in its own ways. All of it follows from the index of a
 * record, so every start makes the same records and the number of dead letters is known beforehand.
 */
import type {SourceRecord} from './archive-record.ts'
import type {ConnectorConfig} from './connect.ts'

export interface Flow {
  readonly topic: string
  readonly partitions: number
  readonly dlq: string
  readonly dlqPartitions: number
  readonly connector: string
  /** Configuration of the failing sink, without the keys that all sinks share. */
  readonly config: ConnectorConfig
  readonly records: readonly PlannedRecord[]
}

interface PlannedRecord {
  readonly record: SourceRecord
  /** Stage at which the sink fails on it; null when it is fine. */
  readonly stage: 'KEY_CONVERTER' | 'VALUE_CONVERTER' | 'HEADER_CONVERTER' | 'TRANSFORMATION' | 'TASK_PUT' | null
}

const START_MS = Date.UTC(2026, 0, 15, 8)
const JSON_CONVERTER = 'org.apache.kafka.connect.json.JsonConverter'
const BYTES_CONVERTER = 'org.apache.kafka.connect.converters.ByteArrayConverter'

/** The whole scenario; about a seventh of the records die. */
export function scenario(): readonly Flow[] {
  return [orders(), payments(), customers(), inventory()]
}

/** Number of dead letters that a flow makes. */
export function deadLetterCount(flow: Flow): number {
  return flow.records.filter(({stage}) => stage !== null).length
}

/** Configuration of a flow's sink: failing, or mended (it takes bytes as they are, transforms nothing and refuses nothing). */
export function connectorConfig(flow: Flow, outputDir: string, isFixed: boolean): ConnectorConfig {
  const shared = {
    'connector.class': 'org.kdlq.sandbox.SandboxSinkConnector',
    'tasks.max': '1',
    topics: flow.topic,
    'sink.output.dir': outputDir,
    'errors.tolerance': 'all',
    'errors.deadletterqueue.topic.name': flow.dlq,
    'errors.deadletterqueue.topic.replication.factor': '1',
    'errors.deadletterqueue.context.headers.enable': 'true',
    'consumer.override.isolation.level': 'read_committed',
  }
  if (!isFixed) return {...shared, ...flow.config}
  const bytes = {
    'key.converter': BYTES_CONVERTER,
    'value.converter': BYTES_CONVERTER,
    'header.converter': BYTES_CONVERTER,
  }
  return {...shared, ...bytes}
}

function timestampOf(index: number): string {
  return String(START_MS + index * 30_000)
}

function json(value: unknown): string {
  return JSON.stringify(value)
}

function base64(bytes: readonly number[]): {base64: string} {
  return {base64: Buffer.from(bytes).toString('base64')}
}

/** Member of a list by index, round and round. */
function pick<T>(list: readonly [T, ...T[]], index: number): T {
  return list[index % list.length] ?? list[0]
}

function orders(): Flow {
  const partitions = 6
  const records = Array.from({length: 240}, (_, index): PlannedRecord => {
    const {value, stage} = order(index)
    const trace = (index * 7919).toString(16)
    // Repeated, empty and null headers, as tracing and audit libraries leave them behind.
    const headers: SourceRecord['headers'] = [
      ['trace', trace],
      ['source', index % 2 === 0 ? 'web' : 'app'],
      ...(index % 5 === 0
        ? ([
            ['trace', `${trace}-retry`],
            ['note', ''],
            ['tenant', null],
          ] as const)
        : []),
    ]
    const partition = index % partitions
    return {
      record: {
        topic: 'orders',
        partition,
        timestamp: timestampOf(index),
        key: `customer-${index % 40}`,
        value,
        headers,
      },
      stage,
    }
  })
  return {
    topic: 'orders',
    partitions,
    dlq: 'orders-dlq',
    dlqPartitions: 1,
    connector: 'orders-sink',
    config: {
      'tasks.max': '2',
      'sink.reject': 'negative-amount,duplicate-id,no-customer,unknown-currency',
      transforms: 'cast',
      'transforms.cast.type': 'org.apache.kafka.connect.transforms.Cast$Value',
      'transforms.cast.spec': 'amount:float64',
      'producer.override.compression.type': 'gzip',
    },
    records,
  }
}

function order(index: number): {value: SourceRecord['value']; stage: PlannedRecord['stage']} {
  const fine = {
    id: `o-${1000 + index}`,
    customer: `c-${index % 40}`,
    amount: ((index * 37) % 9000) / 100 + 1,
    currency: pick(['EUR', 'USD', 'GBP'], index),
  }
  switch (index % 40) {
    case 3:
      return {value: json(fine).slice(0, -9), stage: 'VALUE_CONVERTER'}
    case 13:
      return {value: base64([0, 0, 0, 0, 42, 0x0e, 0x6f, 0xff, index]), stage: 'VALUE_CONVERTER'}
    case 17:
      return {value: json({...fine, amount: 'twelve'}), stage: 'TRANSFORMATION'}
    case 22:
      return {value: json({...fine, amount: -fine.amount}), stage: 'TASK_PUT'}
    case 27:
      return {value: json({...fine, duplicate: true}), stage: 'TASK_PUT'}
    case 31:
      return {value: json({...fine, customer: null}), stage: 'TASK_PUT'}
    case 36:
      return {value: json({...fine, currency: pick(['XBT', 'EU\u001b[31mR', 'Zł'], index / 4)}), stage: 'TASK_PUT'}
    default:
      return {value: json(fine), stage: null}
  }
}

function payments(): Flow {
  const partitions = 3
  const records = Array.from({length: 150}, (_, index): PlannedRecord => {
    const longKey = Buffer.alloc(8)
    longKey.writeBigInt64BE(BigInt(900_000 + index))
    const fine = {id: `p-${index}`, order: `o-${1000 + index}`, gateway: 'fast', amount: (index * 11) % 500}
    const base = {topic: 'payments', partition: index % partitions, timestamp: timestampOf(index)}
    const key = {base64: longKey.toString('base64')}
    const headers = [['attempt', '1']] as const
    switch (index % 30) {
      case 4:
        return {record: {...base, key: base64([1, 2, 3]), value: json(fine), headers}, stage: 'KEY_CONVERTER'}
      case 11:
        return {
          record: {...base, key, value: json(fine), headers: [['attempt', '{"broken":']]},
          stage: 'HEADER_CONVERTER',
        }
      case 19:
        return {record: {...base, key, value: json({...fine, gateway: 'slow'}), headers}, stage: 'TASK_PUT'}
      case 25:
        return {record: {...base, key, value: `<payment id="${fine.id}"/>`, headers}, stage: 'VALUE_CONVERTER'}
      default:
        return {record: {...base, key, value: json(fine), headers}, stage: null}
    }
  })
  return {
    topic: 'payments',
    partitions,
    dlq: 'payments-dlq',
    dlqPartitions: 3,
    connector: 'payments-sink',
    config: {
      'sink.reject': 'gateway-timeout',
      'key.converter': 'org.apache.kafka.connect.converters.LongConverter',
      'header.converter': JSON_CONVERTER,
      'header.converter.schemas.enable': 'false',
      'producer.override.compression.type': 'snappy',
    },
    records,
  }
}

function customers(): Flow {
  const partitions = 2
  const records = Array.from({length: 80}, (_, index): PlannedRecord => {
    const profile = {name: pick(['Ada', 'Łukasz', '李娜'], index), city: pick(['Gdańsk', 'Porto'], index)}
    const base = {topic: 'customers', partition: index % partitions, timestamp: timestampOf(index), headers: []}
    const key = json({id: index})
    switch (index % 20) {
      case 6:
        return {record: {...base, key: `c-${index}`, value: json({profile})}, stage: 'KEY_CONVERTER'}
      case 9:
        // A tombstone that never reached the sink: the row it should have deleted is still there.
        return {record: {...base, key: `c-${index}`, value: null}, stage: 'KEY_CONVERTER'}
      case 14:
        return {record: {...base, key, value: json([profile])}, stage: 'TRANSFORMATION'}
      default:
        return {record: {...base, key, value: json({profile})}, stage: null}
    }
  })
  return {
    topic: 'customers',
    partitions,
    dlq: 'customers-dlq',
    dlqPartitions: 2,
    connector: 'customers-sink',
    config: {
      'key.converter': JSON_CONVERTER,
      'key.converter.schemas.enable': 'false',
      transforms: 'profile',
      'transforms.profile.type': 'org.apache.kafka.connect.transforms.ExtractField$Value',
      'transforms.profile.field': 'profile',
      'producer.override.compression.type': 'zstd',
    },
    records,
  }
}

function inventory(): Flow {
  const partitions = 4
  const records = Array.from({length: 100}, (_, index): PlannedRecord => {
    const dead = {8: `X-${index}`, 16: `D-${index}`, 21: `A-${index}b`}[index % 25]
    const value = json({sku: dead ?? `A-${index}`, quantity: index % 7})
    const record = {
      topic: 'inventory',
      partition: index % partitions,
      timestamp: timestampOf(index),
      key: `A-${index}`,
      value,
    }
    return {record, stage: dead === undefined ? null : 'TRANSFORMATION'}
  })
  return {
    topic: 'inventory',
    partitions,
    dlq: 'inventory-dlq',
    dlqPartitions: 1,
    connector: 'inventory-sink',
    config: {
      transforms: 'warehouse',
      'transforms.warehouse.type': 'org.kdlq.sandbox.WarehouseLookup',
      'errors.retry.timeout': '300',
      'errors.retry.delay.max.ms': '200',
      'producer.override.compression.type': 'lz4',
    },
    records,
  }
}
