import {runInNewContext} from 'node:vm'
import {describe, expect, test} from 'vitest'
import {
  ConnectException,
  DataException,
  JavaException,
  RetriableException,
} from '../../../src/lib/connect-engine/errors.ts'
import {ProcessingContext} from '../../../src/lib/connect-engine/processing-context.ts'
import {SettableFuture} from '../../../src/lib/connect-engine/report-future.ts'
import type {ReportFuture} from '../../../src/lib/connect-engine/report-future.ts'
import {BugError} from '../../../src/lib/errors.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {consumed, counters, failing, makeEngine, RecordingReporter} from '../../support/connect-engine.ts'
import {FakeClock} from '../../support/fake-clock.ts'

const CONVERTER = 'org.apache.kafka.connect.json.JsonConverter'

function newContext(): ProcessingContext<KafkaRecord> {
  return new ProcessingContext(consumed())
}

describe('without waiting', () => {
  test('a value comes back at once, not as a promise', () => {
    const {engine} = makeEngine()
    const context = newContext()
    expect(engine.execute(context, () => 'v', 'VALUE_CONVERTER', CONVERTER)).toBe('v')
    expect(context).toMatchObject({stage: 'VALUE_CONVERTER', executingClass: CONVERTER, attempt: 1, failed: false})
  })

  test('a skip and a kill come at once too', () => {
    const fail = (): never => {
      throw new DataException('bad')
    }
    expect(makeEngine({tolerance: 'all'}).engine.execute(newContext(), fail, 'VALUE_CONVERTER', CONVERTER)).toBeNull()
    const {engine} = makeEngine()
    expect(() => engine.execute(newContext(), fail, 'VALUE_CONVERTER', CONVERTER)).toThrow(
      expect.objectContaining({message: 'Tolerance exceeded in error handler', code: 'E_TOLERANCE_EXCEEDED'}),
    )
  })

  test('null and undefined are values', () => {
    const {engine} = makeEngine()
    expect(engine.execute(newContext(), () => null, 'TRANSFORMATION', CONVERTER)).toBeNull()
    expect(engine.execute(newContext(), () => undefined, 'TRANSFORMATION', CONVERTER)).toBeUndefined()
  })
})

describe('an operation that answers later', () => {
  test('is retried as one that answers at once', async () => {
    const {engine, metrics, clock} = makeEngine({retryTimeoutMs: 6000, tolerance: 'all'})
    const operation = failing(3)
    const later = async (): Promise<string> => operation()
    expect(await engine.execute(newContext(), later, 'VALUE_CONVERTER', CONVERTER)).toBe('ok')
    expect(clock.sleeps).toEqual([300, 600, 1200])
    expect(counters(metrics)).toEqual([3, 0, 0, 3])
    expect(metrics.snapshot()['last-error-timestamp']).toBe(0)
  })

  test('is given up, or kills, as one that answers at once', async () => {
    const later = async (): Promise<string> => {
      throw new DataException('bad')
    }
    const tolerant = makeEngine({tolerance: 'all'})
    expect(await tolerant.engine.execute(newContext(), later, 'KEY_CONVERTER', CONVERTER)).toBeNull()
    expect(tolerant.reporter.errors.map(error => error?.message)).toEqual(['bad'])
    const {engine} = makeEngine()
    await expect(engine.execute(newContext(), later, 'KEY_CONVERTER', CONVERTER)).rejects.toThrow('Tolerance exceeded')
  })

  test('may be a promise of another realm', async () => {
    const {engine} = makeEngine()
    const foreign = runInNewContext("Promise.resolve('v')") as Promise<string>
    expect(foreign).not.toBeInstanceOf(Promise)
    expect(await engine.execute(newContext(), () => foreign, 'VALUE_CONVERTER', CONVERTER)).toBe('v')
  })

  test('past the engine goes what is no exception', async () => {
    const {engine, metrics, reporter} = makeEngine({tolerance: 'all', retryTimeoutMs: -1})
    const bug = new BugError('ours')
    const context = newContext()
    await expect(engine.execute(context, () => Promise.reject(bug), 'VALUE_CONVERTER', CONVERTER)).rejects.toBe(bug)
    expect(context.failed).toBe(false)
    expect(counters(metrics)).toEqual([0, 0, 0, 0])
    expect(reporter.contexts).toEqual([])
  })
})

test('what is no exception leaves a record reported that failed in the meantime', () => {
  const {engine, metrics, reporter} = makeEngine({tolerance: 'all'})
  const [bug, own] = [new BugError('ours'), new DataException('reported by the operation')]
  const context = newContext()
  const operation = (): never => {
    context.error = own
    throw bug
  }
  expect(() => engine.execute(context, operation, 'TRANSFORMATION', CONVERTER)).toThrow(bug)
  expect(reporter.errors).toEqual([own])
  expect(counters(metrics)).toEqual([0, 1, 0, 0])
})

test('whatever is thrown is an error afterwards', () => {
  const {engine, reporter} = makeEngine({tolerance: 'all'})
  const context = newContext()
  const fail = (): never => {
    // oxlint-disable-next-line typescript/only-throw-error -- plugins do
    throw 'just text'
  }
  expect(engine.execute(context, fail, 'VALUE_CONVERTER', CONVERTER)).toBeNull()
  expect(reporter.errors).toEqual([expect.any(ConnectException)])
  expect(context.error?.message).toBe('just text')
})

test('an operation that reports its own record as failed has skipped it, though it answers', () => {
  const {engine, metrics} = makeEngine({tolerance: 'all'})
  const context = newContext()
  const operation = (): string => {
    engine.executeFailed(context, 'TASK_PUT', 'x', new DataException('bad'))
    return 'v'
  }
  expect(engine.execute(context, operation, 'TRANSFORMATION', CONVERTER)).toBeNull()
  expect(counters(metrics)).toEqual([1, 1, 1, 0])
})

describe('waits by the clock', () => {
  test('a stop ends the wait of this moment: given up, skipped, no throw', async () => {
    const clock = new FakeClock()
    const {engine, metrics, reporter} = makeEngine({clock, retryTimeoutMs: -1})
    const running = engine.execute(newContext(), failing(99), 'VALUE_CONVERTER', CONVERTER)
    await clock.advance(300)
    expect(clock.sleeps).toEqual([300, 600])
    engine.triggerStop()
    expect(await running).toBeNull()
    expect(clock.waiting).toBe(0)
    expect(counters(metrics)).toEqual([2, 1, 1, 2])
    expect(reporter.contexts).toHaveLength(1)
  })

  test('after a stop nothing waits, and healthy records pass', async () => {
    const clock = new FakeClock()
    const {engine} = makeEngine({clock, retryTimeoutMs: -1})
    engine.triggerStop()
    engine.triggerStop()
    expect(engine.execute(newContext(), () => 'v', 'VALUE_CONVERTER', CONVERTER)).toBe('v')
    expect(await engine.execute(newContext(), failing(99), 'VALUE_CONVERTER', CONVERTER)).toBeNull()
    expect(clock.sleeps).toEqual([])
  })

  test('endless attempts without a wait still let a stop through', async () => {
    const {engine} = makeEngine({
      retryTimeoutMs: -1,
      retryDelayMaxMs: 1,
      clock: {
        now: () => 0,
        sleep: () =>
          new Promise(resolve => {
            setImmediate(resolve)
          }),
      },
    })
    setImmediate(() => {
      engine.triggerStop()
    })
    expect(await engine.execute(newContext(), failing(Infinity), 'VALUE_CONVERTER', CONVERTER)).toBeNull()
  })

  test('a wait longer than a number can say is cut, not lost', async () => {
    const {engine, clock} = makeEngine({retryTimeoutMs: -1, retryDelayMaxMs: 2n ** 63n - 1n})
    await engine.backoff(54, 2n ** 63n - 1n)
    expect(clock.sleeps).toEqual([Number.MAX_SAFE_INTEGER])
  })

  test('a clock that breaks is not taken for a stop', async () => {
    const broken = {now: () => 0, sleep: () => Promise.reject(new BugError('no timer'))}
    const {engine} = makeEngine({retryTimeoutMs: -1, clock: broken, tolerance: 'all'})
    await expect(engine.execute(newContext(), failing(1), 'VALUE_CONVERTER', CONVERTER)).rejects.toThrow('no timer')
  })
})

describe('profiles', () => {
  test('P4x is the default: a retriable error out of time kills under none and counts twice', () => {
    const {engine, metrics} = makeEngine()
    expect(engine.profile).toBe('P4x')
    expect(() => engine.execute(newContext(), failing(1), 'VALUE_CONVERTER', CONVERTER)).toThrow('Tolerance exceeded')
    expect(counters(metrics)).toEqual([2, 1, 0, 0])
  })

  test('P39 skips it whatever the tolerance', () => {
    const {engine, metrics} = makeEngine({profile: 'P39'})
    expect(engine.execute(newContext(), failing(1), 'VALUE_CONVERTER', CONVERTER)).toBeNull()
    expect(counters(metrics)).toEqual([1, 1, 1, 0])
  })

  test('retriableObeysTolerance brings either behaviour to either profile', () => {
    const killing = makeEngine({profile: 'P39', switches: {retriableObeysTolerance: true}}).engine
    expect(() => killing.execute(newContext(), failing(1), 'VALUE_CONVERTER', CONVERTER)).toThrow('Tolerance exceeded')
    const skipping = makeEngine({profile: 'P4x', switches: {retriableObeysTolerance: false}}).engine
    expect(skipping.execute(newContext(), failing(1), 'VALUE_CONVERTER', CONVERTER)).toBeNull()
  })
})

describe('switches', () => {
  const bad = (): never => {
    throw new DataException('bad')
  }
  const failedAtOnce = (): ReportFuture => SettableFuture.settled(new RetriableException('too large'))

  test('surfaceSyncDlqFailure shows a dead letter that failed at once; without it nobody sees it', () => {
    const reporters = [new RecordingReporter(), new RecordingReporter(failedAtOnce)]
    const state = (switches: object): string =>
      makeEngine({tolerance: 'all', reporters, switches}).engine.executeFailed(
        newContext(),
        'TASK_PUT',
        'x',
        new DataException('bad'),
      ).state
    expect(state({})).toBe('done')
    expect(state({surfaceSyncDlqFailure: true})).toBe('failed')
  })

  test('awaitConverterDlq makes offsets wait for the dead letters of converters', async () => {
    const ack = new SettableFuture()
    const {engine} = makeEngine({
      tolerance: 'all',
      reporters: [new RecordingReporter(() => ack)],
      switches: {awaitConverterDlq: true},
    })
    await engine.execute(newContext(), bad, 'VALUE_CONVERTER', CONVERTER)
    await engine.awaitReports([{topic: 'orders', partition: 4}])
    let committed = false
    const waiting = engine.awaitReports([{topic: 'orders', partition: 3}]).then(() => (committed = true))
    await new Promise(resolve => {
      setImmediate(resolve)
    })
    expect(committed).toBe(false)
    ack.complete()
    await waiting
    expect(committed).toBe(true)
  })

  test('awaitConverterDlq ends the task for one that failed', async () => {
    const {engine} = makeEngine({
      tolerance: 'all',
      reporters: [new RecordingReporter(() => ack)],
      switches: {awaitConverterDlq: true},
    })
    const ack = new SettableFuture()
    await engine.execute(newContext(), bad, 'VALUE_CONVERTER', CONVERTER)
    ack.fail(new DataException('refused'))
    await expect(engine.awaitReports([{topic: 'orders', partition: 3}])).rejects.toThrow('refused')
  })

  test('without awaitConverterDlq nobody waits', async () => {
    const {engine} = makeEngine({tolerance: 'all', reporters: [new RecordingReporter(() => new SettableFuture())]})
    await engine.execute(newContext(), bad, 'VALUE_CONVERTER', CONVERTER)
    await expect(engine.awaitReports([{topic: 'orders', partition: 3}])).resolves.toBeUndefined()
  })

  test.each([
    [{retryTimeoutMs: -2}, 'errors.retry.timeout is -2; it has to be -1 or more'],
    [{retryDelayMaxMs: 0}, 'errors.retry.delay.max.ms is 0; it has to be 1 or more'],
  ])('validateRanges refuses %o; without it that is accepted', (settings, message) => {
    expect(() => makeEngine({...settings, switches: {validateRanges: true}})).toThrow(message)
    expect(() => makeEngine(settings)).not.toThrow()
    expect(() => makeEngine({retryTimeoutMs: -1, retryDelayMaxMs: 1, switches: {validateRanges: true}})).not.toThrow()
  })
})

test('a failed draw is the error that everybody sees', async () => {
  const {engine, reporter} = makeEngine({retryTimeoutMs: 6000, retryDelayMaxMs: 0, tolerance: 'all'})
  expect(await engine.execute(newContext(), failing(9), 'VALUE_CONVERTER', CONVERTER)).toBeNull()
  expect(reporter.errors).toEqual([expect.any(JavaException)])
  expect(reporter.errors[0]).toMatchObject({
    className: 'java.lang.IllegalArgumentException',
    message: 'bound must be positive',
  })
})

test('closing closes every reporter, one that waits too, and reports go nowhere meanwhile', async () => {
  const release = Promise.withResolvers<void>()
  const slow = {report: () => SettableFuture.settled(), close: () => release.promise}
  const last = new RecordingReporter()
  const {engine, metrics} = makeEngine({tolerance: 'all', reporters: [slow, last]})
  const closing = engine.close()
  engine.executeFailed(newContext(), 'TASK_PUT', 'x', new DataException('bad'))
  release.resolve()
  await closing
  expect([last.closed, last.contexts.length]).toEqual([1, 0])
  expect(counters(metrics)).toEqual([1, 0, 0, 0])
})
