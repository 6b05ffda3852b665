import fc from 'fast-check'
import {expect, test} from 'vitest'
import {InternalSinkRecord} from '../../../src/lib/connect-engine/data.ts'
import {WorkerErrantRecordReporter} from '../../../src/lib/connect-engine/errant-record-reporter.ts'
import {DataException} from '../../../src/lib/connect-engine/errors.ts'
import {ProcessingContext} from '../../../src/lib/connect-engine/processing-context.ts'
import {SettableFuture} from '../../../src/lib/connect-engine/report-future.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {consumed, makeEngine} from '../../support/connect-engine.ts'
import {runs} from '../../support/runs.ts'

/** A dead letter on its way: acknowledged, refused, or still waiting. */
interface Sent {
  readonly original: KafkaRecord
  readonly future: SettableFuture
}

type Event =
  /** A record comes: it is fine, its converter fails, or the task reports it. */
  | {readonly kind: 'record'; readonly partition: number; readonly fate: 'fine' | 'converter' | 'task'}
  /** One of the dead letters on their way is acknowledged or refused. */
  | {readonly kind: 'answer'; readonly which: number; readonly refused: boolean}
  | {readonly kind: 'commit'; readonly partitions: readonly number[]}

const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('record' as const),
      partition: fc.nat(2),
      fate: fc.constantFrom('fine', 'converter', 'task'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('answer' as const),
      which: fc.nat(9),
      refused: fc.oneof({weight: 9, arbitrary: fc.constant(false)}, fc.constant(true)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({kind: fc.constant('commit' as const), partitions: fc.subarray([0, 1, 2], {minLength: 1})}),
  },
)

/** Lets a commit go as far as it can without an answer. */
async function macrotask(): Promise<void> {
  const {promise, resolve} = Promise.withResolvers<void>()
  setImmediate(resolve)
  await promise
}

/** A sink that consumes, reports, and commits as the runtime does: reports first, then offsets. */
async function run(events: readonly Event[], awaitConverterDlq: boolean) {
  const sent: Sent[] = []
  const {engine} = makeEngine({
    tolerance: 'all',
    switches: {awaitConverterDlq},
    reporters: [
      {
        report: ({original}) => {
          const future = new SettableFuture()
          sent.push({original: original ?? consumed(), future})
          return future
        },
        close: () => {},
      },
    ],
  })
  const nothing = {fromConnectData: () => null}
  const errant = new WorkerErrantRecordReporter({
    operator: engine,
    keyConverter: nothing,
    valueConverter: nothing,
    headerConverter: {fromConnectHeader: () => null},
    log: () => {},
  })
  const consumedTo = new Map<number, bigint>()
  const unsafe: string[] = []
  let dead = false

  const commit = async (partitions: readonly number[]): Promise<void> => {
    const offsets = partitions.map(partition => [partition, consumedTo.get(partition) ?? 0n] as const)
    const topicPartitions = partitions.map(partition => ({topic: 'orders', partition}))
    try {
      await engine.awaitReports(topicPartitions)
      await errant.awaitFutures(topicPartitions)
    } catch {
      dead = true
      return
    }
    for (const [partition, offset] of offsets) {
      for (const {original, future} of sent) {
        const covered = original.partition === partition && original.offset < offset
        const reported = awaitConverterDlq || original.headers.length > 0
        if (covered && reported && future.state !== 'done') unsafe.push(`${partition}:${original.offset}`)
      }
    }
  }

  for (const happening of events) {
    if (dead) break
    if (happening.kind === 'record') {
      const {partition, fate} = happening
      const offset = consumedTo.get(partition) ?? 0n
      // A header marks what the task itself reports.
      const headers = fate === 'task' ? [{name: Buffer.from('task'), value: null}] : []
      const context = new ProcessingContext<KafkaRecord>(consumed({partition, offset, headers}))
      const original = context.original ?? consumed()
      const fail = (): never => {
        throw new DataException('bad')
      }
      if (fate === 'converter') await engine.execute(context, fail, 'VALUE_CONVERTER', 'c')
      const fields = {...original, keySchema: null, valueSchema: null, headers: []}
      if (fate === 'task') errant.report(new InternalSinkRecord(context, fields), new DataException('bad'))
      consumedTo.set(partition, offset + 1n)
    } else if (happening.kind === 'answer') {
      const open = sent.filter(({future}) => !future.isDone)
      const future = open[happening.which % Math.max(1, open.length)]?.future
      if (happening.refused) future?.fail(new DataException('refused'))
      else future?.complete()
    } else {
      // One commit at a time, as the runtime's task thread does it; what it waits for is answered in order.
      const committing = commit(happening.partitions)
      await macrotask()
      for (const {future} of sent) if (!future.isDone && !dead) future.complete()
      await committing
    }
  }
  return {unsafe, dead, refused: sent.some(({future}) => future.state === 'failed')}
}

test.each([
  ['what a task reported', false],
  ['any dead letter, converters included', true],
])('nothing is committed beyond %s that is not written', async (_what, awaitConverterDlq) => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, {maxLength: 40}), async events => {
      const {unsafe, dead, refused} = await run(events, awaitConverterDlq)
      expect(unsafe).toEqual([])
      // Only a dead letter that was refused ends the task.
      expect(dead && !refused).toBe(false)
    }),
    {numRuns: runs(200)},
  )
})
