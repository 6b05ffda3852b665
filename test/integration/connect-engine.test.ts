import {isUtf8} from 'node:buffer'
import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, inject, test} from 'vitest'
import type {SourceRecord} from '../../sandbox/archive-record.ts'
import {type ConnectorConfig, type ConnectWorker, startConnect} from '../../sandbox/connect.ts'
import {createDeadLetterQueueReporter} from '../../src/lib/connect-engine/create-dead-letter-queue.ts'
import {METRIC_NAMES, type MetricName} from '../../src/lib/connect-engine/metrics.ts'
import {createPlugins} from '../../src/lib/connect-engine/plugins.ts'
import {SinkTaskRunner} from '../../src/lib/connect-engine/sink-task-runner.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {FakeClock} from '../support/fake-clock.ts'
import {connectPlain, readAll, wholeTopic} from '../support/kafka-client.ts'
import {PortSinkConsumer} from '../support/port-sink-consumer.ts'
import {bytesOf, eventually, unique} from '../support/sandbox.ts'
import {TWIN_PLUGINS, TwinSinkTask} from '../support/sandbox-twin.ts'

const hex = (text: string): {base64: string} => ({base64: Buffer.from(text, 'hex').toString('base64')})
const T0 = Date.UTC(2026, 0, 15, 8)

/** Key, value and headers of the poisoned topic, in order. */
const POISON: readonly Pick<SourceRecord, 'key' | 'value' | 'headers'>[] = [
  {key: 'k-0', value: '{"id":1,"amount":10,"sku":"A-1"}'},
  {key: 'k-1', value: '{"id":2,', headers: [['a', '1'], ['b', null], ['a', hex('ff00')], ['', '']]}, // prettier-ignore
  {key: null, value: hex('7b2261223a22ff227d')},
  {key: 'k-3', value: null, headers: [['h', 'x']]},
  {key: 'k-4', value: '{"id":4,"amount":-5,"sku":"A-4"}', headers: [['__connect.errors.topic', 'earlier']]},
  {key: '7', value: '{"id":5,"amount":1,"customer":null,"sku":"A-5"}'},
  {key: hex('00ff'), value: '{"id":6,"amount":"twelve","sku":"A-6"}'},
  {key: '"k"', value: '{"id":7,"amount":7,"sku":"X-7"}'},
  {key: 'k-8', value: '{"id":8,"amount":8,"sku":"D-8"}'},
  {key: 'k-9', value: '{"id":9,"amount":9,"sku":"Q-q"}'},
  {key: 'k-10', value: '{"id":10,"amount":1,"sku":"A-10","duplicate":true}'},
  {key: '{"k":1}', value: '{"schema":{"type":"string"},"payload":"in an envelope"}'},
  {key: '', value: ''},
  {key: 'k-13', value: '{"id":13,"amount":-0.5,"sku":"A-13"} and more'},
]

const WORKER = {
  'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
  'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
  'value.converter.schemas.enable': 'false',
}
const ALL = {'errors.tolerance': 'all'}
const HEADERS = {'errors.deadletterqueue.context.headers.enable': 'true'}
const RULES = {'sink.reject': 'negative-amount,no-customer,duplicate-id'}
const LOOKUP = {transforms: 'lookup', 'transforms.lookup.type': 'org.kdlq.sandbox.WarehouseLookup'}
const TRANSFORMS = 'org.apache.kafka.connect.transforms'
const BYTES = 'org.apache.kafka.connect.converters.ByteArrayConverter'
const WITHOUT_QUEUE = {'errors.deadletterqueue.topic.name': ''}

/** Everything but name, topics and dead letter queue; a queue is set unless the configuration says otherwise. */
const CONFIGURATIONS: Readonly<Record<string, ConnectorConfig>> = {
  'tolerance-none': {...HEADERS, 'errors.tolerance': 'none'},
  'tolerance-all': {...ALL, ...HEADERS},
  'without-headers': {...ALL, ...RULES},
  'retriable-transform': {...ALL, ...HEADERS, ...LOOKUP},
  'retries-that-help': {
    ...ALL,
    ...HEADERS,
    ...LOOKUP,
    'transforms.lookup.down.attempts': '2',
    'errors.retry.timeout': '60000',
  },
  'errant-records': {...ALL, ...HEADERS, ...RULES},
  'errant-without-tolerance': {...HEADERS, 'sink.reject': 'all', 'value.converter': BYTES},
  'log-only': {...ALL, ...RULES, ...WITHOUT_QUEUE, 'errors.log.enable': 'true', 'errors.log.include.messages': 'true'},
  'no-reporter': {...ALL, ...RULES, ...WITHOUT_QUEUE},
  'busy-sink': {...ALL, ...HEADERS, ...RULES, 'sink.busy.puts': '2'},
  'json-with-schemas': {...ALL, ...HEADERS, 'value.converter': 'org.apache.kafka.connect.json.JsonConverter'},
  'json-keys': {...ALL, ...HEADERS, 'key.converter': 'org.apache.kafka.connect.json.JsonConverter', 'key.converter.schemas.enable': 'false'}, // prettier-ignore
  'cast-and-filter': {...ALL, ...HEADERS, ...RULES, transforms: 'drop,cast', 'transforms.drop.type': `${TRANSFORMS}.Filter`, 'transforms.drop.predicate': 'tombstone', 'transforms.cast.type': `${TRANSFORMS}.Cast$Value`, 'transforms.cast.spec': 'amount:float64', predicates: 'tombstone', 'predicates.tombstone.type': `${TRANSFORMS}.predicates.RecordIsTombstone`}, // prettier-ignore
  'cast-without-tolerance': {...HEADERS, transforms: 'cast', 'transforms.cast.type': `${TRANSFORMS}.Cast$Value`, 'transforms.cast.spec': 'amount:float64', 'value.converter': 'org.apache.kafka.connect.storage.StringConverter'}, // prettier-ignore
}

/** What can be seen of a task from outside. */
interface Outcome {
  readonly state: string
  /** First lines of the failure and of its cause. */
  readonly trace: readonly string[]
  readonly committed: string | null
  readonly metrics: Readonly<Record<MetricName, number>>
  readonly hasFailed: boolean
  readonly log: readonly string[]
  readonly deadLetters: readonly unknown[]
}

let cluster: KafkaCluster
let worker: ConnectWorker
let topic: string
const names = new Map<string, {readonly connector: string; readonly config: ConnectorConfig}>()
const byConnect = new Map<string, Outcome>()

beforeAll(async () => {
  const bootstrapServers = inject('bootstrapServers')
  const dir = join(inject('kafkaDir'), unique('connect'))
  const starting = startConnect({
    version: '4.4.0',
    bootstrapServers,
    dir,
    mbeans: true,
    configs: {'offset.flush.interval.ms': '500'},
  })
  cluster = await connectPlain(bootstrapServers)
  topic = unique('poison')
  await cluster.admin.createTopic({name: topic, partitions: 1, replicationFactor: 1, configs: {}})
  await writePoison()
  worker = await starting
  for (const [name, config] of Object.entries(CONFIGURATIONS)) {
    names.set(name, {connector: unique(name), config: {topics: topic, 'tasks.max': '1', ...config}})
  }
  await Promise.all([...names.values()].map(({connector, config}) => createConnector(dir, connector, config)))
  for (const [name, {connector}] of names) byConnect.set(name, await outcomeOfConnect(connector))
})

afterAll(async () => {
  await worker.stop()
  await cluster.close()
})

/** In one batch, so that one poll gets all of it. */
async function writePoison(): Promise<void> {
  const records = new RecordBatchBuilder()
  for (const [index, {key, value, headers = []}] of POISON.entries()) {
    records.append({
      timestamp: BigInt(T0 + index),
      key: bytesOf(key),
      value: bytesOf(value),
      headers: headers.map(([name, bytes]) => ({name: Buffer.from(name), value: bytesOf(bytes)})),
    })
  }
  await using session = await cluster.writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 30_000,
  })
  const [result] = await session.produce([{topic, partition: 0, records}])
  expect(result?.error).toBeNull()
}

/** A queue of its own for each side, unless the configuration has none. */
function withQueue(config: ConnectorConfig, queue: string): ConnectorConfig {
  return {
    'errors.deadletterqueue.topic.name': queue,
    'errors.deadletterqueue.topic.replication.factor': '1',
    ...config,
  }
}

async function createConnector(dir: string, connector: string, config: ConnectorConfig): Promise<void> {
  const response = await fetch(`${worker.url}/connectors/${connector}/config`, {
    method: 'PUT',
    headers: {'content-type': 'application/json'},
    body: JSON.stringify({
      ...withQueue(config, `${connector}-connect`),
      'connector.class': 'org.kdlq.sandbox.SandboxSinkConnector',
      'sink.output.dir': join(dir, connector),
    }),
  })
  const text = await response.text()
  if (response.status === 409) return createConnector(dir, connector, config)
  if (!response.ok) throw new Error(`${connector}: ${response.status} ${text}`)
}

/** Wait until the task has failed or has committed the whole topic, then look at it. */
async function outcomeOfConnect(connector: string): Promise<Outcome> {
  const ended = await eventually(`${connector} is through`, async () => {
    const status = await worker.status(connector).catch(() => null)
    const [task] = status?.tasks ?? []
    const committed = await committedBy(`connect-${connector}`)
    const isThrough = task?.state === 'FAILED' || (task?.state === 'RUNNING' && committed === String(POISON.length))
    return isThrough ? {state: task.state, trace: task.trace ?? '', committed} : null
  })
  const beans = await worker.readMBeans(`kafka.connect:type=task-error-metrics,connector=${connector},*`)
  const [bean = {}] = Object.values(beans)
  const metrics = Object.fromEntries(METRIC_NAMES.map(name => [name, Number(bean[name])])) as Outcome['metrics']
  const lines = (await readFile(worker.logFile, 'utf8')).split('\n')
  const start = `Error encountered in task ${connector}-0.`
  return {
    ...ended,
    trace: firstLines(ended.trace),
    metrics,
    hasFailed: Number(bean['last-error-timestamp']) > 0,
    log: lines.filter(line => line.includes(start)).map(line => logMessage(line, start)),
    deadLetters: await deadLetters(`${connector}-connect`, metrics),
  }
}

/** Null = nothing yet; a group appears with its first member. */
async function committedBy(group: string): Promise<string | null> {
  const offsets = await cluster.admin.committedOffsets(group).catch(() => [])
  return offsets.find(place => place.topic === topic)?.offset.toString() ?? null
}

function logMessage(line: string, start: string): string {
  return /^.*?\.(?= |$)/.exec(line.slice(line.indexOf(start) + start.length))?.[0] ?? line
}

/** The same configuration through our runner. */
async function outcomeOfRunner(connector: string, config: ConnectorConfig): Promise<Outcome> {
  const properties = withQueue(config, `${connector}-kdlq`)
  const log: string[] = []
  let running = 'UNASSIGNED'
  const consumer = new PortSinkConsumer(cluster.reader, topic, () => {
    running = runner.status.state
    runner.stop()
  })
  const runner = new SinkTaskRunner({
    connector,
    task: 0,
    properties,
    sinkTask: new TwinSinkTask(),
    consumer,
    ...createPlugins(properties, WORKER, TWIN_PLUGINS),
    clock: new FakeClock({auto: true}),
    log: ({logger, message}) => {
      if (logger === 'LogReporter') log.push(message)
    },
    openDeadLetterQueue: request => createDeadLetterQueueReporter(cluster, request),
  })
  const {state, trace} = await runner.run()
  const {'last-error-timestamp': lastErrorMs, ...metrics} = runner.metrics.snapshot()
  const start = `Error encountered in task ${connector}-0.`
  return {
    state: state === 'FAILED' ? state : running,
    trace: firstLines(trace ?? ''),
    committed: consumer.committed === null ? null : String(consumer.committed),
    metrics,
    hasFailed: lastErrorMs > 0,
    log: log.map(message => logMessage(message, start)),
    deadLetters: await deadLetters(`${connector}-kdlq`, metrics),
  }
}

/** Of the failure itself and of the exceptions under it, down to the first that a parser words in its own way. */
function firstLines(trace: string): readonly string[] {
  const lines = trace.split('\n').filter((line, index) => index === 0 || line.startsWith('Caused by: '))
  const end = lines.findIndex(line => line.includes('SerializationException'))
  return lines.slice(0, end === -1 ? lines.length : end)
}

/** All dead letters, in order; of stack traces the first line. */
async function deadLetters(queue: string, metrics: Outcome['metrics']): Promise<readonly unknown[]> {
  const count = metrics['deadletterqueue-produce-requests']
  if (count === 0) return []
  const range = await eventually(`${count} records in ${queue}`, async () => {
    const [all] = await wholeTopic(cluster, queue, 1)
    return all?.to === BigInt(count) ? all : null
  })
  return (await readAll(cluster, [range])).records.map(essenceOf)
}

const STACK_TRACE = '__connect.errors.exception.stacktrace'

/** A record in a form that can be compared and read: bytes as text where they are, else in hex. */
function essenceOf({offset, timestamp, timestampType, key, value, headers}: KafkaRecord): unknown {
  const named = headers.map(header => {
    const name = header.name.toString()
    const text = readable(header.value)
    return [name, name === STACK_TRACE ? (text?.split('\n')[0] ?? null) : text]
  })
  return {offset, timestamp, timestampType, key: readable(key), value: readable(value), headers: named}
}

function readable(bytes: Buffer | null): string | null {
  if (bytes === null) return null
  return isUtf8(bytes) ? bytes.toString() : bytes.toString('hex')
}

test.each(Object.keys(CONFIGURATIONS))('%s: our runner does what Kafka Connect 4.4 does', async name => {
  const {connector, config} = names.get(name) ?? {connector: '', config: {}}
  expect(await outcomeOfRunner(connector, config)).toEqual(byConnect.get(name))
})

test('the configurations differ in what happens', () => {
  const outcomes = [...byConnect.values()]
  expect(new Set(outcomes.map(({state}) => state))).toEqual(new Set(['FAILED', 'RUNNING']))
  expect(new Set(outcomes.map(({metrics}) => JSON.stringify(metrics))).size).toBeGreaterThan(8)
  for (const metric of METRIC_NAMES.filter(each => each !== 'deadletterqueue-produce-failures')) {
    expect(outcomes.some(({metrics}) => metrics[metric] > 0)).toBe(true)
  }
  expect(byConnect.get('log-only')?.log.length).toBeGreaterThan(3)
})
