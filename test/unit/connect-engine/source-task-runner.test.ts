import {expect, test} from 'vitest'
import {ConnectException, DataException, RetriableException} from '../../../src/lib/connect-engine/errors.ts'
import {KafkaError} from '../../../src/lib/errors.ts'
import type {TransformationStage} from '../../../src/lib/connect-engine/transforms/transformation.ts'
import {polled, type Bench, ALL, bench, smt, counters, lines} from '../../support/source-runner.ts'

test('H13: transforms first, then headers, key and value, which see the headers', async () => {
  const stages: string[] = []
  const run = bench({}, {transformations: [smt(stages, () => 'keep')]})
  run.source.steps.push(() => {
    run.stages.push('polled')
    stages.push('polled')
    return [polled(1, 'v', {headers: [{key: 'h', schema: null, value: 'x'}]})]
  })
  expect(await run.runner.run()).toEqual({state: 'UNASSIGNED', error: null, trace: null})
  expect(stages).toEqual(['polled', 'smt'])
  expect(run.stages).toEqual(['polled', 'header', 'key with 1 headers', 'value with 1 headers'])
  expect(run.sent).toMatchObject([{topic: 't', partition: null, timestamp: null, value: Buffer.from('v')}])
  expect(run.source.calls).toEqual(['start', 'commitRecord 1 0', 'stop', 'producer closed'])
  expect(lines(run)).toEqual([[1]])
})

test('H01, H02: failures that are overcome lose nothing', async () => {
  let calls = 0
  const flaky = (): 'keep' | Error => (++calls % 3 === 0 ? 'keep' : new RetriableException('not now'))
  const retries = {...ALL, 'errors.retry.timeout': '60000', 'errors.retry.delay.max.ms': '5000'}
  const run = bench(retries, {transformations: [smt([], flaky)]})
  run.source.steps.push([polled(1, 'a')], [polled(2, 'b')])
  await run.runner.run()
  expect(counters(run)).toEqual([4, 0, 0])
  expect(run.sent).toHaveLength(2)

  let conversions = 0
  const both = bench(retries, {
    transformations: [smt([], flaky)],
    valueConverter: {
      className: 'example.Flaky',
      toConnectData: () => ({schema: null, value: null}),
      fromConnectData: () => {
        if (++conversions % 3 !== 0) throw new RetriableException('not now')
        return null
      },
    },
  })
  both.source.steps.push([polled(1, 'a')], [polled(2, 'b')])
  await both.runner.run()
  expect(counters(both)).toEqual([8, 0, 0])
  expect(both.sent).toHaveLength(2)
})

test('H03, H15: with tolerance a record that the producer gave up is logged and acknowledged', async () => {
  const run = bench(
    {...ALL, 'errors.log.enable': 'true', 'errors.log.include.messages': 'true'},
    {
      send: async (record, nth) => {
        if (nth === 1) throw new KafkaError('record is too large')
        return {topic: record.topic, partition: 0, offset: BigInt(nth)}
      },
    },
  )
  run.source.steps.push([polled(1, 'a'), polled(2, 'b')])
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.source.calls).toContain('commitRecord 2 null')
  expect(lines(run)).toEqual([[2]])
  expect(counters(run)).toEqual([1, 0, 0])
  const [message] = run.log.filter(({logger}) => logger === 'LogReporter').map(event => event.message)
  expect(message).toMatch(
    /^Error encountered in task job-3\. Executing stage 'KAFKA_PRODUCE' with class 'org\.apache\.kafka\.connect\.runtime\.WorkerSourceTask', where source record is = SourceRecord\{sourcePartition=\{file=f\}, sourceOffset=\{line=2\}\}/,
  )
})

test('H04: without tolerance the first such failure ends the task at the next poll, the engine is not asked', async () => {
  const run = bench({}, {send: () => Promise.reject(new KafkaError('not authorised'))})
  run.source.steps.push([polled(1, 'a')], () => [polled(2, 'b')])
  const {state, error} = await run.runner.run()
  expect(state).toBe('FAILED')
  expect(error).toMatchObject({
    message: 'Unrecoverable exception from producer send callback',
    cause: {message: 'not authorised'},
  })
  expect(counters(run)).toEqual([0, 0, 0])
  expect(lines(run)).toEqual([])
})

test('the log names the topic that was written to, which a transform may have changed', async () => {
  const rerouted: TransformationStage = {
    predicate: null,
    negate: false,
    transformation: {className: 'example.Router', apply: record => record.newRecord({topic: 'elsewhere'})},
  }
  const run = bench(ALL, {
    transformations: [rerouted],
    send: () => Promise.reject(new KafkaError('record is too large')),
  })
  run.source.steps.push([polled(1, 'a')])
  await run.runner.run()
  expect(run.log.map(({message}) => message).join('\n')).toContain('failed to send record to elsewhere: ')
})

test('H05: what the producer refuses at once ends the task, whatever is tolerated', async () => {
  const failing = (error: Error): Bench =>
    bench(ALL, {
      send: () => {
        throw error
      },
    })
  const kafka = failing(new KafkaError('closed'))
  kafka.source.steps.push([polled(1, 'a')])
  expect((await kafka.runner.run()).error).toMatchObject({
    message: 'Unrecoverable exception trying to send',
    cause: {message: 'closed'},
  })
  const connect = failing(new ConnectException('Task failed to create new topic'))
  connect.source.steps.push([polled(1, 'a')])
  expect((await connect.runner.run()).error).toMatchObject({message: 'Task failed to create new topic'})
})

test('H07: a batch goes on where the producer could not take it, after 100 ms, without the records before it', async () => {
  const seen: unknown[] = []
  let refusals = 1
  const run = bench(ALL, {
    transformations: [
      smt([], value => {
        seen.push(value)
        return value === 'drop' ? 'drop' : 'keep'
      }),
    ],
    producer: {
      send: record => {
        if (refusals-- > 0) throw new KafkaError('no leader', {retriable: true})
        run.sent.push(record)
        return Promise.resolve({topic: record.topic, partition: 0, offset: 0n})
      },
      close: () => {},
    },
  })
  run.source.steps.push([polled(1, 'drop'), polled(2, 'drop'), polled(3, 'c'), polled(4, 'd')])
  await run.runner.run()
  expect(seen).toEqual(['drop', 'drop', 'c', 'c', 'd'])
  expect(run.clock.sleeps).toContain(100)
  expect(run.sent).toHaveLength(2)
  expect(lines(run)).toEqual([[4]])
})

test('H10: a poll that may be tried again counts as empty, anything else ends the task', async () => {
  const run = bench(ALL)
  run.source.steps.push(
    () => {
      throw new RetriableException('connect')
    },
    () => {
      throw new KafkaError('kafka', {retriable: true})
    },
    [polled(1, 'a')],
  )
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.sent).toHaveLength(1)
  expect(counters(run)).toEqual([0, 0, 0])

  const fatal = bench(ALL)
  fatal.source.steps.push(() => {
    throw new DataException('disk is gone')
  })
  expect(await fatal.runner.run()).toMatchObject({state: 'FAILED', error: {message: 'disk is gone'}})
})
