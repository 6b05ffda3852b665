import type {ProcessingContext} from './processing-context.ts'
import type {ReportFuture} from './report-future.ts'

/** Whoever is told about a record that was given up. `report` must not wait: the engine calls all reporters in one go. */
export interface ErrorReporter<T> {
  report(context: ProcessingContext<T>): ReportFuture
  /** Waits while more is queued than should be; a runtime asks between records, as `report` itself never waits. */
  ready?(): Promise<void>
  close(): void | Promise<void>
}

/** One line of an application's log, at level ERROR. */
export interface LogEvent {
  /** Simple class name of Connect's class that writes it, e.g. `LogReporter`. */
  readonly logger: string
  readonly message: string
  readonly error: Error | null
}

/** Where log lines go; the engine itself prints nothing. */
export type LogSink = (event: LogEvent) => void
