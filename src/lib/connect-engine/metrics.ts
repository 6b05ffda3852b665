/** The counters of KIP-298, by their names. */
export const METRIC_NAMES = [
  'total-record-failures',
  'total-record-errors',
  'total-records-skipped',
  'total-retries',
  'total-errors-logged',
  'deadletterqueue-produce-requests',
  'deadletterqueue-produce-failures',
] as const

/** Name of a counter, as the MBean attribute of KIP-298. */
export type MetricName = (typeof METRIC_NAMES)[number]

/** Gauge: epoch ms of the last time that something was given up or reported; 0 = never. */
export const LAST_ERROR_TIMESTAMP = 'last-error-timestamp'

/** All metrics of one task at one moment, by their names. */
export type MetricsSnapshot = Readonly<Record<MetricName | typeof LAST_ERROR_TIMESTAMP, number>>

/** Whose metrics these are. */
export interface MetricsOptions {
  readonly connector: string
  /** Task number. */
  readonly task: number
  /** Wall clock for `last-error-timestamp`. */
  readonly clock: {now(): number}
}

/**
 * Metrics of one task's error handling; they start at 0 with every task.
 * @see KIP-298; Connect's ErrorHandlingMetrics, group `task-error-metrics`
 */
export class ErrorHandlingMetrics {
  readonly connector: string
  readonly task: number
  readonly #clock: {now(): number}
  #failures = 0
  #errors = 0
  #skipped = 0
  #retries = 0
  #logged = 0
  #produceRequests = 0
  #produceFailures = 0
  #lastErrorMs = 0

  constructor({connector, task, clock}: MetricsOptions) {
    this.connector = connector
    this.task = task
    this.#clock = clock
  }

  /** One attempt threw, or one failure was reported. */
  recordFailure(): void {
    this.#failures++
  }

  /** An operation was given up, or a reported failure exceeded the tolerance. */
  recordError(): void {
    this.#errors++
  }

  /** An operation was given up without throwing. */
  recordSkipped(): void {
    this.#skipped++
  }

  /** A back-off ended. */
  recordRetry(): void {
    this.#retries++
  }

  recordErrorLogged(): void {
    this.#logged++
  }

  recordDeadLetterQueueProduceRequest(): void {
    this.#produceRequests++
  }

  recordDeadLetterQueueProduceFailed(): void {
    this.#produceFailures++
  }

  /** Something was given up or reported now. */
  recordErrorTimestamp(): void {
    this.#lastErrorMs = Math.trunc(this.#clock.now())
  }

  snapshot(): MetricsSnapshot {
    return {
      'total-record-failures': this.#failures,
      'total-record-errors': this.#errors,
      'total-records-skipped': this.#skipped,
      'total-retries': this.#retries,
      'total-errors-logged': this.#logged,
      'deadletterqueue-produce-requests': this.#produceRequests,
      'deadletterqueue-produce-failures': this.#produceFailures,
      'last-error-timestamp': this.#lastErrorMs,
    }
  }
}
