import {expect, test} from 'vitest'
import {ConnectException} from '../../../src/lib/connect-engine/errors.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {bench, type Bench, consumed, P1, QUEUE} from '../../support/sink-runner.ts'

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
