import type {ConnectorProperties} from '../../src/lib/connect-engine/config.ts'
import type {SourceRecord} from '../../src/lib/connect-engine/data.ts'
import {DataException} from '../../src/lib/connect-engine/errors.ts'
import type {LogEvent} from '../../src/lib/connect-engine/reporter.ts'
import type {
  OutgoingSourceRecord,
  RecordMetadata,
  SourceOffset,
  SourceTask,
} from '../../src/lib/connect-engine/source-task.ts'
import {SourceTaskRunner, type SourceTaskRunnerOptions} from '../../src/lib/connect-engine/source-task-runner.ts'
import type {TransformationStage} from '../../src/lib/connect-engine/transforms/transformation.ts'
import {FakeClock} from './fake-clock.ts'

/** A record that a source gives. */
export function polled(id: number, value: string, fields: Partial<SourceRecord> = {}): SourceRecord {
  return {
    sourcePartition: {file: 'f'},
    sourceOffset: {line: id},
    topic: 't',
    partition: null,
    keySchema: null,
    key: `k${id}`,
    valueSchema: null,
    value,
    timestamp: null,
    headers: [],
    ...fields,
  }
}

type Step = readonly SourceRecord[] | null | (() => readonly SourceRecord[] | null)

class ScriptedSource implements SourceTask {
  readonly calls: string[] = []
  readonly steps: Step[] = []
  onEnd: () => void = () => {}

  start(): void {
    this.calls.push('start')
  }

  async poll(): Promise<readonly SourceRecord[] | null> {
    const step = this.steps.shift()
    if (step === undefined) {
      this.onEnd()
      return null
    }
    return typeof step === 'function' ? step() : step
  }

  commitRecord(record: SourceRecord, metadata: RecordMetadata | null): void {
    this.calls.push(
      `commitRecord ${String(record.sourceOffset['line'])} ${metadata === null ? 'null' : metadata.offset}`,
    )
  }

  stop(): void {
    this.calls.push('stop')
  }
}

/** What the producer does with the nth record. */
export type Send = (record: OutgoingSourceRecord, nth: number) => Promise<RecordMetadata>

/** A runner and all that it touches. */
export interface Bench {
  readonly runner: SourceTaskRunner
  readonly source: ScriptedSource
  readonly clock: FakeClock
  readonly stages: string[]
  readonly sent: OutgoingSourceRecord[]
  readonly offsets: (readonly SourceOffset[])[]
  readonly log: LogEvent[]
}

/** All is tolerated. */
export const ALL = {'errors.tolerance': 'all'}

/** A source that stops its runner when its steps are over. */
export function bench(
  properties: ConnectorProperties,
  more: Partial<SourceTaskRunnerOptions> & {readonly send?: Send} = {},
): Bench {
  const [stages, log]: [string[], LogEvent[]] = [[], []]
  const sent: OutgoingSourceRecord[] = []
  const offsets: Bench['offsets'] = []
  const source = new ScriptedSource()
  const clock = new FakeClock({now: 0, auto: true})
  const {send = async (record, nth) => ({topic: record.topic, partition: 0, offset: BigInt(nth)}), ...options} = more
  let nth = 0
  const converter = (name: string): SourceTaskRunnerOptions['keyConverter'] => ({
    className: `example.${name}`,
    toConnectData: () => ({schema: null, value: null}),
    fromConnectData: (_topic, _schema, value, headers = []) => {
      stages.push(`${name} with ${headers.length} headers`)
      if (value === 'bad') throw new DataException('bad value')
      return Buffer.from(typeof value === 'string' ? value : '')
    },
  })
  const runner = new SourceTaskRunner({
    connector: 'job',
    task: 3,
    properties,
    sourceTask: source,
    producer: {
      send: record => {
        const sending = send(record, nth)
        nth += 1
        sent.push(record)
        return sending
      },
      close: () => {
        source.calls.push('producer closed')
      },
    },
    writeOffsets: async written => {
      offsets.push(written)
    },
    keyConverter: converter('key'),
    valueConverter: converter('value'),
    headerConverter: {
      className: 'example.header',
      toConnectHeader: () => ({schema: null, value: null}),
      fromConnectHeader: (_topic, _key, _schema, value) => {
        stages.push('header')
        return Buffer.from(typeof value === 'string' ? value : '')
      },
    },
    clock,
    log: event => log.push(event),
    ...options,
  })
  source.onEnd = () => runner.stop()
  return {runner, source, clock, stages, sent, offsets, log}
}

/** A transform that keeps, drops or throws. */
export function smt(stages: string[], act: (value: unknown) => 'keep' | 'drop' | Error): TransformationStage {
  return {
    predicate: null,
    negate: false,
    transformation: {
      className: 'example.Smt',
      apply: record => {
        stages.push('smt')
        const verdict = act(record.value)
        if (verdict instanceof Error) throw verdict
        return verdict === 'keep' ? record : null
      },
    },
  }
}

/** Failures, errors, skipped. */
export function counters({runner}: Bench): number[] {
  const metrics = runner.metrics.snapshot()
  return [metrics['total-record-failures'], metrics['total-record-errors'], metrics['total-records-skipped']]
}

/** Offsets that were written, a list for each time. */
export const lines = (run: Bench): unknown[] =>
  run.offsets.map(written => written.map(({sourceOffset}) => sourceOffset['line']))
