import {InternalSinkRecord, SinkRecord} from '../../src/lib/connect-engine/data.ts'
import type {ConnectSchema, RecordChanges} from '../../src/lib/connect-engine/data.ts'
import type {ReportFuture} from '../../src/lib/connect-engine/report-future.ts'
import {STAGES} from '../../src/lib/connect-engine/stage.ts'
import type {Stage} from '../../src/lib/connect-engine/stage.ts'
import {BugError} from '../../src/lib/errors.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import type {ProcessingContext} from '../../src/lib/connect-engine/processing-context.ts'
import {fromError, fromHeaders, toBigInt, toError} from './connect-format.ts'
import type {ScriptEntry, VectorException, VectorRecord, VectorSinkRecord, VectorStep} from './connect-format.ts'
import type {ConnectWorld, Context} from './connect-world.ts'

type Fields = Record<string, unknown>

/** Futures and blocked awaits by the names that steps gave them. */
export interface Names {
  readonly futures: Map<string, ReportFuture>
  readonly awaits: Map<string, Outcome>
}

interface Outcome {
  result: Fields | null
}

type StepRunner = (world: ConnectWorld, step: VectorStep, names: Names) => Fields | Promise<Fields>

/** Lets everything run that needs no time. */
async function settle(): Promise<void> {
  const {promise, resolve} = Promise.withResolvers<void>()
  setImmediate(resolve)
  await promise
}

/** Run one step. @returns its result fields, without the counters */
export async function runStep(world: ConnectWorld, step: VectorStep, names: Names): Promise<Fields> {
  const runner = RUNNERS[step.do]
  if (runner === undefined) throw new BugError(`unknown step ${step.do}`)
  const fields = await runner(world, step, names)
  await settle()
  return fields
}

const RUNNERS: Readonly<Record<string, StepRunner>> = {
  execute: async (world, step) => {
    const context = world.context(step.record ?? 'r')
    const script = scriptRunner(world, step)
    const before = world.waits.length
    let outcome: Fields
    try {
      const value = await world.engine.execute(context, script.call, stageOf(step.stage), step.class ?? null)
      outcome = context.failed && value === null ? {result: 'skipped'} : {result: 'value', value}
    } catch (error) {
      if (error instanceof BugError) throw error
      outcome = {result: 'thrown', thrown: fromError(error)}
    }
    const waits = world.waits.slice(before)
    return {...outcome, attempts: script.attempts(), waits, context: contextOf(context)}
  },
  executeFailed: (world, step, names) => {
    const context = world.context(step.record ?? 'r')
    const error = errorOf(step.error)
    const reported = reporting(names, step, () =>
      world.engine.executeFailed(context, stageOf(step.stage), step.class ?? null, error),
    )
    return {...reported, context: contextOf(context)}
  },
  report: (world, step, names) => reporting(names, step, () => world.engine.report(world.context(step.record ?? 'r'))),
  setContext: (world, step) => {
    const context = world.context(step.record ?? 'r')
    if (step.stage !== undefined) context.stage = stageOf(step.stage)
    if (step.class !== undefined) context.executingClass = step.class
    if (step.error !== undefined) context.error = errorOf(step.error)
    return {result: 'returned'}
  },
  errantAvailable: world => ({result: world.errant !== null}),
  errantReport: (world, step, names) => {
    const {errant} = world
    if (errant === null) return {result: 'unavailable'}
    world.converterThrows = {key: errorOf(step.keyConverterThrows), value: errorOf(step.valueConverterThrows)}
    const fields = reporting(names, step, () => {
      const record = sinkRecordOf(world, step.sinkRecord ?? null)
      return errant.report(record as SinkRecord, errorOf(step.error))
    })
    return {...fields, filed: filedOf(world)}
  },
  withinLimits: world => ({result: world.engine.withinToleranceLimits()}),
  backoff: async (world, step) => {
    const before = world.waits.length
    try {
      await world.engine.backoff(step.attempt ?? 1, toBigInt(step.deadline ?? 0))
    } catch (error) {
      if (error instanceof BugError) throw error
      return {result: 'thrown', thrown: fromError(error), waits: world.waits.slice(before)}
    }
    return {waits: world.waits.slice(before)}
  },
  advance: (world, step) => {
    world.now += toBigInt(step.ms ?? 0)
    return {}
  },
  triggerStop: world => {
    world.engine.triggerStop()
    return {}
  },
  interrupt: world => {
    world.interrupted = true
    return {}
  },
  isInterrupted: world => ({result: world.interrupted}),
  complete: (world, step) => {
    world.complete(step.reporter ?? 0, step.call ?? 0, errorOf(step.error))
    return {}
  },
  future: (_world, step, names) => futureFields(named(names.futures, step.name)),
  cancel: (_world, step, names) => {
    const future = named(names.futures, step.name)
    try {
      return {result: future.cancel(), isCancelled: future.isCancelled}
    } catch (error) {
      return {result: 'thrown', thrown: fromError(error), isCancelled: future.isCancelled}
    }
  },
  awaitFutures: async (world, step, names) => {
    const outcome: Outcome = {result: null}
    void keepOutcome(world.errant?.awaitFutures(partitionsOf(step)) ?? Promise.resolve(), outcome)
    await settle()
    if (outcome.result === null && step.as !== undefined) names.awaits.set(step.as, outcome)
    return {...(outcome.result ?? {result: 'blocked'}), filed: filedOf(world)}
  },
  joinAwait: (_world, step, names) => named(names.awaits, step.name).result ?? {result: 'blocked'},
  cancelFutures: (world, step) => {
    world.errant?.cancelFutures(partitionsOf(step))
    return {result: 'returned', filed: filedOf(world)}
  },
  afterPut: world => {
    try {
      world.errant?.checkAfterPut()
      return {result: 'returned'}
    } catch (error) {
      return {result: 'thrown', thrown: fromError(error)}
    }
  },
  close: world => settled(world.engine.close()),
  originalHeaders: (world, step) => {
    const {original} = world.context(step.record ?? 'r') as ProcessingContext<KafkaRecord>
    return {headers: fromHeaders(original?.headers ?? [])}
  },
  operatorText: world => ({result: world.engine.toString()}),
}

function stageOf(stage: string | undefined): Stage {
  const known = STAGES.find(name => name === stage)
  if (known === undefined) throw new BugError(`unknown stage ${stage}`)
  return known
}

function errorOf(exception: VectorException | null | undefined): Error | null {
  return exception === null || exception === undefined ? null : toError(exception)
}

function contextOf({stage, executingClass, attempt, failed, error}: Context): Fields {
  return {stage, class: executingClass, attempt, failed, error: error === null ? null : fromError(error)}
}

/** Plays a script, one entry an attempt. */
function scriptRunner(world: ConnectWorld, {script = [], repeatLast}: VectorStep) {
  let attempts = 0
  const call = (): string | null => {
    const entry = script[repeatLast === true ? Math.min(attempts, script.length - 1) : attempts]
    attempts++
    if (entry === undefined) throw new BugError(`the script has no entry for attempt ${attempts}`)
    return play(world, entry)
  }
  return {call, attempts: () => attempts}
}

function play(world: ConnectWorld, entry: ScriptEntry): string | null {
  world.now += toBigInt(entry.takesMs ?? 0)
  if ('throw' in entry) throw toError(entry.throw)
  return entry.return
}

function reporting(names: Names, step: VectorStep, report: () => ReportFuture): Fields {
  try {
    const future = report()
    if (step.as !== undefined) names.futures.set(step.as, future)
    return {result: 'returned', ...futureFields(future)}
  } catch (error) {
    return {result: 'thrown', thrown: fromError(error)}
  }
}

function futureFields(future: ReportFuture): Fields {
  return {future: future.state, ...(future.error === null ? {} : {error: fromError(future.error)})}
}

async function keepOutcome(promise: Promise<void>, outcome: Outcome): Promise<void> {
  outcome.result = await settled(promise)
}

async function settled(promise: Promise<void>): Promise<Fields> {
  try {
    await promise
    return {result: 'returned'}
  } catch (error) {
    return {result: 'thrown', thrown: fromError(error)}
  }
}

function named<T>(map: ReadonlyMap<string, T>, name: string | undefined): T {
  const found = map.get(name ?? '')
  if (found === undefined) throw new BugError(`nothing is called ${name}`)
  return found
}

function partitionsOf({partitions = []}: VectorStep): {topic: string; partition: number}[] {
  return partitions.map(([topic, partition]) => ({topic, partition}))
}

function filedOf(world: ConnectWorld): [string, number][] {
  return (world.errant?.pending() ?? []).map(({topic, partition, count}) => [`${topic}-${partition}`, count])
}

const STRING: ConnectSchema = {type: 'STRING', name: null}

function sinkRecordOf(world: ConnectWorld, sinkRecord: VectorSinkRecord | null): SinkRecord | null {
  if (sinkRecord === null) return null
  const {received, made, newRecord} = sinkRecord
  const record = made === undefined ? receivedRecord(world, received ?? 'r') : madeRecord(made)
  return newRecord === undefined ? record : record.newRecord(changesOf(newRecord))
}

/** As the runtime would have passed it to `put`, with bytes for key and value. */
function receivedRecord(world: ConnectWorld, name: string): SinkRecord {
  const context = world.context(name) as ProcessingContext<KafkaRecord>
  const {original} = context
  if (original === null) throw new BugError(`record ${name} has no original`)
  return new InternalSinkRecord(context, {...original, keySchema: null, valueSchema: null, headers: []})
}

function madeRecord(made: VectorRecord): SinkRecord {
  return new SinkRecord({
    topic: made.topic,
    partition: made.partition ?? 0,
    offset: toBigInt(made.offset ?? 0),
    keySchema: STRING,
    key: made.key,
    valueSchema: STRING,
    value: made.value,
    timestamp: made.timestamp === null ? null : toBigInt(made.timestamp),
    timestampType: made.timestampType ?? 'CreateTime',
    headers: made.headers.map(([key, value]) => ({key, schema: STRING, value})),
  })
}

function changesOf({topic, partition, key, value, timestamp}: Partial<VectorRecord>): RecordChanges {
  return {
    ...(topic === undefined ? {} : {topic}),
    ...(partition === undefined ? {} : {partition}),
    ...(key === undefined ? {} : {key}),
    ...(value === undefined ? {} : {value}),
    ...(timestamp === undefined ? {} : {timestamp: timestamp === null ? null : toBigInt(timestamp)}),
  }
}
