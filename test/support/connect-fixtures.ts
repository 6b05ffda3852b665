import {readFileSync} from 'node:fs'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {readArchiveLines} from './archive-lines.ts'

/** What was true of a dead letter topic when its records were made. */
export interface ExpectedTopic {
  readonly records: number
  readonly byPartition: Readonly<Record<string, number>>
  readonly byStage: Readonly<Record<string, number>>
  readonly byException: Readonly<Record<string, number>>
  readonly byConnector: Readonly<Record<string, number>>
  readonly byClass: Readonly<Record<string, number>>
  readonly byOrigin: Readonly<Record<string, number>>
  readonly withoutContextHeaders: number
  readonly withoutExceptionHeaders: number
  readonly nullExceptionMessage: number
  readonly nullKeys: number
  readonly nullValues: number
  readonly setsOfContextHeaders: Readonly<Record<string, number>>
  readonly repeatedOrigins: Readonly<Record<string, number>>
}

const FILES = {
  'clickstream-dlq': 'clickstream-dlq.ndjson',
  'customers.deadletter': 'customers.deadletter.ndjson',
  'dlq.inventory': 'dlq.inventory.ndjson',
  'invoices-dlq': 'invoices-dlq.ndjson',
  'orders-dlq': 'orders-dlq.ndjson.gz',
  'orders-dlq-parked': 'orders-dlq-parked.ndjson.gz',
  'payments-dlq': 'payments-dlq.ndjson',
  'shipments-dlq': 'shipments-dlq.ndjson',
} as const

export type ConnectTopic = keyof typeof FILES

/** Names of the dead letter topics that a real Connect worker wrote. */
export const CONNECT_TOPICS = Object.keys(FILES) as ConnectTopic[]

const DIRECTORY = new URL('../fixtures/connect/', import.meta.url)

/** All records of one of these topics. */
export function connectRecords(topic: ConnectTopic): KafkaRecord[] {
  return readArchiveLines(new URL(FILES[topic], DIRECTORY))
}

/** The counts that belong to them. */
export function connectExpected(topic: ConnectTopic): ExpectedTopic {
  const text = readFileSync(new URL('expected.json', DIRECTORY), 'utf8')
  const {topics} = JSON.parse(text) as {topics: Record<ConnectTopic, ExpectedTopic>}
  return topics[topic]
}
