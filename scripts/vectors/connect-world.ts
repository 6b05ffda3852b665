import {SettableFuture} from '../../src/lib/connect-engine/report-future.ts'
import type {ReportFuture} from '../../src/lib/connect-engine/report-future.ts'
import {DeadLetterQueueReporter} from '../../src/lib/connect-engine/dead-letter-queue-reporter.ts'
import type {DeadLetterProducer, DeadLetterRecord} from '../../src/lib/connect-engine/dead-letter-queue-reporter.ts'
import {RetryWithToleranceOperator} from '../../src/lib/connect-engine/engine.ts'
import type {EngineClock} from '../../src/lib/connect-engine/engine.ts'
import {WorkerErrantRecordReporter} from '../../src/lib/connect-engine/errant-record-reporter.ts'
import {parseErrorHandlingConfig} from '../../src/lib/connect-engine/config.ts'
import {consumedRecordText, LogReporter, polledRecordText} from '../../src/lib/connect-engine/log-reporter.ts'
import {ErrorHandlingMetrics} from '../../src/lib/connect-engine/metrics.ts'
import type {Profile} from '../../src/lib/connect-engine/options.ts'
import {ProcessingContext} from '../../src/lib/connect-engine/processing-context.ts'
import type {ErrorReporter, LogEvent} from '../../src/lib/connect-engine/reporter.ts'
import type {ConnectSchema, SourceRecord} from '../../src/lib/connect-engine/data.ts'
import {BugError} from '../../src/lib/errors.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {fromBigInt, fromError, toBigInt, toBytes, toError, toHeaders} from './connect-format.ts'
import type {
  RecorderResult,
  SendResult,
  VectorBytes,
  VectorInput,
  VectorInt,
  VectorRecord,
  VectorReporter,
} from './connect-format.ts'

type Original = KafkaRecord | SourceRecord
export type Context = ProcessingContext<Original>

export interface WaitAsked {
  readonly ms: VectorInt
  readonly stopped?: true
  readonly interrupted?: true
}

/** Wall time of the metrics; anything but 0. */
const WALL_MS = 1_700_000_000_000

/** More waits than any vector has: an engine that does not end is stopped here. */
const MOST_WAITS = 10_000

/** Everything that one vector runs in: time, random numbers, reporters, engine; and what they saw. */
export class ConnectWorld {
  readonly engine: RetryWithToleranceOperator<Original>
  readonly errant: WorkerErrantRecordReporter | null
  readonly metrics: ErrorHandlingMetrics
  readonly log: LogEvent[] = []
  readonly deadLetters: DeadLetterRecord[] = []
  readonly reporterCalls: unknown[] = []
  readonly waits: WaitAsked[] = []
  /** What the engine did that the vector has no place for. */
  readonly problems: string[] = []
  now: bigint
  interrupted = false
  producerClosed = false
  converterThrows: {readonly key: Error | null; readonly value: Error | null} = {key: null, value: null}
  readonly #input: VectorInput
  readonly #contexts = new Map<string, Context>()
  readonly #pending: Map<number, SettableFuture[]> = new Map()
  #draws = 0

  constructor(input: VectorInput, profile: Profile) {
    this.#input = input
    this.now = toBigInt(input.clock ?? 0)
    const kind = input.source === true ? 'source' : 'sink'
    const config = parseErrorHandlingConfig(input.config ?? {}, {kind, profile})
    const task = {connector: input.connector ?? 'job', task: Number(input.task ?? 0)}
    const metrics = new ErrorHandlingMetrics({...task, clock: {now: () => WALL_MS}})
    this.metrics = metrics
    const {retryTimeoutMs, retryDelayMaxMs, tolerance} = config
    this.engine = new RetryWithToleranceOperator<Original>({
      clock: this.#clock(),
      config: {retryTimeoutMs, retryDelayMaxMs, tolerance},
      metrics,
      random: bound => this.#draw(bound),
      wait: async (delayMs, stop) => {
        this.#wait(delayMs, stop)
      },
      profile,
    })
    const log = (event: LogEvent): void => {
      this.log.push(event)
    }
    const logReporter = (): ErrorReporter<Original> =>
      new LogReporter({
        ...task,
        metrics,
        log,
        enabled: config.logEnable,
        includeMessages: config.logIncludeMessages,
        describe: original =>
          kind === 'sink' ? consumedRecordText(original as KafkaRecord) : polledRecordText(original as SourceRecord),
      })
    const dlqReporter = (sends: readonly SendResult[] | undefined, index: number): ErrorReporter<Original> =>
      new DeadLetterQueueReporter({
        ...task,
        metrics,
        log,
        topic: config.dlqTopicName,
        contextHeaders: config.dlqContextHeaders,
        producer: this.#producer(sends ?? ['ok'], index),
      })
    const reporters = (input.reporters ?? []).map((reporter, index): ErrorReporter<Original> => {
      if (reporter.kind === 'recorder') return this.#recorder(reporter, index)
      if (reporter.kind === 'log') return logReporter()
      if (reporter.kind === 'dlq') return dlqReporter(reporter.sends, index)
      throw new BugError(`unknown reporter ${reporter.kind}`)
    })
    this.engine.setReporters(reporters)
    this.errant = config.offersErrantRecordReporter ? this.#errantReporter(log) : null
  }

  /** The context of a record, one over the whole vector. */
  context(name: string): Context {
    const known = this.#contexts.get(name)
    if (known !== undefined) return known
    const record = this.#input.records?.[name]
    const context = new ProcessingContext<Original>(record === undefined || record === null ? null : toOriginal(record))
    this.#contexts.set(name, context)
    return context
  }

  /** Complete what a reporter or producer left pending. @param call from 0 */
  complete(reporter: number, call: number, error: Error | null): void {
    const future = this.#pending.get(reporter)?.[call]
    if (future === undefined) throw new BugError(`reporter ${reporter} has no call ${call}`)
    if (error === null) future.complete()
    else future.fail(error)
  }

  /** Draws that the vector has and the engine did not make. */
  get drawsLeft(): number {
    return (this.#input.random?.draws.length ?? 0) - this.#draws
  }

  #clock(): EngineClock {
    const now = (): bigint => this.now
    const sleep = async (): Promise<void> => {
      throw new BugError('the engine slept by the clock')
    }
    // The name shows in the engine's text form.
    return Object.assign(Object.create({constructor: {name: '<clock>'}}) as object, {now, sleep})
  }

  #draw(bound: bigint): bigint {
    const {random} = this.#input
    const draw = random?.draws[this.#draws++]
    if (random === undefined || draw === undefined) {
      this.problems.push(`random: a draw in [0, ${bound}) too many`)
      return 0n
    }
    if (toBigInt(random.bound) !== bound) this.problems.push(`random: want bound ${random.bound}, got ${bound}`)
    return toBigInt(draw)
  }

  #wait(delayMs: bigint, stop: AbortSignal): void {
    if (this.waits.length >= MOST_WAITS) throw new BugError('the engine does not end')
    const asked = {ms: fromBigInt(delayMs)}
    const {stopDuringWait} = this.#input
    if (this.interrupted) {
      this.interrupted = false
      this.waits.push({...asked, interrupted: true})
    } else if (stop.aborted) {
      this.waits.push({...asked, stopped: true})
    } else if (stopDuringWait?.wait === this.waits.length + 1) {
      this.now += toBigInt(stopDuringWait.afterMs)
      this.engine.triggerStop()
      this.waits.push({...asked, stopped: true})
    } else {
      if (delayMs > 0n) this.now += delayMs
      this.waits.push(asked)
    }
  }

  #hold(reporter: number): SettableFuture {
    const future = new SettableFuture()
    this.#pending.set(reporter, [...(this.#pending.get(reporter) ?? []), future])
    return future
  }

  #recorder({results = ['done'], onClose}: VectorReporter, index: number): ErrorReporter<Original> {
    let call = 0
    return {
      report: ({stage, executingClass, error}): ReportFuture => {
        const described = error === null ? null : fromError(error)
        this.reporterCalls.push({reporter: `r${index}`, stage, class: executingClass, error: described})
        const result: RecorderResult = results[Math.min(call++, results.length - 1)] ?? 'done'
        const future = this.#hold(index)
        if (result === 'pending') return future
        if (result === 'done') future.complete()
        else if ('failed' in result) future.fail(toError(result.failed))
        else throw toError(result.throw)
        return future
      },
      close: () => {
        this.reporterCalls.push({reporter: `r${index}`, close: true})
        if (onClose !== undefined) throw toError(onClose.throw)
      },
    }
  }

  #producer(sends: readonly SendResult[], index: number): DeadLetterProducer {
    let call = 0
    return {
      send: record => {
        const result = sends[Math.min(call++, sends.length - 1)] ?? 'ok'
        const future = this.#hold(index)
        if (typeof result !== 'string' && 'throw' in result) throw toError(result.throw)
        this.deadLetters.push(record)
        if (result === 'ok') future.complete()
        else if (result !== 'pending') future.fail(toError(result.fail))
        return future
      },
      close: () => {
        this.producerClosed = true
      },
    }
  }

  #errantReporter(log: (event: LogEvent) => void): WorkerErrantRecordReporter {
    const bytes = (failure: 'key' | 'value') => ({
      fromConnectData: (_topic: string, _schema: ConnectSchema | null, value: unknown) => {
        const error = this.converterThrows[failure]
        if (error !== null) throw error
        return textBytes(value)
      },
    })
    return new WorkerErrantRecordReporter({
      operator: this.engine,
      keyConverter: bytes('key'),
      valueConverter: bytes('value'),
      headerConverter: {fromConnectHeader: (_topic, _key, _schema, value) => textBytes(value)},
      log,
    })
  }
}

function textBytes(value: unknown): Buffer | null {
  return toBytes(value as VectorBytes)
}

const STRING: ConnectSchema = {type: 'STRING', name: null}

function toOriginal(record: VectorRecord): Original {
  return record.source === true || record.sourcePartition !== undefined ? toSource(record) : toConsumed(record)
}

function toConsumed(record: VectorRecord): KafkaRecord {
  return {
    topic: record.topic,
    partition: record.partition ?? 0,
    offset: toBigInt(record.offset ?? 0),
    timestamp: record.timestamp === null ? null : toBigInt(record.timestamp),
    timestampType: record.timestampType ?? 'CreateTime',
    key: toBytes(record.key),
    value: toBytes(record.value),
    headers: toHeaders(record.headers),
  }
}

function toSource({topic, partition, timestamp, key, value, headers, ...rest}: VectorRecord): SourceRecord {
  return {
    sourcePartition: rest.sourcePartition ?? {},
    sourceOffset: rest.sourceOffset ?? {},
    topic,
    partition,
    keySchema: key === null ? null : STRING,
    key,
    valueSchema: value === null ? null : STRING,
    value,
    timestamp: timestamp === null ? null : toBigInt(timestamp),
    headers: headers.map(([name, text]) => ({key: name, schema: text === null ? null : STRING, value: text})),
  }
}
