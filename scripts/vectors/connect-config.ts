import {
  type ErrorHandlingConfig,
  parseErrorHandlingConfig,
  validateKeys,
  validateTopics,
} from '../../src/lib/connect-engine/config.ts'
import {CONFIG_DEFINITIONS} from '../../src/lib/connect-engine/config-definitions.ts'
import type {ConfigValue} from '../../src/lib/connect-engine/config-value.ts'
import type {Profile} from '../../src/lib/connect-engine/options.ts'
import {fromError} from './connect-format.ts'
import type {VectorInput} from './connect-format.ts'

type Fields = Record<string, unknown>

/** What our configuration code says about the properties of a `config` vector. */
export function runConfigVector(input: VectorInput, profile: Profile): Fields {
  if (input.definitions === true) {
    return {definitions: CONFIG_DEFINITIONS.map(({kinds: _kinds, ...definition}) => definition)}
  }
  const properties = input.config ?? {}
  const options = {kind: 'sink', profile} as const
  const {values, errors} = validateKeys(properties, options)
  const shown = [...values].filter(([key]) => key.startsWith('errors.') || Object.hasOwn(properties, key))
  const fields: Fields = {
    values: Object.fromEntries(shown.map(([key, value]) => [key, valueText(value)])),
    errors: Object.fromEntries(errors),
  }
  if (input.cross === true) Object.assign(fields, crossFields(properties))
  return {...fields, ...derivedFields(() => parseErrorHandlingConfig(properties, options))}
}

function crossFields(properties: Readonly<Record<string, string | null>>): Fields {
  try {
    return {crossErrors: Object.fromEntries(validateTopics(properties))}
  } catch (error) {
    return {crossThrown: fromError(error)}
  }
}

/** What the engine would be built with, as far as it comes. */
function derivedFields(parse: () => ErrorHandlingConfig): Fields {
  const derived: Fields = {}
  try {
    const config = parse()
    derived['tolerance'] = config.tolerance.toUpperCase()
    derived['errantRecordReporter'] = config.offersErrantRecordReporter
    derived['dlqReporter'] = config.usesDlq
    return {derived}
  } catch (error) {
    const parseThrown = fromError(error)
    return Object.keys(derived).length === 0 ? {parseThrown} : {derived, parseThrown}
  }
}

function valueText(value: ConfigValue): unknown {
  return value === null || Array.isArray(value) ? value : String(value)
}
