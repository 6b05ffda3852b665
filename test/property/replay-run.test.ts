import fc from 'fast-check'
import {afterEach, describe, expect, test} from 'vitest'
import {InterruptedError, KafkaError} from '../../src/lib/errors.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {planReplay} from '../../src/lib/replay/plan-replay.ts'
import {runReplay} from '../../src/lib/replay/run-replay.ts'
import {FakeClock} from '../support/fake-clock.ts'
import {archiveOf, closeArchives, connectSet, deadLetter, FakeTarget, inputFor, NOW} from '../unit/replay/support.ts'
import {runs} from '../support/runs.ts'

afterEach(closeArchives)

/** What one dead letter of a random selection is like. */
const letters = fc.array(
  fc.record({
    origin: fc.option(fc.record({partition: fc.integer({min: -1, max: 7}), offset: fc.integer({min: 0, max: 12})}), {
      freq: 8,
    }),
    value: fc.option(fc.constantFrom('a', 'b'), {freq: 5}),
    time: fc.integer({min: -10, max: 10}),
  }),
  {minLength: 1, maxLength: 30},
)

type Letters = typeof letters extends fc.Arbitrary<infer T> ? T : never

const toRecords = (drawn: Letters): KafkaRecord[] =>
  drawn.map(({origin, value, time}, offset) =>
    deadLetter(offset, {
      key: Buffer.from('k'),
      value: value === null ? null : Buffer.from(value),
      timestamp: BigInt(NOW + time),
      headers: origin === null ? [] : connectSet('orders', origin.partition, origin.offset),
    }),
  )

const SKIP_ALL = ['no-origin', 'tombstone', 'target-partition', 'duplicate-origin']

describe('plan and run', () => {
  test('to replay + left out + refused = selected, whatever is skipped; the run does exactly what was planned', async () => {
    await fc.assert(
      fc.asyncProperty(letters, fc.subarray(SKIP_ALL), async (drawn, skip) => {
        const source = await archiveOf(toRecords(drawn))
        const target = new FakeTarget({orders: {partitions: 6}})
        const clock = new FakeClock({now: NOW, auto: true})
        const {plan} = await planReplay({source, target, clock}, await inputFor(source, {skip}))
        const {selected, toReplay, skipped, refused} = plan.counts
        expect(selected).toBe(drawn.length)
        expect(toReplay + skipped + refused).toBe(selected)
        expect(plan.targets.reduce((sum, {count}) => sum + count, 0)).toBe(toReplay)
        expect(plan.checks.some(({level}) => level === 'refuse')).toBe(refused > 0)
        expect(refused === 0 || skip.length < SKIP_ALL.length).toBe(true)
        if (refused > 0) return
        const {result} = await runReplay(
          {source, target, clock},
          {run: 'r-1', plan, maxFailed: null, maxDurationMs: null, deliveryTimeoutMs: 1000},
        )
        expect(result.counts).toMatchObject({selected, replayed: toReplay, skipped})
        expect(result.targets).toEqual(plan.targets.map(({topic, partition, count}) => ({topic, partition, count})))
        expect(target.written).toHaveLength(toReplay)
      }),
    )
  })

  test('an abort at any moment leaves counts that add up, and no record is counted as replayed that is not there', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({min: 1, max: 60}),
        fc.constantFrom(null, 10, 100, 500),
        fc.integer({min: 0, max: 12}),
        fc.constantFrom('answers', 'never answers', 'refuses some'),
        async (count, rate, abortAt, behaviour) => {
          const source = await archiveOf(Array.from({length: count}, (_, offset) => deadLetter(offset)))
          const target = new FakeTarget({orders: {partitions: 6}})
          const clock = new FakeClock({now: NOW, auto: true})
          const {plan} = await planReplay({source, target, clock}, await inputFor(source, {rate}))
          const controller = new AbortController()
          let calls = 0
          target.before = async () => {
            if (calls++ < abortAt) return
            controller.abort(new InterruptedError('SIGINT'))
            if (behaviour === 'never answers') await new Promise(() => undefined)
          }
          if (behaviour === 'refuses some') {
            target.answer = (_, records) =>
              records.some(({offset, key}) => offset < 0n || String(key).endsWith('3'))
                ? {error: new KafkaError('no', {code: 'E_INVALID_RECORD'}), recordErrors: []}
                : null
          }
          const {result} = await runReplay(
            {source, target, clock},
            {run: 'r-1', plan, maxFailed: null, maxDurationMs: null, deliveryTimeoutMs: 1000},
            {signal: controller.signal},
          )
          const {selected, replayed, failed, unknown, skipped, gone} = result.counts
          expect(replayed + failed + unknown + skipped + gone).toBe(selected)
          expect(selected + (result.stopped?.remaining ?? 0)).toBe(count)
          expect(result.failures).toHaveLength(failed + unknown)
          const acknowledged = target.written.length
          expect(behaviour === 'never answers' ? acknowledged === replayed : replayed <= acknowledged).toBe(true)
          // Nothing is missed in front: what was settled is the beginning of the selection.
          const seen = new Set([
            ...target.written.map(({key}) => String(key)),
            ...result.failures.map(({address}) => `k-${address.split(':')[2]}`),
          ])
          for (let offset = 0; offset < selected; offset++) expect(seen.has(`k-${offset}`)).toBe(true)
        },
      ),
      {numRuns: runs(60)},
    )
  })
})
