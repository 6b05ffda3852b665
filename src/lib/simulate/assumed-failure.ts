import {familyOfClass, JavaException} from '../connect-engine/errors.ts'
import type {Stage} from '../connect-engine/stage.ts'
import type {DeadLetter} from '../dead-letter/model.ts'

/** A failure that a record is assumed to meet again. */
export interface AssumedFailure {
  readonly stage: Stage
  readonly error: JavaException
}

/** Stages at which a sink's records fail. */
const SINK_STAGES: readonly Stage[] = [
  'KEY_CONVERTER',
  'VALUE_CONVERTER',
  'HEADER_CONVERTER',
  'TRANSFORMATION',
  'TASK_PUT',
]

/** Rules for what the headers do not say. */
export interface AssumeRules {
  /** Stage of records whose headers tell an exception and no stage of Connect; null = these do not fail. */
  readonly stage: Stage | null
  /** Classes that Connect would retry: its RetriableException is one without being named. */
  readonly retriable: (className: string) => boolean
}

/** @returns null when the headers tell of no failure that a sink can have */
export function assumedFailure(
  {failure}: DeadLetter,
  {stage: fallback, retriable}: AssumeRules,
): AssumedFailure | null {
  const told = SINK_STAGES.find(stage => stage === failure.stage) ?? (failure.dialect === 'none' ? null : fallback)
  if (told === null) return null
  const {class: className = 'java.lang.Exception', message = null, cause} = failure.exception ?? {}
  const family = retriable(className) ? 'retriable' : familyOfClass(className)
  const causedBy =
    cause === undefined || cause === className ? {} : {cause: new JavaException({className: cause, message: null})}
  return {stage: told, error: new JavaException({className, message, family, ...causedBy})}
}
