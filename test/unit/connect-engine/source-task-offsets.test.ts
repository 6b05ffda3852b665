import {expect, test} from 'vitest'
import type {RecordMetadata} from '../../../src/lib/connect-engine/source-task.ts'
import {KafkaError} from '../../../src/lib/errors.ts'
import {polled, type Send, type Bench, ALL, bench, counters, lines} from '../../support/source-runner.ts'

test('H12: a record that is skipped does not move the offset by itself, a later one does', async () => {
  const run = bench(ALL, {offsetFlushIntervalMs: 10})
  run.source.steps.push([polled(1, 'a'), polled(2, 'bad')], () => {
    void run.clock.advance(10)
    return null
  }, [polled(3, 'c')]) // prettier-ignore
  await run.runner.run()
  expect(run.source.calls.filter(call => call.startsWith('commitRecord'))).toEqual([
    'commitRecord 1 0',
    'commitRecord 2 null',
    'commitRecord 3 1',
  ])
  expect(lines(run)).toEqual([[1], [3]])
})

test('offsets stop before the first record that is still on its way', async () => {
  const waiting: ((metadata: RecordMetadata) => void)[] = []
  const run = bench({}, {
    offsetFlushIntervalMs: 10,
    send: () => new Promise(resolve => waiting.push(resolve)),
  }) // prettier-ignore
  const written = {topic: 't', partition: 0, offset: 0n}
  run.source.steps.push(
    [polled(1, 'a'), polled(2, 'b'), polled(1, 'x', {sourcePartition: {file: 'other'}})],
    () => {
      waiting[1]?.(written)
      waiting[2]?.(written)
      return null
    },
    () => {
      void run.clock.advance(10)
      return null
    },
    () => {
      waiting[0]?.(written)
      return null
    },
  )
  await run.runner.run()
  expect(run.offsets.map(each => each.map(({sourcePartition, sourceOffset}) => [sourcePartition['file'], sourceOffset['line']]))).toEqual([
    [['other', 1]],
    [['f', 2]],
  ]) // prettier-ignore
})

test('offsets that could not be written are written with the next ones', async () => {
  let fails = true
  const written: unknown[] = []
  const run = bench({}, {
    offsetFlushIntervalMs: 10,
    writeOffsets: offsets => {
      if (fails) return Promise.reject(new KafkaError('no coordinator'))
      written.push(offsets)
      return Promise.resolve()
    },
  }) // prettier-ignore
  run.source.steps.push([polled(1, 'a')], () => {
    void run.clock.advance(10)
    return null
  }, () => {
    fails = false
    return null
  }) // prettier-ignore
  await run.runner.run()
  expect(written).toEqual([[{sourcePartition: {file: 'f'}, sourceOffset: {line: 1}}]])
})

test('H14: an exception of commitRecord or commit is logged only', async () => {
  const run = bench({})
  Object.assign(run.source, {
    commit: () => {
      throw new Error('no commit')
    },
    commitRecord: () => {
      throw new Error('no commitRecord')
    },
  })
  run.source.steps.push([polled(1, 'a')])
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.log.map(({error}) => error?.message)).toEqual(['no commitRecord', 'no commit'])
})

test('a timestamp below -1 ends the task outside the engine', async () => {
  const run = bench(ALL)
  run.source.steps.push([polled(1, 'a', {timestamp: -2n})])
  expect(await run.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {className: 'org.apache.kafka.common.InvalidRecordException'},
  })
  expect(counters(run)).toEqual([0, 0, 0])
})

test('without tolerance a converter that fails ends the task; what was sent before is committed', async () => {
  const run = bench({})
  run.source.steps.push([polled(1, 'a'), polled(2, 'bad'), polled(3, 'c')])
  expect(await run.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {message: 'Tolerance exceeded in error handler', cause: {message: 'bad value'}},
  })
  expect(lines(run)).toEqual([[1]])
})

function transactional(send?: Send): Bench & {readonly transactions: string[]} {
  const transactions: string[] = []
  const run = bench(ALL, {
    ...(send === undefined ? {} : {send}),
    transactions: {
      begin: async () => {
        transactions.push('begin')
      },
      commit: async offsets => {
        transactions.push(`commit ${offsets.map(({sourceOffset}) => String(sourceOffset['line'])).join(' ')}`)
      },
    },
  })
  return {...run, transactions}
}

test('exactly once: a transaction a poll, its offsets with it, and records are committed after it', async () => {
  const run = transactional()
  run.source.steps.push([polled(1, 'a'), polled(2, 'bad'), polled(3, 'c')], [polled(4, 'bad')], [polled(5, 'e')])
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.transactions).toEqual(['begin', 'commit 3', 'begin', 'commit 5'])
  expect(run.source.calls.filter(call => call.startsWith('commitRecord'))).toEqual([
    'commitRecord 1 0',
    'commitRecord 2 null',
    'commitRecord 3 1',
    'commitRecord 4 null',
    'commitRecord 5 2',
  ])
  expect(run.offsets).toEqual([])
})

test('H09: exactly once: a failed send ends the task at the commit, whatever is tolerated', async () => {
  const run = transactional(() => Promise.reject(new KafkaError('too large')))
  run.source.steps.push([polled(1, 'a')])
  expect(await run.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {message: 'Failed to flush offsets and/or records for task job-3', cause: {message: 'too large'}},
  })
  expect(run.transactions).toEqual(['begin'])
  expect(counters(run)).toEqual([0, 0, 0])
})

test('a paused source is not polled', async () => {
  const run = bench({})
  run.source.steps.push(() => {
    run.runner.pause()
    setImmediate(() => {
      run.source.calls.push(`paused: ${run.runner.status.state}`)
      run.runner.resume()
    })
    return [polled(1, 'a')]
  }, () => {
    run.source.calls.push('polled again')
    return null
  }) // prettier-ignore
  await run.runner.run()
  expect(run.source.calls.slice(0, 4)).toEqual(['start', 'commitRecord 1 0', 'paused: PAUSED', 'polled again'])
})

test('cancel commits no offsets', async () => {
  const run = bench({})
  run.source.steps.push([polled(1, 'a')], () => {
    run.runner.cancel()
    return null
  })
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.offsets).toEqual([])
})
