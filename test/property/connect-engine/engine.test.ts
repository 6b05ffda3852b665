import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {deadlineOf, FOREVER} from '../../../src/lib/connect-engine/backoff.ts'
import {RetryWithToleranceOperator} from '../../../src/lib/connect-engine/engine.ts'
import {DataException, JavaException, RetriableException} from '../../../src/lib/connect-engine/errors.ts'
import {ErrorHandlingMetrics} from '../../../src/lib/connect-engine/metrics.ts'
import {ProcessingContext} from '../../../src/lib/connect-engine/processing-context.ts'
import {STAGES} from '../../../src/lib/connect-engine/stage.ts'
import type {Stage} from '../../../src/lib/connect-engine/stage.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {consumed, counters, RecordingReporter} from '../../support/connect-engine.ts'
import {runs} from '../../support/runs.ts'

/** What one attempt of an operation does, and how long it takes. */
type Attempt = {
  readonly does: 'answer' | 'retriable' | 'fail' | 'die'
  readonly takesMs: number
  readonly later: boolean
}

const attempt: fc.Arbitrary<Attempt> = fc.record({
  does: fc.oneof(
    {weight: 5, arbitrary: fc.constant('retriable' as const)},
    {weight: 2, arbitrary: fc.constant('answer' as const)},
    {weight: 1, arbitrary: fc.constant('fail' as const)},
    {weight: 1, arbitrary: fc.constant('die' as const)},
  ),
  takesMs: fc.oneof({weight: 3, arbitrary: fc.constant(0)}, fc.nat(5000)),
  later: fc.boolean(),
})

interface Operation {
  readonly stage: Stage
  /** The last one repeats. */
  readonly script: readonly Attempt[]
}

const operation: fc.Arbitrary<Operation> = fc.record({
  stage: fc.constantFrom(...STAGES),
  script: fc.array(attempt, {minLength: 1, maxLength: 8}),
})

const settings = fc.record({
  retryTimeoutMs: fc.oneof(fc.constantFrom(0n, 1n, 300n, 6000n, 2n ** 63n - 1n), fc.bigInt(0n, 600_000n)),
  retryDelayMaxMs: fc.oneof(fc.constantFrom(1n, 299n, 300n, 60_000n), fc.bigInt(1n, 100_000n)),
  tolerance: fc.constantFrom('none' as const, 'all' as const),
  profile: fc.constantFrom('P39' as const, 'P4x' as const),
  /** Wait during which the engine is stopped; 0 = never. */
  stopAtWait: fc.oneof({weight: 4, arbitrary: fc.constant(0)}, fc.integer({min: 1, max: 6})),
  startMs: fc.bigInt(0n, 2n ** 53n),
})

type Settings = typeof settings extends fc.Arbitrary<infer T> ? T : never

interface Call {
  readonly startedMs: bigint
  readonly attemptsMs: readonly bigint[]
  readonly waits: readonly {readonly delayMs: bigint; readonly atMs: bigint}[]
  readonly outcome: 'value' | 'skipped' | 'thrown' | 'died'
}

/** Then an operation answers: scripts end, and waits do not come to where 64 bits wrap. */
const MOST_ATTEMPTS = 50
const ANSWER: Attempt = {does: 'answer', takesMs: 0, later: false}

/** An engine in a world where time moves only by waits and by what operations take. */
class Simulation {
  readonly reporter = new RecordingReporter()
  readonly metrics = new ErrorHandlingMetrics({connector: 'c', task: 0, clock: {now: () => 1}})
  readonly engine: RetryWithToleranceOperator<KafkaRecord>
  #now: bigint
  #waits: {delayMs: bigint; atMs: bigint}[] = []
  #waited = 0

  constructor({retryTimeoutMs, retryDelayMaxMs, tolerance, profile, stopAtWait, startMs}: Settings, seed: number) {
    this.#now = startMs
    let state = seed >>> 0
    this.engine = new RetryWithToleranceOperator<KafkaRecord>({
      clock: {now: () => this.#now, sleep: () => Promise.reject(new Error('a real wait'))},
      metrics: this.metrics,
      config: {retryTimeoutMs, retryDelayMaxMs, tolerance},
      profile,
      random: bound => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
        return BigInt(state) % bound
      },
      wait: async (delayMs, stop) => {
        this.#waits.push({delayMs, atMs: this.#now})
        if (++this.#waited === stopAtWait) this.engine.triggerStop()
        if (!stop.aborted) this.#now += delayMs
      },
    })
    this.engine.setReporters([this.reporter])
  }

  async run(context: ProcessingContext<KafkaRecord>, {stage, script}: Operation): Promise<Call> {
    const attemptsMs: bigint[] = []
    const startedMs = this.#now
    this.#waits = []
    const call = (): string | Promise<string> => {
      const last = attemptsMs.length < MOST_ATTEMPTS ? script.at(-1) : undefined
      const step = script[attemptsMs.length] ?? last ?? ANSWER
      attemptsMs.push(this.#now)
      this.#now += BigInt(step.takesMs)
      return step.later ? Promise.resolve().then(() => play(step)) : play(step)
    }
    let outcome: Call['outcome']
    try {
      await this.engine.execute(context, call, stage, 'example.Operation')
      outcome = context.failed ? 'skipped' : 'value'
    } catch (error) {
      outcome = error instanceof JavaException && error.family === 'error' ? 'died' : 'thrown'
    }
    return {startedMs, attemptsMs, waits: this.#waits, outcome}
  }
}

function play({does}: Attempt): string {
  if (does === 'retriable') throw new RetriableException('try later')
  if (does === 'fail') throw new DataException('bad')
  if (does === 'die') throw new JavaException({className: 'java.lang.OutOfMemoryError', message: 'no memory'})
  return 'value'
}

describe('for any script of failures', () => {
  test('waits are within bounds, and no attempt begins behind the deadline', async () => {
    await fc.assert(
      fc.asyncProperty(settings, operation, fc.integer(), async (config, run, seed) => {
        const call = await new Simulation(config, seed).run(new ProcessingContext(consumed()), run)
        const deadline = deadlineOf(call.startedMs, config.retryTimeoutMs)
        for (const {delayMs, atMs} of call.waits) {
          expect(delayMs).toBeGreaterThanOrEqual(0n)
          expect(delayMs).toBeLessThanOrEqual(config.retryDelayMaxMs)
          expect(atMs + delayMs).toBeLessThanOrEqual(deadline)
          expect(atMs).toBeLessThan(deadline)
        }
        for (const startedMs of call.attemptsMs.slice(1)) expect(startedMs).toBeLessThanOrEqual(deadline)
        expect(config.retryTimeoutMs === 0n && call.attemptsMs.length > 1).toBe(false)
        expect(call.attemptsMs.length - 1).toBeLessThanOrEqual(call.waits.length)
      }),
      {numRuns: runs(300)},
    )
  })

  test('endless retries wait at most the maximum, and begin anew every 64 attempts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.bigInt(1n, 100_000n), fc.integer({min: 1, max: 300}), async (retryDelayMaxMs, number) => {
        const waits: bigint[] = []
        const engine = new RetryWithToleranceOperator<KafkaRecord>({
          clock: {now: () => 0, sleep: () => Promise.reject(new Error('a real wait'))},
          metrics: new ErrorHandlingMetrics({connector: 'c', task: 0, clock: {now: () => 1}}),
          config: {retryTimeoutMs: -1, retryDelayMaxMs, tolerance: 'all'},
          random: bound => bound - 1n,
          wait: async delayMs => {
            waits.push(delayMs)
          },
        })
        await engine.backoff(number, FOREVER)
        await engine.backoff(number + 64, FOREVER)
        expect(waits[0]).toBeLessThanOrEqual(retryDelayMaxMs)
        expect(waits[0]).toBe(waits[1])
      }),
      {numRuns: runs(200)},
    )
  })

  test('every failed record is reported exactly once, or the task is dead', async () => {
    const records = fc.array(fc.array(operation, {minLength: 1, maxLength: 4}), {minLength: 1, maxLength: 6})
    await fc.assert(
      fc.asyncProperty(settings, records, fc.integer(), async (config, all, seed) => {
        const simulation = new Simulation(config, seed)
        const contexts: ProcessingContext<KafkaRecord>[] = []
        let dead: Call['outcome'] | null = null
        for (const [index, operations] of all.entries()) {
          const context = new ProcessingContext(consumed({offset: BigInt(index)}))
          contexts.push(context)
          for (const run of operations) {
            const {outcome} = await simulation.run(context, run)
            if (outcome === 'thrown' || outcome === 'died') dead = outcome
            if (outcome !== 'value') break
          }
          if (dead !== null) break
        }
        for (const context of contexts) {
          const reports = simulation.reporter.contexts.filter(reported => reported === context)
          expect(reports).toHaveLength(context.failed ? 1 : 0)
        }
        const [, errors, skipped] = counters(simulation.metrics)
        expect(errors).toBe(contexts.filter(({failed}) => failed).length)
        expect(skipped).toBe((errors ?? 0) - (dead === 'thrown' ? 1 : 0))
        const isStrict = config.tolerance === 'none' && config.profile === 'P4x' && config.stopAtWait === 0
        expect(isStrict && skipped !== 0).toBe(false)
      }),
      {numRuns: runs(300)},
    )
  })

  test("failures, retries, errors and skips add up as Connect's do", async () => {
    await fc.assert(
      fc.asyncProperty(settings, operation, fc.integer(), async (config, run, seed) => {
        fc.pre(config.stopAtWait === 0)
        const simulation = new Simulation(config, seed)
        const context = new ProcessingContext(consumed())
        const {outcome, attemptsMs, waits} = await simulation.run(context, run)
        const [failures, errors, skipped, retries] = counters(simulation.metrics)
        const attempts = attemptsMs.length
        expect(retries).toBe(waits.length)
        expect(context.attempt).toBe(attempts)
        const outOfTime = context.error instanceof RetriableException && config.profile === 'P4x'
        const expected = {
          value: [attempts - 1, 0, 0],
          died: [attempts - 1, 0, 0],
          skipped: [outOfTime ? attempts + 1 : attempts, 1, 1],
          thrown: [outOfTime ? attempts + 1 : attempts, 1, 0],
        }
        expect([failures, errors, skipped]).toEqual(expected[outcome])
      }),
      {numRuns: runs(300)},
    )
  })
})
