import {describe, expect, test} from 'vitest'
import {InternalSinkRecord, SinkRecord} from '../../../src/lib/connect-engine/data.ts'
import {WorkerErrantRecordReporter} from '../../../src/lib/connect-engine/errant-record-reporter.ts'
import {DataException} from '../../../src/lib/connect-engine/errors.ts'
import {ProcessingContext} from '../../../src/lib/connect-engine/processing-context.ts'
import {SettableFuture} from '../../../src/lib/connect-engine/report-future.ts'
import {consumed, counters, makeEngine, RecordingReporter} from '../../support/connect-engine.ts'
import type {EngineSetup} from '../../support/connect-engine.ts'

const bad = new DataException('bad')

function setUp(setup: EngineSetup = {}) {
  const made = makeEngine(setup)
  const log: string[] = []
  const errant = new WorkerErrantRecordReporter({
    operator: made.engine,
    keyConverter: {fromConnectData: (topic, _schema, value) => Buffer.from(`key ${topic} ${String(value)}`)},
    valueConverter: {fromConnectData: (topic, _schema, value) => Buffer.from(`value ${topic} ${String(value)}`)},
    headerConverter: {fromConnectHeader: (_topic, key, _schema, value) => Buffer.from(`${key} ${String(value)}`)},
    log: ({message}) => {
      log.push(message)
    },
  })
  return {...made, errant, log}
}

function received(): InternalSinkRecord {
  const original = consumed()
  const fields = {...original, keySchema: null, valueSchema: null, headers: []}
  return new InternalSinkRecord(new ProcessingContext(original), fields)
}

function made(): SinkRecord {
  return new SinkRecord({
    topic: 'mod',
    partition: 4,
    offset: 77n,
    keySchema: null,
    key: 'mk',
    valueSchema: null,
    value: 'mv',
    timestamp: 55n,
    timestampType: 'LogAppendTime',
    headers: [
      {key: 'h', schema: null, value: 1},
      {key: 'h', schema: null, value: 2},
    ],
  })
}

test('a record from put is reported as it was consumed, whatever became of it', () => {
  const {errant, reporter} = setUp({tolerance: 'all'})
  const record = received()
  errant.report(record.newRecord({topic: 'zz', value: null, partition: 9}).newRecord({key: 'other'}), bad)
  expect(reporter.contexts).toEqual([record.context])
  expect(record.context).toMatchObject({
    original: consumed(),
    stage: 'TASK_PUT',
    executingClass: 'org.apache.kafka.connect.sink.SinkTask',
    error: bad,
  })
})

test('a record that the task made is reported as its converters write it', () => {
  const {errant, reporter} = setUp({tolerance: 'all'})
  errant.report(made().newRecord({topic: 'again'}), bad)
  expect(reporter.contexts[0]?.original).toEqual({
    topic: 'again',
    partition: 4,
    offset: 77n,
    timestamp: 55n,
    timestampType: 'LogAppendTime',
    key: Buffer.from('key again mk'),
    value: Buffer.from('value again mv'),
    headers: [
      {name: Buffer.from('h'), value: Buffer.from('h 1')},
      {name: Buffer.from('h'), value: Buffer.from('h 2')},
    ],
  })
})

test('newRecord leaves the record it was called on alone', () => {
  const record = made()
  const changed = record.newRecord({value: 'new', headers: []})
  expect(record).toEqual(made())
  expect([changed.value, changed.headers, changed.key]).toEqual(['new', [], 'mk'])
})

describe('a task that catches the exception of report', () => {
  test('lives on, as in Connect since 3.8', () => {
    for (const profile of ['P39', 'P4x'] as const) {
      const {errant} = setUp({profile})
      expect(() => errant.report(received(), bad)).toThrow('Tolerance exceeded')
      expect(() => {
        errant.checkAfterPut()
      }).not.toThrow()
    }
  })

  test('dies after put with killAfterPut, of the first error that it reported', () => {
    const {errant, metrics} = setUp({switches: {killAfterPut: true}})
    errant.checkAfterPut()
    for (const error of [bad, new DataException('second')]) {
      expect(() => errant.report(received(), error)).toThrow('Tolerance exceeded')
    }
    expect(() => {
      errant.checkAfterPut()
    }).toThrow(expect.objectContaining({message: 'Tolerance exceeded in error handler', cause: bad}))
    expect(counters(metrics)).toEqual([2, 2, 0, 0])
  })

  test('lives with killAfterPut too when all is tolerated', () => {
    const {errant} = setUp({tolerance: 'all', switches: {killAfterPut: true}})
    errant.report(received(), null)
    expect(() => {
      errant.checkAfterPut()
    }).not.toThrow()
  })
})

describe('before offsets move', () => {
  test('reports of these partitions are awaited, whatever their offsets, and no others', async () => {
    const acks: SettableFuture[] = []
    const reporters = [
      new RecordingReporter(() => {
        const ack = new SettableFuture()
        acks.push(ack)
        return ack
      }),
    ]
    const {errant} = setUp({tolerance: 'all', reporters})
    for (const record of [received(), made(), received()]) errant.report(record, bad)
    let done = false
    const waiting = errant.awaitFutures([{topic: 'orders', partition: 3}]).then(() => (done = true))
    acks[0]?.complete()
    await new Promise(resolve => {
      setImmediate(resolve)
    })
    expect(done).toBe(false)
    acks[2]?.complete()
    await waiting
    expect(errant.pending()).toEqual([{topic: 'mod', partition: 4, count: 1}])
  })

  test('one that failed ends the task, and is logged', async () => {
    const ack = new SettableFuture()
    const {errant, log} = setUp({tolerance: 'all', reporters: [new RecordingReporter(() => ack)]})
    errant.report(received(), bad)
    ack.fail(new DataException('refused'))
    await expect(errant.awaitFutures([{topic: 'orders', partition: 3}])).rejects.toThrow('refused')
    expect(log).toEqual(["Encountered an error while awaiting an errant record future's completion."])
  })
})
