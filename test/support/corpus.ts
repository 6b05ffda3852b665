import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {gunzipSync} from 'node:zlib'
import {openArchive} from '../../src/lib/kafka/archive/index.ts'
import {formatAddress} from '../../src/lib/kafka/record.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {recordsIn} from '../../src/lib/kafka/records/records-in.ts'

/** Products whose dead letters are in the fixtures. */
export const CORPUS = [
  'camel-kafka-4.22.0',
  'kafka-share-group-4.4.0',
  'kafka-streams-4.4.0',
  'quarkus-messaging-kafka-3.33.2',
  'spring-cloud-stream-kafka-5.0.4',
  'spring-kafka-3.3.10',
  'spring-kafka-4.1.2',
] as const

export type CorpusName = (typeof CORPUS)[number]

/** What is true of one dead letter. */
export interface ExpectedLetter {
  readonly topic: string
  readonly partition: number
  readonly offset: string
  /** Members of the failure that have to be equal, and `keep`: names that stay at a replay. */
  readonly expect: Readonly<Record<string, unknown>> & {readonly keep: readonly string[]}
  /** What the application saw, and whether the dead letter still has the source's bytes. */
  readonly truth: {
    readonly class?: string
    readonly message?: string
    readonly group?: string
    readonly source?: readonly [topic: string, partition: number, offset: string]
    readonly keyIntact?: boolean
    readonly valueIntact?: boolean
    readonly headersIntact?: boolean
    /** Only on the second life of a record: how it was sent back. */
    readonly replayPolicy?: string
  }
}

/** One dead letter with its truth and, where known, the record that failed. */
export interface CorpusLetter {
  readonly record: KafkaRecord
  readonly expected: ExpectedLetter
  readonly source: KafkaRecord | undefined
}

/** All dead letters of one product. */
export async function corpusLetters(name: CorpusName): Promise<CorpusLetter[]> {
  const records = await recordsByAddress(name, 'dead-letters')
  const sources = await recordsByAddress(name, 'source')
  const text = gunzipSync(readFileSync(fileOf(name, 'expected.json.gz'))).toString('utf8')
  return (JSON.parse(text) as ExpectedLetter[]).map(expected => {
    const record = records.get(`${expected.topic}:${expected.partition}:${expected.offset}`)
    if (record === undefined) throw new Error(`no record for ${JSON.stringify(expected)}`)
    return {record, expected, source: sources.get(expected.truth.source?.join(':') ?? '')}
  })
}

async function recordsByAddress(name: CorpusName, file: string): Promise<Map<string, KafkaRecord>> {
  await using archive = await openArchive(fileURLToPath(fileOf(name, `${file}.ndjson.gz`)))
  const topics = await archive.reader.topics(null)
  const partitions = topics.flatMap(({name: topic, partitions: all}) => all.map(({partition}) => ({topic, partition})))
  const ends = await archive.reader.offsets(partitions.map(at => ({...at, at: 'latest'})))
  const ranges = partitions.map((at, index) => ({...at, from: 0n, to: ends[index]?.offset ?? 0n}))
  const records = new Map<string, KafkaRecord>()
  for await (const block of archive.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
    for (const cursor of recordsIn(block)) {
      const record = cursor.toRecord(block.topic, block.partition)
      records.set(formatAddress(record), record)
    }
  }
  return records
}

function fileOf(name: CorpusName, file: string): URL {
  return new URL(`../fixtures/corpus/${name}/${file}`, import.meta.url)
}
