import {expect, test} from 'vitest'
import {DataException, RetriableException} from '../../../src/lib/connect-engine/errors.ts'
import type {ReportFuture} from '../../../src/lib/connect-engine/report-future.ts'
import type {SinkRecord} from '../../../src/lib/connect-engine/data.ts'
import {bench, type Bench, consumed, counters, P0, P1, QUEUE} from '../../support/sink-runner.ts'

const LATE = new Error('record too large')

/** Reports every record whose value starts with `odd`, from `put`. */
function reportOdd(run: Bench, onReport: (future: ReportFuture | undefined) => void = () => {}): void {
  run.task.onPut = records => {
    for (const record of records) if (String(record.value).startsWith('odd')) onReport(report(run, record))
  }
}

function report(run: Bench, record: SinkRecord): ReportFuture | undefined {
  return run.task.context?.errantRecordReporter()?.report(record, new DataException('odd'))
}

/** Lets everything run that does not wait for an acknowledgement. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
}

test('a put that throws: reports of earlier batches are written before their offsets are committed', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  reportOdd(run)
  run.consumer.script([consumed(0, 'odd')], () => {
    run.task.onPut = () => {
      throw new DataException('cannot write')
    }
    return [consumed(1, 'b')]
  })
  const ended = run.runner.run()
  await idle()
  expect(run.consumer.commits).toEqual([])
  expect(run.task.calls.filter(call => call.startsWith('preCommit'))).toEqual([])
  run.sent[0]?.future.complete()
  expect(await ended).toMatchObject({state: 'FAILED', error: {cause: {message: 'cannot write'}}})
  expect(run.consumer.commits).toEqual(['commit t-0@1'])
})

test('a put that reports and throws: the report is awaited although its batch is not committed', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  run.task.onPut = records => {
    for (const record of records) report(run, record)
    if (records.length > 0) throw new DataException('cannot write')
  }
  run.consumer.script([consumed(0, 'odd')])
  const ended = run.runner.run()
  await idle()
  expect(run.task.calls).not.toContain('stop')
  run.sent[0]?.future.fail(LATE)
  // What ended the task is what put threw; the lost report is in the log.
  expect(await ended).toMatchObject({state: 'FAILED', error: {cause: {message: 'cannot write'}}})
  expect(run.consumer.commits).toEqual([])
  expect(run.log.map(({message}) => message).join('\n')).toContain('Could not close the partitions of a failed task')
})

test('a report that fails while its partition is revoked: the other partition is closed, nothing is committed', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  reportOdd(run)
  run.consumer.script(run.consumer.assign(P1), [consumed(0, 'odd', P1), consumed(0, 'fine')], async listener => {
    run.sent[0]?.future.fail(LATE)
    await run.consumer.remove('revoked', P1)(listener)
    return [consumed(1, 'never put')]
  })
  expect(await run.runner.run()).toMatchObject({
    state: 'FAILED',
    error: {cause: {cause: {message: 'record too large'}}},
  })
  expect(run.task.calls.filter(call => /put .*never|preCommit/.test(call))).toEqual([])
  expect(run.task.calls).toContain('close 0')
  expect(run.consumer.commits).toEqual([])
})

test('a batch that is put again is reported again, and each of its reports is awaited', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  let puts = 0
  run.task.onPut = records => {
    for (const record of records) report(run, record)
    if (records.length > 0 && puts++ === 0) throw new RetriableException('busy')
  }
  run.consumer.script([consumed(0, 'odd')], [])
  const ended = run.runner.run()
  await idle()
  expect(run.sent).toHaveLength(2)
  run.sent[1]?.future.complete()
  await idle()
  expect(run.consumer.commits).toEqual([])
  run.sent[0]?.future.complete()
  expect(await ended).toMatchObject({state: 'UNASSIGNED'})
  expect(run.consumer.commits).toEqual(['commit t-0@1'])
  expect(counters(run)).toEqual([2, 0, 0, 0])
})

test('a report of a lost partition that fails afterwards harms nobody', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  reportOdd(run)
  run.consumer.script(
    run.consumer.assign(P1),
    [consumed(0, 'odd', P1), consumed(0, 'fine')],
    run.consumer.remove('lost', P1),
    () => {
      run.sent[0]?.future.fail(LATE)
      return []
    },
  )
  expect(await run.runner.run()).toMatchObject({state: 'UNASSIGNED'})
  expect(run.consumer.commits).toEqual(['commit t-0@1'])
  expect(run.runner.metrics.snapshot()['deadletterqueue-produce-failures']).toBe(1)
})

test('a report after the end of the task is counted and goes nowhere', async () => {
  const run = bench(QUEUE)
  const kept: SinkRecord[] = []
  run.task.onPut = records => {
    kept.push(...records)
  }
  run.consumer.script([consumed(0, 'odd')])
  await run.runner.run()
  const [record] = kept
  if (record === undefined) throw new Error('no record was put')
  expect(report(run, record)).toMatchObject({state: 'done'})
  expect(run.sent).toEqual([])
  expect(counters(run)).toEqual([1, 0, 0, 0])
})

test('a report made while another commit waits for its reports is awaited by the next commit', async () => {
  const run = bench(QUEUE, {acknowledge: false})
  const kept: SinkRecord[] = []
  run.task.onPut = records => {
    kept.push(...records)
    for (const record of records) if (record.value === 'odd') report(run, record)
  }
  run.consumer.script(
    [consumed(0, 'odd'), consumed(1, 'slow')],
    () => {
      run.task.context?.requestCommit()
      return []
    },
    [],
  )
  const ended = run.runner.run()
  await idle()
  const [, slow] = kept
  if (slow === undefined) throw new Error('the second record was not put')
  report(run, slow)
  run.sent[0]?.future.complete()
  await idle()
  // The first commit did not know of the second report; the one of the end waits for it.
  expect(run.task.calls).not.toContain(`close ${P0.partition}`)
  run.sent[1]?.future.complete()
  expect(await ended).toMatchObject({state: 'UNASSIGNED'})
})
