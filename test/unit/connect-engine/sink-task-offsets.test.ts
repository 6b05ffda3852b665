import {expect, test} from 'vitest'
import {ConnectException, RetriableException} from '../../../src/lib/connect-engine/errors.ts'
import {SettableFuture} from '../../../src/lib/connect-engine/report-future.ts'
import {P0, P1, consumed, ALL, QUEUE, bench} from '../../support/sink-runner.ts'

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
