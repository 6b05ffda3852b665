import {isDeepStrictEqual} from 'node:util'
import {
  type ConnectorProperties,
  parseErrorHandlingConfig,
  validateKeys,
  validateTopics,
} from '../../src/lib/connect-engine/config.ts'
import {CONFIG_DEFINITIONS} from '../../src/lib/connect-engine/config-definitions.ts'
import type {ConfigValue} from '../../src/lib/connect-engine/config-value.ts'
import {classNameOf, messageOf} from '../../src/lib/connect-engine/errors.ts'

export interface ConfigVector {
  readonly id: string
  readonly kind: 'config'
  readonly input: {
    readonly config?: ConnectorProperties
    readonly definitions?: boolean
    readonly cross?: boolean
  }
  readonly expected: Readonly<Record<string, unknown>>
}

interface ThrownText {
  readonly class: string
  readonly message: string | null
}

/** What the configuration says, in the shape of a vector's `expected`. */
export function runConfigVector({input}: ConfigVector, profile: 'P4x' | 'P39'): Record<string, unknown> {
  if (input.definitions === true) {
    return {
      definitions: CONFIG_DEFINITIONS.map(definition =>
        Object.fromEntries(Object.entries(definition).filter(([name]) => name !== 'kinds')),
      ),
    }
  }
  const properties = input.config ?? {}
  const options = {kind: 'sink', profile} as const
  const {values, errors} = validateKeys(properties, options)
  const given = [...values].filter(([key]) => !key.startsWith('topics') || key in properties)
  const observed: Record<string, unknown> = {
    values: Object.fromEntries(given.map(([key, value]) => [key, valueText(value)])),
    errors: Object.fromEntries(errors),
  }
  if (input.cross === true) {
    Object.assign(
      observed,
      thrownBy('crossThrown', () => {
        observed['crossErrors'] = Object.fromEntries(validateTopics(properties))
      }),
    )
  }
  const derived: Record<string, unknown> = {}
  const thrown = thrownBy('parseThrown', () => {
    const config = parseErrorHandlingConfig(properties, options)
    observed['derived'] = derived
    derived['tolerance'] = config.tolerance.toUpperCase()
    derived['errantRecordReporter'] = config.offersErrantRecordReporter
    derived['dlqReporter'] = config.usesDlq
  })
  return Object.assign(observed, thrown)
}

/** Differences between a vector's expectation and what the code says; empty = it passes. */
export function configVectorDifferences(vector: ConfigVector, profile: 'P4x' | 'P39'): string[] {
  const observed = runConfigVector(vector, profile)
  const keys = new Set([...Object.keys(vector.expected), ...Object.keys(observed)])
  return [...keys].flatMap(key => {
    const [expected, actual] = [comparable(vector.expected[key]), comparable(observed[key])]
    if (isDeepStrictEqual(expected, actual)) return []
    return [`${key}: expected ${JSON.stringify(expected)}, observed ${JSON.stringify(actual)}`]
  })
}

/** The message of a NullPointerException is text of the JVM, only its class can be compared. */
function comparable(value: unknown): unknown {
  const isThrown = typeof value === 'object' && value !== null && 'class' in value
  return isThrown && value.class === 'java.lang.NullPointerException' ? {class: value.class} : value
}

function valueText(value: ConfigValue): string | readonly string[] | null {
  return typeof value === 'object' ? value : String(value)
}

function thrownBy(name: string, act: () => void): Readonly<Record<string, ThrownText>> {
  try {
    act()
    return {}
  } catch (error) {
    return {[name]: {class: classNameOf(error), message: messageOf(error)}}
  }
}
