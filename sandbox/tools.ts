import {execFile} from 'node:child_process'
import {join} from 'node:path'
import {promisify} from 'node:util'
import type {ArchiveRecord} from './archive-record.ts'
import type {KafkaLibs} from './libs.ts'
import {sandboxDir} from './paths.ts'

const run = promisify(execFile)

/** JVM arguments of a short-lived tool: data on standard output, its log on the other stream. */
export function toolJvmArguments(libs: KafkaLibs): string[] {
  return [
    '-Xmx256m',
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-Xshare:auto',
    `-Dlog4j2.configurationFile=${join(sandboxDir, 'log4j2.properties')}`,
    '-Dkdlq.log.target=SYSTEM_ERR',
    '-Dkdlq.log.level=error',
    '-cp',
    libs.classPath,
  ]
}

export interface ConsoleConsumeOptions {
  readonly bootstrapServers: string
  readonly topic: string
  /** All partitions when not given; the order across partitions is as they come. */
  readonly partition?: number
  /** Records to read from the beginning; there must be so many. */
  readonly count: number
  readonly isolationLevel?: 'read_committed' | 'read_uncommitted'
}

/**
 * Read records with Kafka's own console consumer, printed whole by `LosslessFormatter`.
 * @throws Error when there are fewer than `count` and none comes for ten seconds
 */
export async function consoleConsume(libs: KafkaLibs, options: ConsoleConsumeOptions): Promise<ArchiveRecord[]> {
  const flags = {
    'bootstrap-server': options.bootstrapServers,
    topic: options.topic,
    'max-messages': String(options.count),
    'timeout-ms': '10000',
    'isolation-level': options.isolationLevel ?? 'read_committed',
    formatter: 'org.kdlq.sandbox.LosslessFormatter',
  }
  const tool = 'org.apache.kafka.tools.consumer.ConsoleConsumer'
  const {partition} = options
  const from = partition === undefined ? [] : ['--partition', String(partition)]
  const args = [...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]), ...from, '--from-beginning']
  const {stdout} = await run('java', [...toolJvmArguments(libs), tool, ...args], {maxBuffer: 256 * 1024 * 1024})
  const records = stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as ArchiveRecord)
  if (records.length !== options.count) {
    throw new Error(`read ${records.length} of ${options.count} records of ${options.topic}`)
  }
  return records
}
