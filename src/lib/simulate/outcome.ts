import type {Stage} from '../connect-engine/stage.ts'

/**
 * What becomes of a record. `skipped`: dropped, and nobody can find it again. `kills-task`: the task fails and stays failed;
 * started again, it reads the same record. `blocks-forever`: it is tried again without end, and nothing behind it is read.
 */
export type SimulatedFate = 'processed' | 'dead-lettered' | 'skipped' | 'kills-task' | 'blocks-forever'

/** JSON as it is. */
export interface SimulatedOutcome {
  readonly fate: SimulatedFate
  /** Where it failed; null = it did not. */
  readonly stage: Stage | null
  /** Calls of the operation that failed; null where the engine only reports, and for `blocks-forever`. */
  readonly attempts: number | null
  /** Time in which the task did nothing else, ms; null = for ever. */
  readonly blockedMs: number | null
  /** A copy was written to the dead letter topic (also when the task died). */
  readonly deadLetter: boolean
  readonly logged: boolean
  /** One sentence. */
  readonly why: string
}
