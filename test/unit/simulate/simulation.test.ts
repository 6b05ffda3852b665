import {describe, expect, test} from 'vitest'
import {parseErrorHandlingConfig} from '../../../src/lib/connect-engine/config.ts'
import type {Profile} from '../../../src/lib/connect-engine/options.ts'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import {assumedFailure} from '../../../src/lib/simulate/assumed-failure.ts'
import {converterFailure, isUndecided} from '../../../src/lib/simulate/converter-failure.ts'
import {Simulation} from '../../../src/lib/simulate/simulation.ts'
import {recordWith} from '../../support/records.ts'

const RETRIABLE = 'org.apache.kafka.connect.errors.RetriableException'
const DATA = 'org.apache.kafka.connect.errors.DataException'
const DLQ = {'errors.deadletterqueue.topic.name': 'orders-dlq'}
const NO_RULES = {stage: null, retriable: () => false}

function letter(offset: number, stage: string, className: string): DeadLetter {
  const headers = [
    ['__connect.errors.topic', 'orders'],
    ['__connect.errors.stage', stage],
    ['__connect.errors.exception.class.name', className],
    ['__connect.errors.exception.message', 'no'],
  ] as const
  return createDeadLetter(recordWith(headers, {offset: BigInt(offset)}))
}

function simulation(
  settings: Readonly<Record<string, string>>,
  {profile = 'P4x', recoversAfterMs = null}: {profile?: Profile; recoversAfterMs?: number | null} = {},
): Simulation {
  const config = parseErrorHandlingConfig({topics: 'orders', ...settings}, {kind: 'sink', profile})
  return new Simulation({config, connector: 'c', profile, recoversAfterMs})
}

async function run(simulated: Simulation, ...letters: readonly DeadLetter[]) {
  const outcomes = []
  for (const each of letters) outcomes.push(await simulated.take(each, assumedFailure(each, NO_RULES)))
  return outcomes
}

const bad = (offset: number, stage = 'VALUE_CONVERTER') => letter(offset, stage, DATA)
const slow = (offset: number) => letter(offset, 'TRANSFORMATION', RETRIABLE)

test('a timeout beyond 64 bits of time is no time at all, for the first record too', async () => {
  const simulated = simulation({'errors.retry.timeout': '9223372036854775807', 'errors.tolerance': 'all'})
  expect(await run(simulated, slow(1), slow(2))).toMatchObject([
    {fate: 'skipped', attempts: 1, blockedMs: 0},
    {fate: 'skipped', attempts: 1, blockedMs: 0},
  ])
})

test('the time of the last error is no 0, which would be never', async () => {
  const simulated = simulation({'errors.tolerance': 'all'})
  await run(simulated, bad(1))
  expect(simulated.totals().metrics['last-error-timestamp']).toBeGreaterThan(0)
})

describe('what cannot be retried', () => {
  test('with errors.tolerance=none the task dies at the first record; a dead letter is written all the same', async () => {
    const simulated = simulation(DLQ)
    expect(await run(simulated, bad(1), bad(2), letter(3, 'TASK_PUT', DATA))).toMatchObject([
      {fate: 'kills-task', attempts: 1, blockedMs: 0, deadLetter: true, why: 'Tolerance exceeded in error handler'},
      {fate: 'kills-task', deadLetter: true},
      {fate: 'kills-task', stage: 'TASK_PUT', attempts: null, deadLetter: true},
    ])
    expect(simulated.totals()).toMatchObject({
      records: 3,
      fates: {'kills-task': 3, 'dead-lettered': 0},
      stoppedAt: 'orders-dlq:0:1',
      notReached: 2,
      metrics: {'total-record-failures': 1, 'total-record-errors': 1, 'deadletterqueue-produce-requests': 1},
    })
  })

  test('with all it is written to the dead letter topic, or lost without one', async () => {
    const all = {'errors.tolerance': 'all'}
    expect(await run(simulation({...all, ...DLQ}), bad(1), bad(2))).toMatchObject([
      {fate: 'dead-lettered', why: 'written to orders-dlq'},
      {fate: 'dead-lettered'},
    ])
    expect(await run(simulation(all), bad(1))).toMatchObject([{fate: 'skipped', deadLetter: false, logged: false}])
    expect(await run(simulation({...all, 'errors.log.enable': 'true'}), bad(1))).toMatchObject([
      {fate: 'skipped', logged: true},
    ])
  })

  test('a task without dead letter topic and log has nobody to report to', async () => {
    const put = letter(1, 'TASK_PUT', DATA)
    expect(await run(simulation({'errors.tolerance': 'all'}), put)).toMatchObject([{fate: 'kills-task'}])
    expect(await run(simulation({'errors.tolerance': 'all', ...DLQ}), put)).toMatchObject([{fate: 'dead-lettered'}])
  })
})

describe('what can be retried', () => {
  const RETRY = {'errors.tolerance': 'all', 'errors.retry.timeout': '1000', ...DLQ}

  test('waits double from 300 ms, the last one ends at the deadline', async () => {
    const simulated = simulation(RETRY)
    expect(await run(simulated, slow(1), slow(2))).toMatchObject([
      {fate: 'dead-lettered', attempts: 4, blockedMs: 1000},
      {fate: 'dead-lettered', attempts: 4, blockedMs: 1000},
    ])
    expect(simulated.totals()).toMatchObject({blockedMs: 2000, metrics: {'total-retries': 6}})
  })

  test('an outage that ends is ridden out: its first record waits for it, the others do not', async () => {
    const simulated = simulation({...RETRY, 'errors.retry.timeout': '600000'}, {recoversAfterMs: 2000})
    expect(await run(simulated, slow(1), slow(2), bad(3))).toMatchObject([
      {fate: 'processed', attempts: 4, blockedMs: 2100},
      {fate: 'processed', attempts: 1, blockedMs: 0},
      {fate: 'dead-lettered', attempts: 1},
    ])
  })

  test('without a limit it is never given up, unless the outage ends', async () => {
    const forever = {'errors.retry.timeout': '-1'}
    const simulated = simulation(forever)
    expect(await run(simulated, slow(1), bad(2))).toMatchObject([
      {fate: 'blocks-forever', blockedMs: null, attempts: null},
      {fate: 'kills-task'},
    ])
    expect(simulated.totals()).toMatchObject({blockedMs: null, stoppedAt: 'orders-dlq:0:1', notReached: 1})
    expect(await run(simulation(forever, {recoversAfterMs: 500}), slow(1))).toMatchObject([{fate: 'processed'}])
  })

  test('given up under none: 4.x ends the task, 3.9 drops the record', async () => {
    expect(await run(simulation(DLQ), slow(1))).toMatchObject([{fate: 'kills-task', attempts: 1}])
    expect(await run(simulation(DLQ, {profile: 'P39'}), slow(1))).toMatchObject([{fate: 'dead-lettered'}])
  })

  test('a deadline years away and a delay of a millisecond are counted, not waited through', async () => {
    const patient = {...RETRY, 'errors.retry.timeout': '9007199254740991', 'errors.retry.delay.max.ms': '2'}
    expect(await run(simulation(patient), slow(1))).toMatchObject([{fate: 'dead-lettered', attempts: 10_000}])
  })
})

test('what is assumed: by the headers, by a stage that is given, by a class that is named', () => {
  const failing = bad(1)
  expect(assumedFailure(failing, NO_RULES)).toMatchObject({stage: 'VALUE_CONVERTER', error: {family: 'exception'}})
  const retriable = {stage: null, retriable: (name: string) => name === DATA}
  expect(assumedFailure(failing, retriable)).toMatchObject({error: {family: 'retriable'}})
  const spring = createDeadLetter(recordWith([['kafka_dlt-exception-fqcn', 'x.E']]))
  expect(assumedFailure(spring, NO_RULES)).toBeNull()
  expect(assumedFailure(spring, {...NO_RULES, stage: 'TASK_PUT'})).toMatchObject({
    stage: 'TASK_PUT',
    error: {className: 'x.E'},
  })
  expect(assumedFailure(createDeadLetter(recordWith([])), {...NO_RULES, stage: 'TASK_PUT'})).toBeNull()
})

test('what was decoded for real fails where the converter stands, the key first', () => {
  const part = {format: 'json', value: null} as const
  const error = {step: 'decode', message: 'no JSON at byte 3'} as const
  expect(converterFailure({key: part, value: part})).toBeNull()
  expect(converterFailure({key: part, value: {...part, error}})).toMatchObject({
    stage: 'VALUE_CONVERTER',
    error: {className: DATA, javaMessage: 'no JSON at byte 3'},
  })
  expect(converterFailure({key: {...part, error}, value: {...part, error}})).toMatchObject({stage: 'KEY_CONVERTER'})
})

test('a registry that does not answer says nothing about a record; one that does not know the schema does', () => {
  const part = {format: 'avro', value: null} as const
  const down = {...part, error: {step: 'registry', reason: 'unreachable', message: 'cannot be reached'} as const}
  const unknown = {...part, error: {step: 'registry', reason: 'not-found', message: 'no schema 5'} as const}
  expect(converterFailure({key: part, value: down})).toBeNull()
  expect(isUndecided({key: part, value: down})).toBe(true)
  expect(converterFailure({key: down, value: unknown})).toMatchObject({stage: 'VALUE_CONVERTER'})
  expect(isUndecided({key: part, value: unknown})).toBe(false)
})

test('a java.lang.Error of a converter ends the task whatever is tolerated, unreported; a sink task may report one', async () => {
  const simulated = simulation({...DLQ, 'errors.tolerance': 'all', 'errors.retry.timeout': '-1'})
  const outOfMemory = 'java.lang.OutOfMemoryError'
  expect(
    await run(simulated, letter(1, 'TRANSFORMATION', outOfMemory), letter(2, 'TASK_PUT', outOfMemory)),
  ).toMatchObject([
    {fate: 'kills-task', attempts: 1, blockedMs: 0, deadLetter: false, logged: false},
    {fate: 'dead-lettered', deadLetter: true},
  ])
  expect(simulated.totals()).toMatchObject({stoppedAt: 'orders-dlq:0:1', metrics: {'total-record-failures': 0}})
})
