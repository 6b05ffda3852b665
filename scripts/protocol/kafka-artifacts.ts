/** Kafka's client jar from Maven, and what the generators need out of it. Everything lands in the ignored .cache folder. */
import {execFileSync} from 'node:child_process'
import {existsSync, mkdirSync, readFileSync} from 'node:fs'
import {dirname, join} from 'node:path'

export const KAFKA_VERSION = '4.4.0'

const root = dirname(dirname(import.meta.dirname))
const folder = join(root, '.cache', 'kafka-clients')
const clientJar = join(folder, `kafka-clients-${KAFKA_VERSION}.jar`)
const jackson = '2.20.1'

const artifacts = [
  `org.apache.kafka:kafka-clients:${KAFKA_VERSION}`,
  'org.slf4j:slf4j-api:1.7.36',
  `com.fasterxml.jackson.core:jackson-databind:${jackson}`,
  `com.fasterxml.jackson.core:jackson-core:${jackson}`,
  'com.fasterxml.jackson.core:jackson-annotations:2.20',
]

function fetchArtifacts(): void {
  mkdirSync(folder, {recursive: true})
  for (const artifact of artifacts) {
    const [, name, version] = artifact.split(':')
    if (existsSync(join(folder, `${name}-${version}.jar`))) continue
    execFileSync('mvn', ['-q', '-B', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  }
}

/** One message definition (common/message/NAME.json of the jar), comments removed. */
export function readMessageDefinition(name: string): unknown {
  const messages = join(folder, `messages-${KAFKA_VERSION}`)
  if (!existsSync(messages)) {
    fetchArtifacts()
    mkdirSync(messages, {recursive: true})
    execFileSync('jar', ['xf', clientJar, 'common/message'], {cwd: messages})
  }
  const text = readFileSync(join(messages, 'common', 'message', `${name}.json`), 'utf8')
  return JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, ''))
}

/** Run KafkaFacts.java against the jar. @returns its standard output, by line */
export function kafkaFacts(mode: 'errors' | 'client-configs' | 'vectors', input = ''): string[] {
  fetchArtifacts()
  const output = execFileSync(
    'java',
    ['-XX:TieredStopAtLevel=1', '-cp', join(folder, '*'), join(import.meta.dirname, 'KafkaFacts.java'), mode],
    {input, stdio: ['pipe', 'pipe', 'ignore'], maxBuffer: 1 << 28},
  )
  return output
    .toString('utf8')
    .split('\n')
    .filter(line => line !== '')
}
