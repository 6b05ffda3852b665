import {describe, expect, test} from 'vitest'
import {ConnectException, ExecutionException, JavaException} from '../../../src/lib/connect-engine/errors.ts'
import {
  awaitReports,
  CompositeFuture,
  doneFuture,
  PendingReports,
  SettableFuture,
} from '../../../src/lib/connect-engine/report-future.ts'
import {FakeClock} from '../../support/fake-clock.ts'

const late = new JavaException({className: 'org.apache.kafka.common.errors.TimeoutException', message: 'late'})

test('a future that failed at once says so at once', () => {
  const future = SettableFuture.settled(late)
  expect([future.state, future.isDone, future.error]).toEqual(['failed', true, late])
  expect(doneFuture().state).toBe('done')
})

test('a future settles once', () => {
  const future = new SettableFuture()
  const seen: (Error | null)[] = []
  future.onDone(error => seen.push(error))
  future.complete()
  future.fail(late)
  future.onDone(error => seen.push(error))
  expect(seen).toEqual([null, null])
  expect(future.state).toBe('done')
})

test('get waits, and throws what failed as the cause', async () => {
  const future = new SettableFuture()
  const waiting = future.get()
  future.fail(late)
  await expect(waiting).rejects.toThrow(ExecutionException)
  await expect(future.get()).rejects.toMatchObject({
    message: 'org.apache.kafka.common.errors.TimeoutException: late',
    cause: late,
  })
})

test('get with a limit gives each part that much time', async () => {
  const clock = new FakeClock()
  const [first, second] = [new SettableFuture(), new SettableFuture()]
  let outcome: unknown = 'waiting'
  const waiting = new CompositeFuture([first, second]).get({timeoutMs: 100, clock}).then(
    () => 'done',
    (error: unknown) => error,
  )
  void waiting.then(result => (outcome = result))
  await clock.advance(99)
  first.complete()
  await clock.advance(0)
  await clock.advance(99)
  expect(outcome).toBe('waiting')
  await clock.advance(1)
  expect(await waiting).toMatchObject({className: 'java.util.concurrent.TimeoutException'})
  expect(clock.waiting).toBe(0)
})

describe('a composite', () => {
  test('is done when all parts are, and tells the first failure in order', () => {
    const parts = [new SettableFuture(), new SettableFuture()]
    const composite = new CompositeFuture(parts)
    const seen: (Error | null)[] = []
    composite.onDone(error => seen.push(error))
    const second = new Error('second')
    parts[1]?.fail(second)
    expect(composite.state).toBe('pending')
    parts[0]?.fail(late)
    expect([composite.state, composite.error]).toEqual(['failed', late])
    expect(seen).toEqual([late])
  })

  test('of nothing is done', () => {
    const seen: (Error | null)[] = []
    new CompositeFuture([]).onDone(error => seen.push(error))
    expect(seen).toEqual([null])
  })

  test('cannot be cancelled', () => {
    expect(() => new CompositeFuture([doneFuture()]).cancel()).toThrow('cannot be cancelled')
    expect(doneFuture().cancel()).toBe(false)
  })
})

describe('pending reports', () => {
  test('hold what is not done, by partition, until somebody takes it', () => {
    const pending = new PendingReports()
    const [a, b] = [new SettableFuture(), new SettableFuture()]
    pending.file({topic: 'a', partition: 10}, a)
    pending.file({topic: 'a', partition: 9}, b)
    pending.file({topic: 'a', partition: 9}, SettableFuture.settled(late))
    expect(pending.counts()).toEqual([
      {topic: 'a', partition: 9, count: 1},
      {topic: 'a', partition: 10, count: 1},
    ])
    expect(
      pending.take([
        {topic: 'a', partition: 9},
        {topic: 'b', partition: 0},
      ]),
    ).toEqual([b])
    expect(pending.take([{topic: 'a', partition: 9}])).toEqual([])
    expect(pending.counts()).toHaveLength(1)
  })

  test('that fail throw ConnectException around the ExecutionException', async () => {
    const error = await awaitReports([doneFuture(), SettableFuture.settled(late)]).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConnectException)
    expect(error).toMatchObject({cause: {className: 'java.util.concurrent.ExecutionException', cause: late}})
  })
})
