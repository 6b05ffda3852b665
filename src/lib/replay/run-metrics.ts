import {LAST_ERROR_TIMESTAMP, METRIC_NAMES} from '../connect-engine/metrics.ts'
import type {MetricsSnapshot} from '../connect-engine/metrics.ts'

/** Metrics of a run that met no error. */
export const NO_METRICS: MetricsSnapshot = readMetrics({})

/** Metrics by their names (KIP-298); what is not there is 0. */
export function readMetrics(metrics: Readonly<Record<string, number>>): MetricsSnapshot {
  const of = (name: keyof MetricsSnapshot): number => metrics[name] ?? 0
  return {
    'total-record-failures': of('total-record-failures'),
    'total-record-errors': of('total-record-errors'),
    'total-records-skipped': of('total-records-skipped'),
    'total-retries': of('total-retries'),
    'total-errors-logged': of('total-errors-logged'),
    'deadletterqueue-produce-requests': of('deadletterqueue-produce-requests'),
    'deadletterqueue-produce-failures': of('deadletterqueue-produce-failures'),
    [LAST_ERROR_TIMESTAMP]: of(LAST_ERROR_TIMESTAMP),
  }
}

/** Metrics of two processes of one run: sums, and the later time. */
export function addMetrics(a: MetricsSnapshot, b: MetricsSnapshot): MetricsSnapshot {
  const sums = METRIC_NAMES.map(name => [name, a[name] + b[name]] as const)
  const last = Math.max(a[LAST_ERROR_TIMESTAMP], b[LAST_ERROR_TIMESTAMP])
  return readMetrics({...Object.fromEntries(sums), [LAST_ERROR_TIMESTAMP]: last})
}
