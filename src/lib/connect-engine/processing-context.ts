import type {Stage} from './stage.ts'

/**
 * What the engine knows about one record on its way; made before the first operation on it and used until it is done.
 * @see Connect's ProcessingContext (3.8 and later: one a record)
 */
export class ProcessingContext<T> {
  /** The record as it was consumed (sink) or polled (source); null only where there is none. */
  readonly original: T | null
  /** Last stage that was entered; null before the first. */
  stage: Stage | null = null
  /** Class name of what ran there; null when it has none. */
  executingClass: string | null = null
  /** Attempts of the last operation, from 1; 0 before the first. Nothing publishes it. */
  attempt = 0
  /** Why the record was given up; null while it was not. Never cleared by the engine. */
  error: Error | null = null

  constructor(original: T | null) {
    this.original = original
  }

  /** True once an operation on the record was given up, or its failure reported. */
  get failed(): boolean {
    return this.error !== null
  }
}
