import type {ConfigType} from './config-definitions.ts'
import {Throwable} from './errors.ts'

/** A configuration value that Kafka's clients and Connect refuse; the message is theirs. */
export class ConfigException extends Throwable {
  override readonly className: string = 'org.apache.kafka.common.config.ConfigException'
  constructor(message: string) {
    super(message, 'E_CONNECT_CONFIG')
  }

  /** The form that names key and value. */
  static ofValue(key: string, value: string | null, why: string): ConfigException {
    return new ConfigException(`Invalid value ${value} for configuration ${key}: ${why}`)
  }
}

/** A parsed value; null for a key that is there without a value. */
export type ConfigValue = bigint | number | boolean | string | readonly string[] | null

const LIMITS = {LONG: 2n ** 63n, SHORT: 2n ** 15n} as const

/**
 * Text to value by the rules of `ConfigDef.parseType`.
 * @throws ConfigException with Kafka's message
 */
export function parseConfigValue(key: string, text: string | null, type: ConfigType): ConfigValue {
  if (text === null) return null
  const trimmed = javaTrim(text)
  if (type === 'STRING') return trimmed
  if (type === 'LIST') return splitAtCommas(text)
  if (type === 'BOOLEAN') {
    if (/^true$/iu.test(trimmed)) return true
    if (/^false$/iu.test(trimmed)) return false
    throw ConfigException.ofValue(key, text, 'Expected value to be either true or false')
  }
  const number = parseJavaInteger(trimmed, LIMITS[type])
  if (number === null) throw ConfigException.ofValue(key, text, `Not a number of type ${type}`)
  return type === 'SHORT' ? Number(number) : number
}

/** `String.trim`: control characters and the blank, and no other white space. */
export function javaTrim(text: string): string {
  return text.replaceAll(/^[\0- ]+|[\0- ]+$/g, '')
}

/** `Utils.isBlank`: absent or only white space. */
export function isBlank(text: string | null | undefined): boolean {
  return text === null || text === undefined || javaTrim(text) === ''
}

/** Entries of a list: at commas with surrounding white space (Java's `\s`); empty entries stay, blank text has none. */
export function splitAtCommas(text: string): readonly string[] {
  const trimmed = javaTrim(text)
  return trimmed === '' ? [] : trimmed.split(/[ \t\n\v\f\r]*,[ \t\n\v\f\r]*/)
}

/** `Long.parseLong` and its like: a sign, then decimal digits of any script. Null when it is no such number. */
export function parseJavaInteger(text: string, limit: bigint): bigint | null {
  const match = /^([+-]?)(\p{Nd}+)$/u.exec(text)
  if (match === null) return null
  const [, sign, digits = ''] = match
  const value = BigInt(Array.from(digits, digitValue).join(''))
  const signed = sign === '-' ? -value : value
  return signed >= -limit && signed < limit ? signed : null
}

/** Decimal digits stand in runs of ten, so the place in the run is the value. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0
  let start = code
  while (/\p{Nd}/u.test(String.fromCodePoint(start - 1))) start -= 1
  return (code - start) % 10
}
