import {JavaException} from '../connect-engine/errors.ts'
import type {Stage} from '../connect-engine/stage.ts'
import type {DecodedRecord, DecodeProblem} from '../serde/index.ts'
import type {AssumedFailure} from './assumed-failure.ts'

const DATA_EXCEPTION = 'org.apache.kafka.connect.errors.DataException'

/**
 * Where Connect's converters would stop at a record that was decoded for real: the key's comes first.
 * @returns null when both could be read, or nothing is known against them
 */
export function converterFailure({key, value}: DecodedRecord): AssumedFailure | null {
  for (const [stage, {error}] of [
    ['KEY_CONVERTER', key],
    ['VALUE_CONVERTER', value],
  ] as const) {
    if (error === undefined || isRegistryTrouble(error)) continue
    return {stage, error: new JavaException({className: DATA_EXCEPTION, message: error.message})}
  }
  return null
}

/** True when the registry did not tell the schema of a part: that says nothing about the record. */
export function isUndecided({key, value}: DecodedRecord): boolean {
  return [key, value].some(({error}) => error !== undefined && isRegistryTrouble(error))
}

function isRegistryTrouble({step, reason}: DecodeProblem): boolean {
  return step === 'registry' && reason !== 'not-found'
}

/** True for stages at which `converterFailure` finds out for itself. */
export function isConverterStage(stage: Stage): boolean {
  return stage === 'KEY_CONVERTER' || stage === 'VALUE_CONVERTER'
}
