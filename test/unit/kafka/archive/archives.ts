import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'

import {onTestFinished} from 'vitest'

import {formatArchiveLine, openArchive, type ArchiveOptions} from '../../../../src/lib/kafka/archive/index.ts'
import type {Cluster, ReadRange, RecordBlock} from '../../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../../src/lib/kafka/record.ts'
import {recordsIn} from '../../../../src/lib/kafka/records/records-in.ts'

export function kafkaRecord(fields: Partial<KafkaRecord> = {}): KafkaRecord {
  return {
    topic: 'orders-dlq',
    partition: 0,
    offset: 0n,
    timestamp: 1_760_000_000_000n,
    timestampType: 'CreateTime',
    key: null,
    value: Buffer.from('v'),
    headers: [],
    ...fields,
  }
}

/** A directory that goes with the test. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'kdlq-test-'))
  onTestFinished(() => rm(directory, {recursive: true, force: true}))
  return directory
}

export function toLines(records: readonly KafkaRecord[]): string {
  return records.map(record => `${formatArchiveLine(record)}\n`).join('')
}

export async function archiveFile(content: string | Buffer, name = 'orders-dlq.ndjson'): Promise<string> {
  const path = join(await temporaryDirectory(), name)
  await writeFile(path, content)
  return path
}

export async function opened(path: string, options?: ArchiveOptions): Promise<Cluster> {
  const cluster = await openArchive(path, options)
  onTestFinished(() => cluster.close())
  return cluster
}

/** Ranges from earliest to latest over everything. */
export async function everything(cluster: Cluster): Promise<ReadRange[]> {
  const ranges: ReadRange[] = []
  for (const {name, partitions} of await cluster.reader.topics(null)) {
    for (const {partition} of partitions) {
      const [from, to] = await cluster.reader.offsets([
        {topic: name, partition, at: 'earliest'},
        {topic: name, partition, at: 'latest'},
      ])
      ranges.push({topic: name, partition, from: from?.offset ?? 0n, to: to?.offset ?? 0n})
    }
  }
  return ranges
}

export async function readBlocks(cluster: Cluster, ranges: readonly ReadRange[]): Promise<RecordBlock[]> {
  const blocks: RecordBlock[] = []
  for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
    blocks.push(block)
  }
  return blocks
}

export async function readRecords(cluster: Cluster, ranges: readonly ReadRange[]): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = []
  for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
    for (const cursor of recordsIn(block)) records.push(cursor.toRecord(block.topic, block.partition))
  }
  return records
}
