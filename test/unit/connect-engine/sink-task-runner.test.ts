import {expect, test} from 'vitest'
import type {Converter} from '../../../src/lib/connect-engine/data.ts'
import {DataException, messageOf, RetriableException} from '../../../src/lib/connect-engine/errors.ts'
import type {TransformationStage} from '../../../src/lib/connect-engine/transforms/transformation.ts'
import {
  consumed,
  converter,
  transform,
  type Bench,
  ALL,
  QUEUE,
  bench,
  counters,
  texts,
} from '../../support/sink-runner.ts'

test('one poll: convert, put, and at the end preCommit, close, commit, stop', async () => {
  const run = bench({})
  run.consumer.script([consumed(0, 'a'), consumed(1, 'b')])
  expect(await run.runner.run()).toEqual({state: 'UNASSIGNED', error: null, trace: null})
  expect(run.task.calls).toEqual([
    'start', 'open 0', 'put', 'put a b', 'put', 'preCommit 0@2', 'close 0', 'stop',
  ]) // prettier-ignore
  expect(run.consumer.calls).toEqual(['commit t-0@2', 'close'])
  expect(run.conversions).toEqual(['key', 'value', 'key', 'value'])
})

test('G01: failures that are overcome and one that is not are counted as Connect counts them', async () => {
  let calls = 0
  const twoOfThree = transform(() => (++calls % 3 === 0 ? 'keep' : new RetriableException('not now')))
  const run = bench(
    {...ALL, 'errors.retry.timeout': '60000', 'errors.retry.delay.max.ms': '5000'},
    {transformations: [twoOfThree]},
  )
  run.consumer.script([consumed(0, 'good')], [consumed(1, 'bad')])
  await run.runner.run()
  expect(counters(run)).toEqual([3, 1, 1, 2])
  expect(run.clock.sleeps).toEqual([300, 600])
  expect(run.task.calls).toContain('put good')
})

test('G03, G05: a bad key skips the other stages; put is called with nothing and offsets advance', async () => {
  const run = bench(ALL)
  run.consumer.script([consumed(0, 'a', {key: Buffer.from('bad'), headers: [{name: Buffer.from('h'), value: null}]})])
  await run.runner.run()
  expect(run.conversions).toEqual(['key'])
  expect(run.task.calls.filter(call => call.startsWith('put'))).toEqual(['put', 'put', 'put'])
  expect(run.consumer.commits).toEqual(['commit t-0@1'])
})

test('G06, G20: without tolerance the record is parked, the task fails, put is not called, offsets stay', async () => {
  const run = bench({...QUEUE, 'errors.tolerance': 'none'})
  run.consumer.script([consumed(0, 'a')], [consumed(1, 'b'), consumed(2, 'bad')])
  const {state, error, trace} = await run.runner.run()
  expect(state).toBe('FAILED')
  expect(error).toMatchObject({message: 'Tolerance exceeded in error handler', cause: {message: 'bad text'}})
  expect(trace).toContain('Caused by: org.apache.kafka.connect.errors.DataException: bad text')
  expect(run.sent).toHaveLength(1)
  expect(run.task.calls).not.toContain('put b')
  expect(run.consumer.commits).toEqual(['commit t-0@1'])
  expect(run.task.calls.slice(-3)).toEqual(['preCommit 0@1', 'close 0', 'stop'])
})

test('G07: tolerance does not protect put', async () => {
  const run = bench(QUEUE)
  run.task.onPut = records => {
    if (records.length > 0) throw new DataException('table is gone')
  }
  run.consumer.script([consumed(0, 'a')])
  const {state, error} = await run.runner.run()
  expect(state).toBe('FAILED')
  expect(error).toMatchObject({
    className: 'org.apache.kafka.connect.errors.ConnectException',
    message: 'Exiting WorkerSinkTask due to unrecoverable exception.',
    cause: {message: 'table is gone'},
  })
  expect(counters(run)).toEqual([0, 0, 0, 0])
  expect(run.sent).toEqual([])
})

test('G08, F21: a retriable put gets the same batch again, with partitions paused and without counting', async () => {
  const run = bench(QUEUE)
  let failures = 2
  run.task.onPut = records => {
    for (const record of records.filter(({value}) => value === 'odd')) {
      run.task.context?.errantRecordReporter()?.report(record, new DataException('odd'))
    }
    if (records.length > 0 && failures-- > 0) {
      run.task.context?.timeout(70)
      throw new RetriableException('busy')
    }
  }
  run.consumer.script([consumed(0, 'a'), consumed(1, 'odd'), consumed(2, 'bad')], [], [])
  await run.runner.run()
  expect(run.task.calls.filter(call => call === 'put a odd')).toHaveLength(3)
  expect(run.consumer.calls).toEqual(['pause t-0', 'resume t-0', 'commit t-0@3', 'close'])
  expect(run.consumer.timeouts.slice(2, 4)).toEqual([70, 70])
  // One for the converter, one for each report: the redelivery itself counts nothing.
  expect(counters(run)).toEqual([4, 1, 1, 0])
  expect(run.sent.map(({record}) => record.value?.toString())).toEqual(['bad', 'odd', 'odd', 'odd'])
})

test('G09, G10: a timestamp below -1 ends the task whatever is tolerated, -1 is none', async () => {
  const run = bench(QUEUE)
  const timestamps: unknown[] = []
  run.task.onPut = records => {
    timestamps.push(...records.map(({timestamp}) => timestamp))
  }
  run.consumer.script([consumed(0, 'a', {timestamp: -1n})], [consumed(1, 'b', {timestamp: -3n})])
  const {state, error} = await run.runner.run()
  expect(timestamps).toEqual([null])
  expect(state).toBe('FAILED')
  expect(error).toMatchObject({
    className: 'org.apache.kafka.common.InvalidRecordException',
    message: 'Invalid record timestamp -3',
  })
  expect([run.sent.length, ...counters(run)]).toEqual([0, 0, 0, 0, 0])
})

test('G11, G13: a transform that drops or fails ends the chain', async () => {
  const seen: unknown[] = []
  const first = transform(({value}) => (value === 'x' ? 'drop' : value === 'y' ? new DataException('no y') : 'keep'))
  const second = transform(({value}) => {
    seen.push(value)
    return 'keep'
  })
  const run = bench(QUEUE, {transformations: [first, second]})
  run.consumer.script([consumed(0, 'x'), consumed(1, 'y'), consumed(2, 'z')])
  await run.runner.run()
  expect(seen).toEqual(['z'])
  expect(counters(run)).toEqual([1, 1, 1, 0])
  expect(texts(run.sent[0]?.record)).toMatchObject({
    stage: 'TRANSFORMATION',
    'class.name': 'example.Smt$Value',
    offset: '1',
    'exception.message': 'no y',
  })
  expect(run.consumer.commits).toEqual(['commit t-0@3'])
})

test('a predicate decides whether its transform runs, and is part of the operation', async () => {
  const failing = transform(() => new DataException('applied'))
  const when = (negate: boolean): TransformationStage => ({
    ...failing,
    negate,
    predicate: {test: record => record.value === 'x'},
  })
  const run = bench(ALL, {transformations: [when(false)]})
  run.consumer.script([consumed(0, 'x'), consumed(1, 'y')])
  await run.runner.run()
  expect(run.task.calls).toContain('put y')
  const negated = bench(ALL, {transformations: [when(true)]})
  negated.consumer.script([consumed(0, 'x'), consumed(1, 'y')])
  await negated.runner.run()
  expect(negated.task.calls).toContain('put x')
})

test('G15: nobody waits for the dead letters of converters, unless the switch says so', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  run.consumer.script([consumed(0, 'bad')])
  await run.runner.run()
  expect(run.consumer.commits).toEqual(['commit t-0@1'])

  const waiting = bench(QUEUE, {acknowledge: false, switches: {awaitConverterDlq: true}})
  waiting.consumer.script([consumed(0, 'bad')])
  const order: string[] = []
  waiting.task.preCommitAnswer = offsets => {
    order.push('preCommit')
    return offsets
  }
  waiting.consumer.onEnd = () => {
    waiting.runner.stop()
    setImmediate(() => {
      order.push('acknowledged')
      waiting.sent[0]?.future.complete()
    })
  }
  await waiting.runner.run()
  expect(order).toEqual(['acknowledged', 'preCommit'])
})

test('G16: preCommit comes after everything that was reported is written', async () => {
  const run = bench(QUEUE, {acknowledge: false, offsetFlushIntervalMs: 1000})
  run.task.onPut = records => {
    for (const record of records) run.task.context?.errantRecordReporter()?.report(record, new Error('no'))
  }
  run.consumer.script([consumed(0, 'a')], () => {
    run.task.context?.requestCommit()
    setImmediate(() => {
      run.task.calls.push('acknowledged')
      run.sent[0]?.future.complete()
    })
    return []
  })
  await run.runner.run()
  const calls = run.task.calls.filter(call => !call.startsWith('put'))
  expect(calls).toEqual(['start', 'open 0', 'acknowledged', 'preCommit 0@1', 'preCommit 0@1', 'close 0', 'stop'])
  expect(run.consumer.commits).toEqual(['commit t-0@1'])
})

test('G17: a report that fails later ends the task before preCommit, and nothing is committed on the way out', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  run.task.onPut = records => {
    for (const record of records) run.task.context?.errantRecordReporter()?.report(record, null)
  }
  run.consumer.script([consumed(0, 'a')], () => {
    run.sent[0]?.future.fail(new Error('broker is gone'))
    run.task.context?.requestCommit()
    return []
  })
  const {state, error} = await run.runner.run()
  expect(state).toBe('FAILED')
  expect(error?.cause).toMatchObject({
    className: 'java.util.concurrent.ExecutionException',
    cause: {message: 'broker is gone'},
  })
  // Connect forgets the failed report and commits on its way out; here its record is read again.
  expect(run.task.calls.filter(call => !call.startsWith('put'))).toEqual(['start', 'open 0', 'close 0', 'stop'])
  expect(run.consumer.commits).toEqual([])
  expect(run.runner.metrics.snapshot()).toMatchObject({'deadletterqueue-produce-failures': 1})
})

test('G18: a converter that answers nothing is a NullPointerException outside the engine', async () => {
  const broken = converter([], 'broken')
  const run = bench(QUEUE, {
    valueConverter: {...broken, toConnectData: () => JSON.parse('null') as ReturnType<Converter['toConnectData']>},
  })
  run.consumer.script([consumed(0, 'a')])
  const {state, error} = await run.runner.run()
  expect(state).toBe('FAILED')
  expect(error).toMatchObject({className: 'java.lang.NullPointerException'})
  expect(run.sent).toEqual([])
})

test('G19: headers are one operation: one bad one parks the record once', async () => {
  const run = bench(QUEUE)
  const headers = ['a', 'bad', 'c'].map(value => ({name: Buffer.from('h'), value: Buffer.from(value)}))
  run.consumer.script([consumed(0, 'v', {headers})])
  await run.runner.run()
  expect(run.sent).toHaveLength(1)
  expect(texts(run.sent[0]?.record)).toMatchObject({stage: 'HEADER_CONVERTER', 'class.name': 'example.Headers'})
})

test('F03: a task that swallows the exception of report lives, unless killAfterPut is on', async () => {
  const swallow = (run: Bench): void => {
    run.task.onPut = records => {
      for (const record of records) {
        try {
          run.task.context?.errantRecordReporter()?.report(record, new DataException('odd'))
        } catch (error) {
          run.task.calls.push(messageOf(error) ?? '')
        }
      }
    }
    run.consumer.script([consumed(0, 'a')])
  }
  const alive = bench({...QUEUE, 'errors.tolerance': 'none'})
  swallow(alive)
  expect(await alive.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(alive.task.calls).toContain('Tolerance exceeded in error handler')
  expect(alive.consumer.commits).toEqual(['commit t-0@1'])

  const killed = bench({...QUEUE, 'errors.tolerance': 'none'}, {switches: {killAfterPut: true}})
  swallow(killed)
  expect(await killed.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {cause: {message: 'Tolerance exceeded in error handler'}},
  })
  expect(killed.consumer.commits).toEqual([])
})

test('F09, F10: a record that put got is parked as it was consumed, whatever was made of it', async () => {
  const run = bench(QUEUE)
  run.task.onPut = records => {
    for (const record of records) {
      const changed = record.newRecord({topic: 'elsewhere', value: null, headers: []})
      run.task.context?.errantRecordReporter()?.report(changed, new DataException('odd'))
    }
  }
  run.consumer.script([consumed(7, 'a', {headers: [{name: Buffer.from('h'), value: null}]})])
  await run.runner.run()
  const [letter] = run.sent
  expect(letter?.record.value?.toString()).toBe('a')
  expect(letter?.record.headers[0]).toEqual({name: Buffer.from('h'), value: null})
  expect(texts(letter?.record)).toMatchObject({topic: 't', offset: '7', stage: 'TASK_PUT'})
})

test('without queue and log there is no errant record reporter; a log is enough', async () => {
  const without = bench(ALL)
  await without.runner.run()
  expect(without.task.context?.errantRecordReporter()).toBeNull()
  const logging = bench({...ALL, 'errors.log.enable': 'true', 'errors.log.include.messages': 'true'})
  logging.task.onPut = records => {
    for (const record of records) logging.task.context?.errantRecordReporter()?.report(record, new DataException('odd'))
  }
  logging.consumer.script([consumed(5, 'a')])
  await logging.runner.run()
  expect(logging.log.filter(({logger}) => logger === 'LogReporter').map(({message}) => message)).toEqual([
    "Error encountered in task job-0. Executing stage 'TASK_PUT' with class 'org.apache.kafka.connect.sink.SinkTask', " +
      "where consumed record is {topic='t', partition=0, offset=5, timestamp=1, timestampType=CreateTime}.",
  ])
})
