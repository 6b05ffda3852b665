import {mkdir, readdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import type {ArchiveBytes, SourceRecord} from '../../sandbox/archive-record.ts'
import {type ConnectorConfig, startConnect} from '../../sandbox/connect.ts'
import {type JavaHelper, startJavaHelper} from '../../sandbox/java-helper.ts'
import {ensureLibs, type KafkaLibs} from '../../sandbox/libs.ts'
import {eventually, unique} from './sandbox.ts'

/** A record as the sandbox's sink got it: bytes, or whatever its converter made of them. */
interface ProcessedRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly timestamp: string | null
  readonly key: unknown
  readonly value: ArchiveBytes | null
  readonly headers: readonly (readonly [string, unknown])[]
}

/** A source topic, its sink and its dead letter queue, under names of their own. */
export interface SinkFlow {
  readonly topic: string
  readonly dlq: string
  readonly connector: string
  /** Set the sink up, or change it: resolves when it runs with exactly this configuration. */
  configure(config: ConnectorConfig): Promise<void>
  /** What the sink has processed so far, by partition and offset. */
  processed(): Promise<ProcessedRecord[]>
  /** Wait until the sink has processed so many records. */
  waitForProcessed(count: number): Promise<ProcessedRecord[]>
  /** Wait until the queue's only partition ends at this offset. */
  waitForDeadLetters(count: number): Promise<void>
}

export interface ConnectBench extends AsyncDisposable {
  readonly libs: KafkaLibs
  readonly helper: JavaHelper
  /** Of the worker's REST interface. */
  readonly connectUrl: string
  /** Create a topic and its one-partition queue and write the records. */
  createFlow(name: string, partitions: number, records: readonly SourceRecord[]): Promise<SinkFlow>
}

export const BYTES = {
  'key.converter': 'org.apache.kafka.connect.converters.ByteArrayConverter',
  'value.converter': 'org.apache.kafka.connect.converters.ByteArrayConverter',
  'header.converter': 'org.apache.kafka.connect.converters.ByteArrayConverter',
}

/** A Connect worker and Kafka's Java client beside the run's broker. */
export async function startConnectBench(bootstrapServers: string, kafkaDir: string): Promise<ConnectBench> {
  const libs = await ensureLibs('4.4.0')
  const dir = join(kafkaDir, unique('connect'))
  const worker = await startConnect({version: '4.4.0', bootstrapServers, dir})
  const helper = startJavaHelper(libs, bootstrapServers)
  return {
    libs,
    helper,
    connectUrl: worker.url,
    async createFlow(name, partitions, records) {
      const topic = unique(name)
      const [dlq, connector] = [`${topic}-dlq`, `${topic}-sink`]
      const outputDir = join(dir, topic)
      await mkdir(outputDir)
      await helper.createTopic(topic, {partitions})
      await helper.createTopic(dlq)
      await helper.produce(records.map(record => Object.assign({}, record, {topic})))
      const processed = (): Promise<ProcessedRecord[]> => readProcessed(outputDir)
      return {
        topic,
        dlq,
        connector,
        async configure(config) {
          await worker.putConnector(connector, {...sinkConfig(topic, dlq, outputDir), ...config})
        },
        processed,
        waitForProcessed: count =>
          eventually(`${connector} processed ${count} records`, async () => {
            const records = await processed()
            return records.length >= count ? records : null
          }),
        waitForDeadLetters: async count => {
          await eventually(`${count} records in ${dlq}`, async () => {
            const [end] = await helper.endOffsets(dlq)
            return end === String(count) ? end : null
          })
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await helper.close()
      await worker.stop()
    },
  }
}

function sinkConfig(topic: string, dlq: string, outputDir: string): ConnectorConfig {
  return {
    'connector.class': 'org.kdlq.sandbox.SandboxSinkConnector',
    'tasks.max': '1',
    topics: topic,
    'sink.output.dir': outputDir,
    'errors.tolerance': 'all',
    'errors.deadletterqueue.topic.name': dlq,
    'errors.deadletterqueue.topic.replication.factor': '1',
    'errors.deadletterqueue.context.headers.enable': 'true',
  }
}

async function readProcessed(outputDir: string): Promise<ProcessedRecord[]> {
  const texts = await Promise.all((await readdir(outputDir)).map(file => readFile(join(outputDir, file), 'utf8')))
  const lines = texts.flatMap(text => text.split('\n').filter(line => line !== ''))
  const records = lines.map(line => JSON.parse(line) as ProcessedRecord)
  return records.sort((a, b) => a.partition - b.partition || Number(a.offset) - Number(b.offset))
}
