import {expect, test} from 'vitest'
import {DataException} from '../../../src/lib/connect-engine/errors.ts'
import {ErrorHandlingMetrics} from '../../../src/lib/connect-engine/metrics.ts'
import {taskMetrics, toPrometheus} from '../../../src/lib/connect-engine/prometheus.ts'
import {ProcessingContext} from '../../../src/lib/connect-engine/processing-context.ts'
import {consumed, makeEngine} from '../../support/connect-engine.ts'
import {FakeClock} from '../../support/fake-clock.ts'

test('metrics have the names of KIP-298 and start at 0 with every task', () => {
  const {snapshot} = {snapshot: new ErrorHandlingMetrics({connector: 'c', task: 0, clock: new FakeClock()}).snapshot()}
  expect(snapshot).toEqual({
    'total-record-failures': 0,
    'total-record-errors': 0,
    'total-records-skipped': 0,
    'total-retries': 0,
    'total-errors-logged': 0,
    'deadletterqueue-produce-requests': 0,
    'deadletterqueue-produce-failures': 0,
    'last-error-timestamp': 0,
  })
})

test('as JSON they name connector and task', async () => {
  const {engine, metrics, clock} = makeEngine({tolerance: 'all'})
  engine.executeFailed(new ProcessingContext(consumed()), 'TASK_PUT', 'x', new DataException('bad'))
  expect(JSON.parse(JSON.stringify(taskMetrics(metrics)))).toMatchObject({
    connector: 'job',
    task: 0,
    metrics: {'total-record-failures': 1, 'total-record-errors': 0, 'last-error-timestamp': clock.now()},
  })
})

test('in the Prometheus text a family comes once, with a line a task and escaped labels', () => {
  const clock = new FakeClock({now: 1_764_500_000_123})
  const first = new ErrorHandlingMetrics({connector: 'a "b"\\\n', task: 0, clock})
  const second = new ErrorHandlingMetrics({connector: 'näme', task: 12, clock})
  first.recordRetry()
  second.recordErrorTimestamp()
  const text = toPrometheus([taskMetrics(first), taskMetrics(second)])
  expect(text).toContain(
    [
      '# HELP kafka_connect_task_error_metrics_total_retries Waits before another attempt.',
      '# TYPE kafka_connect_task_error_metrics_total_retries counter',
      String.raw`kafka_connect_task_error_metrics_total_retries{connector="a \"b\"\\\n",task="0"} 1`,
      'kafka_connect_task_error_metrics_total_retries{connector="näme",task="12"} 0',
      '# HELP kafka_connect_task_error_metrics_total_errors_logged',
    ].join('\n'),
  )
  expect(text).toContain('# TYPE kafka_connect_task_error_metrics_last_error_timestamp gauge\n')
  expect(text).toContain('last_error_timestamp{connector="näme",task="12"} 1764500000123\n')
  expect(text.match(/^# TYPE /gm)).toHaveLength(8)
  expect(text.endsWith('\n')).toBe(true)
})
