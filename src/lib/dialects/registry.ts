import {connect} from './connect.ts'
import type {Dialect} from './dialect.ts'

/** All header families in tie-break order: the earlier one is the outer one when nothing else tells. */
export const DIALECTS: readonly Dialect[] = [connect]

/** Every word that `--stage` accepts, without repeats. */
export function knownStages(dialects: readonly Dialect[] = DIALECTS): string[] {
  return [...new Set(dialects.flatMap(dialect => dialect.stages))]
}
