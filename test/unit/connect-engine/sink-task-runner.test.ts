import {expect, test} from 'vitest'
import type {ConnectorProperties} from '../../../src/lib/connect-engine/config.ts'
import type {Converter, HeaderConverter, SinkRecord} from '../../../src/lib/connect-engine/data.ts'
import {
  type DeadLetterRecord,
  DeadLetterQueueReporter,
} from '../../../src/lib/connect-engine/dead-letter-queue-reporter.ts'
import {ConnectException, DataException, messageOf, RetriableException} from '../../../src/lib/connect-engine/errors.ts'
import type {PartitionOffset} from '../../../src/lib/connect-engine/partition-offsets.ts'
import {SettableFuture} from '../../../src/lib/connect-engine/report-future.ts'
import type {LogEvent} from '../../../src/lib/connect-engine/reporter.ts'
import type {SinkTask, SinkTaskContext} from '../../../src/lib/connect-engine/sink-task.ts'
import {SinkTaskRunner, type SinkTaskRunnerOptions} from '../../../src/lib/connect-engine/sink-task-runner.ts'
import type {TransformationStage} from '../../../src/lib/connect-engine/transforms/transformation.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {FakeSinkConsumer} from '../../support/fake-sink-consumer.ts'

const P0 = {topic: 't', partition: 0}
const P1 = {topic: 't', partition: 1}

function consumed(offset: number, value: string, fields: Partial<KafkaRecord> = {}): KafkaRecord {
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
function converter(calls: string[], name: string): Converter {
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

function transform(apply: (record: {readonly value: unknown}) => 'keep' | 'drop' | Error): TransformationStage {
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

interface Bench {
  readonly runner: SinkTaskRunner
  readonly task: RecordingTask
  readonly consumer: FakeSinkConsumer
  readonly clock: FakeClock
  readonly conversions: string[]
  readonly sent: {readonly record: DeadLetterRecord; readonly future: SettableFuture}[]
  readonly log: LogEvent[]
}

const ALL = {'errors.tolerance': 'all'}
const QUEUE = {
  ...ALL,
  'errors.deadletterqueue.topic.name': 'dlq',
  'errors.deadletterqueue.context.headers.enable': 'true',
}

/** A task with partition 0 and a consumer that stops it when its script is over. */
function bench(
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

function counters({runner}: Bench): number[] {
  const metrics = runner.metrics.snapshot()
  return [
    metrics['total-record-failures'],
    metrics['total-record-errors'],
    metrics['total-records-skipped'],
    metrics['total-retries'],
  ]
}

function texts(record: DeadLetterRecord | undefined): Record<string, string | undefined> {
  return Object.fromEntries(
    (record?.headers ?? []).map(({name, value}) => [
      name.toString().replace('__connect.errors.', ''),
      value?.toString().split('\n')[0],
    ]),
  )
}

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

test('revoked partitions are committed after their reports; the others keep theirs pending', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  run.task.onPut = records => {
    for (const record of records) run.task.context?.errantRecordReporter()?.report(record, null)
  }
  run.consumer.script(
    run.consumer.assign(P1),
    [consumed(0, 'a'), consumed(4, 'b', {partition: 1})],
    () => {
      run.sent[0]?.future.complete()
      return []
    },
    run.consumer.remove('revoked', P0),
    () => {
      run.task.calls.push('end')
      run.sent[1]?.future.complete()
      return []
    },
  )
  await run.runner.run()
  expect(run.task.calls.filter(call => !call.startsWith('put'))).toEqual([
    'start', 'open 0', 'open 1', 'preCommit 0@1', 'close 0', 'end', 'preCommit 1@5', 'close 1', 'stop',
  ]) // prettier-ignore
  expect(run.consumer.commits).toEqual(['commit t-0@1', 'commit t-1@5'])
})

test('lost partitions are closed without a commit, their reports are forgotten and noted', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  run.task.onPut = records => {
    for (const record of records) run.task.context?.errantRecordReporter()?.report(record, null)
  }
  run.consumer.script([consumed(0, 'a')], run.consumer.remove('lost', P0))
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.task.calls.filter(call => !call.startsWith('put'))).toEqual(['start', 'open 0', 'close 0', 'stop'])
  expect(run.consumer.commits).toEqual([])
  expect(run.log.filter(({logger}) => logger === 'WorkerErrantRecordReporter')).toHaveLength(1)
})

test('a batch that waits for redelivery loses the records of partitions that went away, and nothing stays paused', async () => {
  const run = bench(ALL)
  run.task.onPut = records => {
    if (records.length > 0) throw new RetriableException('busy')
  }
  run.consumer.script(
    run.consumer.assign(P1),
    [consumed(0, 'a')],
    run.consumer.remove('revoked', P0),
    run.consumer.assign(),
  )
  await run.runner.run()
  expect(run.task.calls.filter(call => call.startsWith('put'))).toEqual(['put', 'put', 'put a', 'put', 'put', 'put'])
  expect(run.consumer.calls).toEqual(['pause t-0 t-1', 'resume t-1', 'close'])
})

test('an exception while partitions are opened or closed ends the task after the poll', async () => {
  const run = bench(ALL)
  run.task.open = () => {
    throw new ConnectException('no table')
  }
  run.consumer.script([consumed(0, 'never')])
  expect(await run.runner.run()).toMatchObject({state: 'FAILED', error: {message: 'no table'}})
  expect(run.task.calls.filter(call => call.startsWith('put'))).toEqual([])
})

test('preCommit that throws rewinds to the last commit, and closing goes on without one', async () => {
  const run = bench({})
  let throws = true
  run.task.preCommitAnswer = offsets => {
    if (throws) throw new Error('flush failed')
    return offsets
  }
  run.consumer.script([consumed(0, 'a')], () => {
    run.task.context?.requestCommit()
    return []
  })
  run.consumer.onEnd = () => {
    throws = false
    run.runner.stop()
  }
  await run.runner.run()
  expect(run.consumer.calls).toEqual(['seek t-0@0', 'close'])
})

test('a task may commit less than it got, not more, and only what it owns', async () => {
  const run = bench({})
  const answers = [
    {...P0, offset: 1n},
    {...P0, offset: 99n},
    {...P1, offset: 1n},
  ]
  run.task.preCommitAnswer = () => answers.slice(0, 1)
  run.consumer.script([consumed(0, 'a'), consumed(1, 'b')], () => {
    run.task.context?.requestCommit()
    return []
  }, () => {
    run.task.preCommitAnswer = () => answers.slice(1)
    return []
  }) // prettier-ignore
  await run.runner.run()
  expect(run.consumer.commits).toEqual(['commit t-0@1'])
  expect(run.log.map(({message}) => message.replace(/^.*offset /, ''))).toEqual([
    't-0/99 -- not yet consumed',
    't-1/1 -- partition not assigned',
  ])
})

test('commits come at the interval of the worker, and a failed one is tried again with the next', async () => {
  const run = bench({}, {offsetFlushIntervalMs: 100})
  run.consumer.script([consumed(0, 'a')], async () => {
    run.consumer.commitError = new Error('coordinator is away')
    await run.clock.advance(100)
    return []
  }, async () => {
    run.consumer.commitError = null
    await run.clock.advance(100)
    return []
  }) // prettier-ignore
  await run.runner.run()
  expect(run.consumer.commits).toEqual(['commit t-0@1', 'commit t-0@1'])
  expect(run.consumer.timeouts.every(timeout => timeout <= 100)).toBe(true)
})

test('offset() reads again from where the task wants', async () => {
  const run = bench({})
  run.consumer.script([consumed(0, 'a'), consumed(1, 'b')], () => {
    run.task.context?.offset([{...P0, offset: 1n}])
    return []
  })
  await run.runner.run()
  expect(run.consumer.calls).toEqual(['seek t-0@1', 'close'])
})

test('a queue that is behind holds up the conversion of more records', async () => {
  const events: string[] = []
  const run = bench(QUEUE, {
    openDeadLetterQueue: async () => ({
      report: ({original}) => {
        events.push(`report ${original?.offset}`)
        return SettableFuture.settled()
      },
      ready: async () => {
        await new Promise(resolve => setImmediate(resolve))
        events.push('ready')
      },
      close: () => {},
    }),
  })
  run.consumer.script([consumed(0, 'bad'), consumed(1, 'a'), consumed(2, 'bad')])
  await run.runner.run()
  expect(events).toEqual(['report 0', 'ready', 'report 2', 'ready'])
})

test('a consumer that always answers at once keeps no timer waiting', async () => {
  const run = bench({})
  let polls = 0
  run.consumer.onEnd = () => {
    polls += 1
    if (polls === 1) setImmediate(() => run.runner.stop())
  }
  await run.runner.run()
  expect(polls).toBeLessThan(5)
})

async function backingOff(): Promise<{run: Bench; clock: FakeClock; ended: Promise<unknown>}> {
  const clock = new FakeClock({now: 0})
  const run = bench({...QUEUE, 'errors.retry.timeout': '60000', 'errors.tolerance': 'none'}, {clock})
  run.consumer.script([consumed(0, 'later')])
  const ended = run.runner.run()
  await waitFor(() => clock.waiting === 1)
  return {run, clock, ended}
}

test('J06: stop waits for a back-off, and a task that was to stop does not count as failed', async () => {
  const {run, clock, ended} = await backingOff()
  run.runner.stop()
  expect([run.sent.length, clock.waiting]).toEqual([0, 1])
  for (let waits = 0; waits < 100 && run.sent.length === 0; waits++) {
    await clock.advance(1000)
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(await ended).toMatchObject({state: 'UNASSIGNED', error: null})
  expect(run.sent).toHaveLength(1)
  expect(run.runner.metrics.snapshot()['total-retries']).toBeGreaterThan(1)
})

test('cancel ends a back-off: the record is parked, nothing is committed', async () => {
  const {run, clock, ended} = await backingOff()
  run.runner.cancel()
  expect(await ended).toMatchObject({state: 'UNASSIGNED', error: null})
  expect([run.sent.length, clock.waiting, run.runner.metrics.snapshot()['total-retries']]).toEqual([1, 0, 1])
  expect(run.consumer.commits).toEqual([])
})

test('a paused task reads nothing, commits, and goes on when it is resumed', async () => {
  const run = bench({})
  run.consumer.script([consumed(0, 'a')], () => {
    run.runner.pause()
    return []
  }, () => {
    expect(run.runner.status.state).toBe('PAUSED')
    run.runner.resume()
    return []
  }, [consumed(1, 'b')]) // prettier-ignore
  await run.runner.run()
  expect(run.consumer.calls).toEqual(['pause t-0', 'commit t-0@1', 'resume t-0', 'commit t-0@2', 'close'])
})

test('what the task paused itself stays paused', async () => {
  const run = bench({})
  run.consumer.script(run.consumer.assign(P1), () => {
    run.task.context?.pause([P1])
    run.runner.pause()
    return []
  }, () => {
    run.runner.resume()
    return []
  }, () => {
    run.task.context?.resume([P1])
    return []
  }) // prettier-ignore
  await run.runner.run()
  expect(run.consumer.calls).toEqual(['pause t-1', 'pause t-0 t-1', 'resume t-0', 'resume t-1', 'close'])
})

test('J02: a queue that cannot be opened fails the task before it starts, and everything is closed', async () => {
  const run = bench(QUEUE, {
    openDeadLetterQueue: () => Promise.reject(new ConnectException('Could not initialize dead letter queue')),
  })
  expect(await run.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {message: 'Could not initialize dead letter queue'},
  })
  expect(run.task.calls).toEqual(['stop'])
  expect(run.consumer.calls).toEqual(['close'])
})

test('a sink whose topics are not to be had fails at its start, after the queue was opened', async () => {
  const run = bench({...QUEUE, topics: 'dlq'})
  expect(await run.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {
      className: 'org.apache.kafka.common.config.ConfigException',
      message:
        'Invalid value dlq for configuration topics: ' +
        "The DLQ topic 'dlq' may not be included in the list of topics ('topics=[dlq]') consumed by the connector",
    },
  })
  expect(run.task.calls).toEqual(['stop'])
  expect(run.conversions).toEqual(['producer closed'])
})

test('J03: everything is closed although the task does not stop in peace', async () => {
  const run = bench(QUEUE)
  run.task.stop = () => {
    throw new Error('no')
  }
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.consumer.calls).toEqual(['close'])
  expect(run.conversions).toEqual(['producer closed'])
})

test('a task that is created paused starts when it is resumed', async () => {
  const run = bench({})
  run.runner.pause()
  const ended = run.runner.run()
  await new Promise(resolve => setImmediate(resolve))
  expect([run.runner.status.state, ...run.task.calls]).toEqual(['PAUSED'])
  run.runner.resume()
  await ended
  expect(run.task.calls[0]).toBe('start')
})

/** A few turns of the event loop, no time. */
async function waitFor(isTrue: () => boolean): Promise<void> {
  for (let turns = 0; turns < 1000 && !isTrue(); turns++) await new Promise(resolve => setImmediate(resolve))
  expect(isTrue()).toBe(true)
}
