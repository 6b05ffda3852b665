import {JavaException} from '../connect-engine/errors.ts'
import type {Stage} from '../connect-engine/stage.ts'
import type {DecodedRecord} from '../serde/index.ts'
import type {AssumedFailure} from './assumed-failure.ts'

const DATA_EXCEPTION = 'org.apache.kafka.connect.errors.DataException'

/**
 * Where Connect's converters would stop at a record that was decoded for real: the key's comes first.
 * @returns null when both could be read
 */
export function converterFailure({key, value}: DecodedRecord): AssumedFailure | null {
  const error = key.error ?? value.error
  if (error === undefined) return null
  const stage = key.error === undefined ? 'VALUE_CONVERTER' : 'KEY_CONVERTER'
  return {stage, error: new JavaException({className: DATA_EXCEPTION, message: error.message})}
}

/** True for stages at which `converterFailure` finds out for itself. */
export function isConverterStage(stage: Stage): boolean {
  return stage === 'KEY_CONVERTER' || stage === 'VALUE_CONVERTER'
}
