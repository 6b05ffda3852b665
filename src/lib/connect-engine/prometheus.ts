import {LAST_ERROR_TIMESTAMP, METRIC_NAMES} from './metrics.ts'
import type {ErrorHandlingMetrics, MetricsSnapshot} from './metrics.ts'

/** Connect's MBean domain and group, as the JMX exporter writes them: dashboards made for a worker fit. */
const PREFIX = 'kafka_connect_task_error_metrics_'

const HELP: Readonly<Record<keyof MetricsSnapshot, string>> = {
  'total-record-failures': 'Attempts that failed, and failures that were reported.',
  'total-record-errors': 'Operations that were given up, and reports beyond the tolerance.',
  'total-records-skipped': 'Records skipped because of an error.',
  'total-retries': 'Waits before another attempt.',
  'total-errors-logged': 'Errors that were logged.',
  'deadletterqueue-produce-requests': 'Writes to the dead letter queue that were asked for.',
  'deadletterqueue-produce-failures': 'Writes to the dead letter queue that failed.',
  'last-error-timestamp': 'When this task last met an error, in milliseconds since the epoch; 0 = never.',
}

/** Metrics of a task, ready to be read by a program. */
export interface TaskMetrics {
  readonly connector: string
  readonly task: number
  readonly metrics: MetricsSnapshot
}

/** The metrics of a task with its name, for JSON. */
export function taskMetrics(metrics: ErrorHandlingMetrics): TaskMetrics {
  return {connector: metrics.connector, task: metrics.task, metrics: metrics.snapshot()}
}

/**
 * The metrics of tasks in Prometheus' text format 0.0.4, under the metrics' own names with `_` for `-`; label values are
 * escaped.
 */
export function toPrometheus(tasks: readonly TaskMetrics[]): string {
  return [
    ...METRIC_NAMES.map(name => family(name, 'counter', tasks)),
    family(LAST_ERROR_TIMESTAMP, 'gauge', tasks),
  ].join('')
}

function family(name: keyof MetricsSnapshot, type: 'counter' | 'gauge', tasks: readonly TaskMetrics[]): string {
  const full = PREFIX + name.replaceAll('-', '_')
  const samples = tasks.map(
    ({connector, task, metrics}) => `${full}{connector="${escapeLabel(connector)}",task="${task}"} ${metrics[name]}`,
  )
  return [`# HELP ${full} ${HELP[name]}`, `# TYPE ${full} ${type}`, ...samples, ''].join('\n')
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
