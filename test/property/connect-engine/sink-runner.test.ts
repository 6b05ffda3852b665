import fc from 'fast-check'
import {expect, test} from 'vitest'
import type {Converter} from '../../../src/lib/connect-engine/data.ts'
import {DeadLetterQueueReporter} from '../../../src/lib/connect-engine/dead-letter-queue-reporter.ts'
import {DataException, RetriableException} from '../../../src/lib/connect-engine/errors.ts'
import {SettableFuture} from '../../../src/lib/connect-engine/report-future.ts'
import {SinkTaskRunner} from '../../../src/lib/connect-engine/sink-task-runner.ts'
import type {SinkTask, SinkTaskContext} from '../../../src/lib/connect-engine/sink-task.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {FakeSinkConsumer} from '../../support/fake-sink-consumer.ts'
import {runs} from '../../support/runs.ts'

/** What becomes of a record: `key` and `value` cannot be converted, `errant` is reported, `fatal` ends the task. */
const FATES = ['good', 'good', 'good', 'key', 'value', 'flaky', 'errant', 'fatal'] as const
type Fate = (typeof FATES)[number]

interface Run {
  readonly state: string
  /** Offsets that put took without an error. */
  readonly written: readonly bigint[]
  /** Offsets in the dead letter queue, in order. */
  readonly parked: readonly string[]
  /** Highest offset committed, exclusive. */
  readonly committed: bigint
  /** What was not written or parked although it was committed. */
  readonly lost: readonly string[]
}

function converter(name: Fate): Converter {
  const seen = new Set<string>()
  return {
    className: `example.${name}`,
    toConnectData: (_topic, bytes) => {
      const text = bytes?.toString() ?? ''
      if (text.startsWith(name)) throw new DataException('cannot be read')
      if (text.startsWith('flaky') && !seen.has(text)) {
        seen.add(text)
        throw new RetriableException('not yet')
      }
      return {schema: null, value: text}
    },
    fromConnectData: () => null,
  }
}

async function runAll(
  polls: readonly (readonly Fate[])[],
  tolerance: string,
  busy: number,
  reportFails: boolean,
): Promise<Run> {
  const written = new Set<bigint>()
  const parked: string[] = []
  const settled = new Set<string>()
  const lost: string[] = []
  const consumer = new FakeSinkConsumer()
  let committed = 0n
  let context: SinkTaskContext | null = null
  let busyPuts = busy
  const sinkTask: SinkTask = {
    start: given => {
      context = given
    },
    put: records => {
      for (const record of records) {
        const fate = String(record.value)
        if (fate.startsWith('fatal')) throw new DataException('no more')
        if (fate.startsWith('errant')) context?.errantRecordReporter()?.report(record, new DataException('odd'))
      }
      if (records.length > 0 && busyPuts-- > 0) throw new RetriableException('busy')
      for (const {offset} of records) written.add(offset)
    },
    preCommit: offsets => {
      for (const {offset} of offsets) {
        for (const name of parked.slice(0)) {
          // What the task itself reported is written before its offset may move.
          if (name.startsWith('TASK_PUT') && BigInt(name.split(' ')[1] ?? '') < offset && !settled.has(name))
            lost.push(name)
        }
      }
      return offsets
    },
    stop: () => {},
  }
  const runner = new SinkTaskRunner({
    connector: 'job',
    task: 0,
    properties: {
      topics: 't',
      'errors.tolerance': tolerance,
      'errors.retry.timeout': '1000',
      'errors.deadletterqueue.topic.name': 'dlq',
      'errors.deadletterqueue.context.headers.enable': 'true',
    },
    sinkTask,
    consumer,
    keyConverter: converter('key'),
    valueConverter: converter('value'),
    headerConverter: {
      className: 'example.Headers',
      toConnectHeader: () => ({schema: null, value: null}),
      fromConnectHeader: () => null,
    },
    clock: new FakeClock({auto: true}),
    log: () => {},
    offsetFlushIntervalMs: 0,
    openDeadLetterQueue: async request =>
      new DeadLetterQueueReporter({
        ...request,
        producer: {
          send: ({headers}) => {
            const texts = new Map(headers.map(({name, value}) => [name.toString(), value?.toString()]))
            const name = `${texts.get('__connect.errors.stage')} ${texts.get('__connect.errors.offset')}`
            parked.push(name)
            const future = new SettableFuture()
            setImmediate(() => {
              if (reportFails && name.startsWith('TASK_PUT')) {
                future.fail(new Error('broker is gone'))
              } else {
                settled.add(name)
                future.complete()
              }
            })
            return future
          },
          close: () => {},
        },
      }),
  })
  let offset = 0n
  consumer.script(consumer.assign({topic: 't', partition: 0}))
  for (const fates of polls) {
    consumer.script(
      fates.map((fate): KafkaRecord => {
        const bytes = Buffer.from(`${fate}-${offset}`)
        const at = offset++
        return {topic: 't', partition: 0, offset: at, timestamp: 1n, timestampType: 'CreateTime', key: bytes, value: bytes, headers: []} // prettier-ignore
      }),
    )
    for (let again = 0; again < busy; again++) consumer.script([])
  }
  consumer.onEnd = () => runner.stop()
  const {state} = await runner.run()
  for (const call of consumer.commits) committed = BigInt(call.split('@')[1] ?? '')
  return {state, written: [...written], parked, committed, lost}
}

test('a record below the committed offset was written or parked; nothing is committed beyond a fatal one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.constantFrom(...FATES), {minLength: 1, maxLength: 5}), {maxLength: 4}),
      fc.constantFrom('none', 'all'),
      fc.nat(2),
      fc.boolean(),
      async (polls, tolerance, busy, reportFails) => {
        const {state, written, parked, committed, lost} = await runAll(polls, tolerance, busy, reportFails)
        const fates = polls.flat()
        expect(lost).toEqual([])
        expect(parked.filter(name => !name.startsWith('TASK_PUT')).length).toBe(
          new Set(parked.filter(name => !name.startsWith('TASK_PUT'))).size,
        )
        const deadly = (fate: Fate): boolean =>
          fate === 'fatal' || (tolerance === 'none' && (fate === 'key' || fate === 'value' || fate === 'errant'))
        for (const [index, fate] of fates.entries()) {
          if (BigInt(index) >= committed) continue
          const isParked = parked.some(name => name.endsWith(` ${index}`))
          expect([fate, isParked || written.includes(BigInt(index))]).toEqual([fate, true])
          expect(deadly(fate)).toBe(false)
        }
        const mustFail = fates.some(deadly) || (reportFails && fates.includes('errant'))
        expect(state).toBe(mustFail ? 'FAILED' : 'UNASSIGNED')
        expect(mustFail || committed === BigInt(fates.length)).toBe(true)
      },
    ),
    {numRuns: runs(60)},
  )
})
