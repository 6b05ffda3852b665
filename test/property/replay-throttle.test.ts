import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {Throttle} from '../../src/lib/replay/throttle.ts'
import {FakeClock} from '../support/fake-clock.ts'

interface Taken {
  readonly at: number
  readonly bytes: number
}

/** Send records of these sizes as fast as the throttle lets them, with stalls in between. */
async function run(
  rates: {records: number | null; bytes: number | null},
  steps: readonly {bytes: number; stallMs: number}[],
) {
  // From zero, as a monotonic clock: at today's epoch a double resolves only 0.2 µs, which is bytes at these rates.
  const clock = new FakeClock({auto: true, now: 0})
  const throttle = new Throttle(clock, {recordsPerSecond: rates.records, bytesPerSecond: rates.bytes})
  const taken: Taken[] = []
  for (const {bytes, stallMs} of steps) {
    if (stallMs > 0) await clock.sleep(stallMs)
    while (!throttle.tryTake(bytes)) await throttle.wait()
    taken.push({at: clock.monotonic(), bytes})
  }
  return taken
}

const steps = fc.array(
  fc.record({
    bytes: fc.integer({min: 1, max: 5000}),
    stallMs: fc.oneof({weight: 9, arbitrary: fc.constant(0)}, fc.integer({min: 1, max: 5000})),
  }),
  {minLength: 40, maxLength: 120},
)

describe('throttle bounds', () => {
  test('in every window no more than rate times window plus one burst', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({records: fc.integer({min: 1, max: 3000}), bytes: fc.integer({min: 100, max: 100_000})}),
        steps,
        async (rates, work) => {
          const taken = await run(rates, work)
          const burstRecords = Math.max(1, Math.floor(rates.records / 10))
          const burstBytes = Math.max(1, Math.floor(rates.bytes / 10))
          // An assertion for each of 7000 windows would be most of the work.
          const beyond: unknown[] = []
          for (let from = 0; from < taken.length; from++) {
            let bytes = 0
            for (let to = from; to < taken.length; to++) {
              const window = ((taken[to]?.at ?? 0) - (taken[from]?.at ?? 0)) / 1000
              bytes += taken[to]?.bytes ?? 0
              const records = to - from + 1
              // One record may be larger than the bucket; it then has the bucket for itself.
              const most = rates.bytes * window + Math.max(burstBytes, taken[to]?.bytes ?? 0) + 1e-3
              if (!(records <= rates.records * window + burstRecords + 1e-6)) beyond.push({from, to, records})
              if (!(bytes <= most)) beyond.push({from, to, bytes})
            }
          }
          expect(beyond).toEqual([])
        },
      ),
    )
  })

  test('the rate is reached: a long run takes no longer than it has to', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({min: 10, max: 2000}), async rate => {
        const count = rate * 2
        const taken = await run(
          {records: rate, bytes: null},
          Array.from({length: count}, () => ({bytes: 1, stallMs: 0})),
        )
        const seconds = ((taken.at(-1)?.at ?? 0) - (taken[0]?.at ?? 0)) / 1000
        // Waits are whole milliseconds, one a burst.
        expect(seconds).toBeLessThanOrEqual(2 + (count / Math.max(1, Math.floor(rate / 10))) * 0.001 + 0.1)
      }),
      {numRuns: 30},
    )
  })
})
