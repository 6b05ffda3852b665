import type {ConnectorProperties} from '../../src/lib/connect-engine/config.ts'
import type {Converter, HeaderConverter, SinkRecord} from '../../src/lib/connect-engine/data.ts'
import {
  type DeadLetterRecord,
  DeadLetterQueueReporter,
} from '../../src/lib/connect-engine/dead-letter-queue-reporter.ts'
import {DataException, RetriableException} from '../../src/lib/connect-engine/errors.ts'
import type {PartitionOffset} from '../../src/lib/connect-engine/partition-offsets.ts'
import {SettableFuture} from '../../src/lib/connect-engine/report-future.ts'
import type {LogEvent} from '../../src/lib/connect-engine/reporter.ts'
import type {SinkTask, SinkTaskContext} from '../../src/lib/connect-engine/sink-task.ts'
import {SinkTaskRunner, type SinkTaskRunnerOptions} from '../../src/lib/connect-engine/sink-task-runner.ts'
import type {TransformationStage} from '../../src/lib/connect-engine/transforms/transformation.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {FakeClock} from './fake-clock.ts'
import {FakeSinkConsumer} from './fake-sink-consumer.ts'

/** Topic and partition of all records that say no other. */
export const P0 = {topic: 't', partition: 0}
/** A second partition. */
export const P1 = {topic: 't', partition: 1}

/** A record of partition 0 of topic t. */
export function consumed(offset: number, value: string, fields: Partial<KafkaRecord> = {}): KafkaRecord {
  return {
    ...P0,
    offset: BigInt(offset),
    timestamp: 1n,
    timestampType: 'CreateTime',
    key: Buffer.from('k'),
    value: Buffer.from(value),
    headers: [],
    ...fields,
  }
}

/** Text in, text out; `bad` fails for good, `later` retriably. */
export function converter(calls: string[], name: string): Converter {
  return {
    className: `example.${name}`,
    toConnectData: (_topic, bytes) => {
      const value = bytes?.toString() ?? null
      calls.push(name)
      if (value === 'bad') throw new DataException('bad text')
      if (value === 'later') throw new RetriableException('try later')
      return {schema: null, value}
    },
    fromConnectData: (_topic, _schema, value) =>
      value === null ? null : Buffer.from(typeof value === 'string' ? value : ''),
  }
}

/** A transform that keeps, drops or throws. */
export function transform(apply: (record: {readonly value: unknown}) => 'keep' | 'drop' | Error): TransformationStage {
  return {
    predicate: null,
    negate: false,
    transformation: {
      className: 'example.Smt$Value',
      apply: record => {
        const verdict = apply(record)
        if (verdict instanceof Error) throw verdict
        return verdict === 'keep' ? record : null
      },
    },
  }
}

class RecordingTask implements SinkTask {
  readonly calls: string[] = []
  context: SinkTaskContext | null = null
  onPut: (records: readonly SinkRecord[]) => void | Promise<void> = () => {}
  preCommitAnswer: (offsets: readonly PartitionOffset[]) => readonly PartitionOffset[] = offsets => offsets

  start(context: SinkTaskContext): void {
    this.context = context
    this.calls.push('start')
  }

  open(partitions: readonly {partition: number}[]): void {
    this.calls.push(`open ${partitions.map(({partition}) => partition).join(' ')}`)
  }

  async put(records: readonly SinkRecord[]): Promise<void> {
    this.calls.push(`put ${records.map(({value}) => String(value)).join(' ')}`.trim())
    await this.onPut(records)
  }

  preCommit(offsets: readonly PartitionOffset[]): readonly PartitionOffset[] {
    this.calls.push(`preCommit ${offsets.map(({partition, offset}) => `${partition}@${offset}`).join(' ')}`)
    return this.preCommitAnswer(offsets)
  }

  close(partitions: readonly {partition: number}[]): void {
    this.calls.push(`close ${partitions.map(({partition}) => partition).join(' ')}`)
  }

  stop(): void {
    this.calls.push('stop')
  }
}

/** A runner and all that it touches. */
export interface Bench {
  readonly runner: SinkTaskRunner
  readonly task: RecordingTask
  readonly consumer: FakeSinkConsumer
  readonly clock: FakeClock
  readonly conversions: string[]
  readonly sent: {readonly record: DeadLetterRecord; readonly future: SettableFuture}[]
  readonly log: LogEvent[]
}

/** All is tolerated. */
export const ALL = {'errors.tolerance': 'all'}
/** A dead letter queue with context headers. */
export const QUEUE = {
  ...ALL,
  'errors.deadletterqueue.topic.name': 'dlq',
  'errors.deadletterqueue.context.headers.enable': 'true',
}

/** A task with partition 0 and a consumer that stops it when its script is over. */
export function bench(
  properties: ConnectorProperties,
  more: Partial<SinkTaskRunnerOptions> & {acknowledge?: boolean} = {},
): Bench {
  const {acknowledge = true, ...options} = more
  const [conversions, log]: [string[], LogEvent[]] = [[], []]
  const sent: Bench['sent'] = []
  const clock = new FakeClock({now: 0, auto: true})
  const [task, consumer] = [new RecordingTask(), new FakeSinkConsumer()]
  const headerConverter: HeaderConverter = {
    className: 'example.Headers',
    toConnectHeader: (_topic, _key, bytes) => {
      conversions.push('header')
      if (bytes?.toString() === 'bad') throw new DataException('bad header')
      return {schema: null, value: bytes?.toString() ?? null}
    },
    fromConnectHeader: () => null,
  }
  const runner = new SinkTaskRunner({
    connector: 'job',
    task: 0,
    properties: {topics: 't', ...properties},
    sinkTask: task,
    consumer,
    keyConverter: converter(conversions, 'key'),
    valueConverter: converter(conversions, 'value'),
    headerConverter,
    clock,
    log: event => log.push(event),
    openDeadLetterQueue: async request =>
      new DeadLetterQueueReporter({
        ...request,
        producer: {
          send: record => {
            const future = new SettableFuture()
            sent.push({record, future})
            if (acknowledge) future.complete()
            return future
          },
          close: () => {
            conversions.push('producer closed')
          },
        },
      }),
    ...options,
  })
  consumer.script(consumer.assign(P0))
  consumer.onEnd = () => runner.stop()
  return {runner, task, consumer, clock, conversions, sent, log}
}

/** Failures, errors, skipped, retries. */
export function counters({runner}: Bench): number[] {
  const metrics = runner.metrics.snapshot()
  return [
    metrics['total-record-failures'],
    metrics['total-record-errors'],
    metrics['total-records-skipped'],
    metrics['total-retries'],
  ]
}

/** Headers of a dead letter by their short names, first lines only. */
export function texts(record: DeadLetterRecord | undefined): Record<string, string | undefined> {
  return Object.fromEntries(
    (record?.headers ?? []).map(({name, value}) => [
      name.toString().replace('__connect.errors.', ''),
      value?.toString().split('\n')[0],
    ]),
  )
}
