import {expect, test} from 'vitest'
import type {ConnectorProperties} from '../../../src/lib/connect-engine/config.ts'
import type {SourceRecord} from '../../../src/lib/connect-engine/data.ts'
import {ConnectException, DataException, RetriableException} from '../../../src/lib/connect-engine/errors.ts'
import type {LogEvent} from '../../../src/lib/connect-engine/reporter.ts'
import type {
  OutgoingSourceRecord,
  RecordMetadata,
  SourceOffset,
  SourceTask,
} from '../../../src/lib/connect-engine/source-task.ts'
import {SourceTaskRunner, type SourceTaskRunnerOptions} from '../../../src/lib/connect-engine/source-task-runner.ts'
import type {TransformationStage} from '../../../src/lib/connect-engine/transforms/transformation.ts'
import {KafkaError} from '../../../src/lib/errors.ts'
import {FakeClock} from '../../support/fake-clock.ts'

function polled(id: number, value: string, fields: Partial<SourceRecord> = {}): SourceRecord {
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

type Send = (record: OutgoingSourceRecord, nth: number) => Promise<RecordMetadata>

interface Bench {
  readonly runner: SourceTaskRunner
  readonly source: ScriptedSource
  readonly clock: FakeClock
  readonly stages: string[]
  readonly sent: OutgoingSourceRecord[]
  readonly offsets: (readonly SourceOffset[])[]
  readonly log: LogEvent[]
}

const ALL = {'errors.tolerance': 'all'}

function bench(
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

function smt(stages: string[], act: (value: unknown) => 'keep' | 'drop' | Error): TransformationStage {
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

function counters({runner}: Bench): number[] {
  const metrics = runner.metrics.snapshot()
  return [metrics['total-record-failures'], metrics['total-record-errors'], metrics['total-records-skipped']]
}

const lines = (run: Bench): unknown[] =>
  run.offsets.map(written => written.map(({sourceOffset}) => sourceOffset['line']))

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

test('H12: a record that is skipped does not move the offset by itself, a later one does', async () => {
  const run = bench(ALL, {offsetFlushIntervalMs: 10})
  run.source.steps.push([polled(1, 'a'), polled(2, 'bad')], () => {
    void run.clock.advance(10)
    return null
  }, [polled(3, 'c')]) // prettier-ignore
  await run.runner.run()
  expect(run.source.calls.filter(call => call.startsWith('commitRecord'))).toEqual([
    'commitRecord 1 0',
    'commitRecord 2 null',
    'commitRecord 3 1',
  ])
  expect(lines(run)).toEqual([[1], [3]])
})

test('offsets stop before the first record that is still on its way', async () => {
  const waiting: ((metadata: RecordMetadata) => void)[] = []
  const run = bench({}, {
    offsetFlushIntervalMs: 10,
    send: () => new Promise(resolve => waiting.push(resolve)),
  }) // prettier-ignore
  const written = {topic: 't', partition: 0, offset: 0n}
  run.source.steps.push(
    [polled(1, 'a'), polled(2, 'b'), polled(1, 'x', {sourcePartition: {file: 'other'}})],
    () => {
      waiting[1]?.(written)
      waiting[2]?.(written)
      return null
    },
    () => {
      void run.clock.advance(10)
      return null
    },
    () => {
      waiting[0]?.(written)
      return null
    },
  )
  await run.runner.run()
  expect(run.offsets.map(each => each.map(({sourcePartition, sourceOffset}) => [sourcePartition['file'], sourceOffset['line']]))).toEqual([
    [['other', 1]],
    [['f', 2]],
  ]) // prettier-ignore
})

test('offsets that could not be written are written with the next ones', async () => {
  let fails = true
  const written: unknown[] = []
  const run = bench({}, {
    offsetFlushIntervalMs: 10,
    writeOffsets: offsets => {
      if (fails) return Promise.reject(new KafkaError('no coordinator'))
      written.push(offsets)
      return Promise.resolve()
    },
  }) // prettier-ignore
  run.source.steps.push([polled(1, 'a')], () => {
    void run.clock.advance(10)
    return null
  }, () => {
    fails = false
    return null
  }) // prettier-ignore
  await run.runner.run()
  expect(written).toEqual([[{sourcePartition: {file: 'f'}, sourceOffset: {line: 1}}]])
})

test('H14: an exception of commitRecord or commit is logged only', async () => {
  const run = bench({})
  Object.assign(run.source, {
    commit: () => {
      throw new Error('no commit')
    },
    commitRecord: () => {
      throw new Error('no commitRecord')
    },
  })
  run.source.steps.push([polled(1, 'a')])
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.log.map(({error}) => error?.message)).toEqual(['no commitRecord', 'no commit'])
})

test('a timestamp below -1 ends the task outside the engine', async () => {
  const run = bench(ALL)
  run.source.steps.push([polled(1, 'a', {timestamp: -2n})])
  expect(await run.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {className: 'org.apache.kafka.common.InvalidRecordException'},
  })
  expect(counters(run)).toEqual([0, 0, 0])
})

test('without tolerance a converter that fails ends the task; what was sent before is committed', async () => {
  const run = bench({})
  run.source.steps.push([polled(1, 'a'), polled(2, 'bad'), polled(3, 'c')])
  expect(await run.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {message: 'Tolerance exceeded in error handler', cause: {message: 'bad value'}},
  })
  expect(lines(run)).toEqual([[1]])
})

function transactional(send?: Send): Bench & {readonly transactions: string[]} {
  const transactions: string[] = []
  const run = bench(ALL, {
    ...(send === undefined ? {} : {send}),
    transactions: {
      begin: async () => {
        transactions.push('begin')
      },
      commit: async offsets => {
        transactions.push(`commit ${offsets.map(({sourceOffset}) => String(sourceOffset['line'])).join(' ')}`)
      },
    },
  })
  return {...run, transactions}
}

test('exactly once: a transaction a poll, its offsets with it, and records are committed after it', async () => {
  const run = transactional()
  run.source.steps.push([polled(1, 'a'), polled(2, 'bad'), polled(3, 'c')], [polled(4, 'bad')], [polled(5, 'e')])
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.transactions).toEqual(['begin', 'commit 3', 'begin', 'commit 5'])
  expect(run.source.calls.filter(call => call.startsWith('commitRecord'))).toEqual([
    'commitRecord 1 0',
    'commitRecord 2 null',
    'commitRecord 3 1',
    'commitRecord 4 null',
    'commitRecord 5 2',
  ])
  expect(run.offsets).toEqual([])
})

test('H09: exactly once: a failed send ends the task at the commit, whatever is tolerated', async () => {
  const run = transactional(() => Promise.reject(new KafkaError('too large')))
  run.source.steps.push([polled(1, 'a')])
  expect(await run.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {message: 'Failed to flush offsets and/or records for task job-3', cause: {message: 'too large'}},
  })
  expect(run.transactions).toEqual(['begin'])
  expect(counters(run)).toEqual([0, 0, 0])
})

test('a paused source is not polled', async () => {
  const run = bench({})
  run.source.steps.push(() => {
    run.runner.pause()
    setImmediate(() => {
      run.source.calls.push(`paused: ${run.runner.status.state}`)
      run.runner.resume()
    })
    return [polled(1, 'a')]
  }, () => {
    run.source.calls.push('polled again')
    return null
  }) // prettier-ignore
  await run.runner.run()
  expect(run.source.calls.slice(0, 4)).toEqual(['start', 'commitRecord 1 0', 'paused: PAUSED', 'polled again'])
})

test('cancel commits no offsets', async () => {
  const run = bench({})
  run.source.steps.push([polled(1, 'a')], () => {
    run.runner.cancel()
    return null
  })
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.offsets).toEqual([])
})
