import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {openArchive} from '../../src/lib/kafka/archive/index.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {recordsIn} from '../../src/lib/kafka/records/records-in.ts'

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

/** The archive that holds it. */
export function connectFile(topic: ConnectTopic): URL {
  return new URL(FILES[topic], DIRECTORY)
}

/** All records of one of these topics, by partition and offset, through the archive adapter. */
export async function connectRecords(topic: ConnectTopic): Promise<KafkaRecord[]> {
  await using archive = await openArchive(fileURLToPath(connectFile(topic)))
  const [description] = await archive.reader.topics([topic])
  const partitions = description?.partitions.map(({partition}) => partition) ?? []
  const ends = await archive.reader.offsets(partitions.map(partition => ({topic, partition, at: 'latest'})))
  const ranges = partitions.map((partition, index) => ({topic, partition, from: 0n, to: ends[index]?.offset ?? 0n}))
  const records: KafkaRecord[] = []
  for await (const block of archive.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
    for (const cursor of recordsIn(block)) records.push(cursor.toRecord(block.topic, block.partition))
  }
  return records
}

/** The counts that belong to them. */
export function connectExpected(topic: ConnectTopic): ExpectedTopic {
  const text = readFileSync(new URL('expected.json', DIRECTORY), 'utf8')
  const {topics} = JSON.parse(text) as {topics: Record<ConnectTopic, ExpectedTopic>}
  return topics[topic]
}
