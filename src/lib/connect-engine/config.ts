import {CONFIG_DEFINITIONS, type ConfigDefinition, type ConnectorKind, ERRORS} from './config-definitions.ts'
import {type ConfigValue, ConfigException, isBlank, javaTrim, parseConfigValue, splitAtCommas} from './config-value.ts'
import {JavaException, messageOf} from './errors.ts'
import {compileJavaPattern} from './java-pattern/compile.ts'
import {DEFAULT_PROFILE, type Profile, type Tolerance} from './options.ts'

/** Properties of a connector as its file or Connect's REST interface has them; null = the key without a value. */
export type ConnectorProperties = Readonly<Record<string, string | null>>

/** How a configuration is read. */
export interface ConfigOptions {
  readonly kind: ConnectorKind
  /** `P4x` when absent, which refuses repeated and empty `topics` as 4.2 and later do. */
  readonly profile?: Profile | undefined
}

/** Values and messages by key; a key without messages is not in `errors`. */
export interface ConfigValidation {
  readonly values: ReadonlyMap<string, ConfigValue>
  readonly errors: ReadonlyMap<string, readonly string[]>
}

const TOPICS = 'topics'
const TOPICS_REGEX = 'topics.regex'
const TOPICS_BEFORE = ERRORS.dlqTopicName

type KeyRule = Pick<ConfigDefinition, 'key' | 'type' | 'default'>

/** Keys of a kind in the order in which Connect parses them: the first wrong one is the one it fails with. */
function rulesOf(kind: ConnectorKind): readonly KeyRule[] {
  const rules: readonly KeyRule[] = CONFIG_DEFINITIONS.filter(({kinds}) => kinds.includes(kind))
  if (kind === 'source') return rules
  const at = rules.findIndex(({key}) => key === TOPICS_BEFORE)
  const topics: readonly KeyRule[] = [
    {key: TOPICS, type: 'LIST', default: ''},
    {key: TOPICS_REGEX, type: 'STRING', default: ''},
  ]
  return [...rules.slice(0, at), ...topics, ...rules.slice(at)]
}

/**
 * Error handling of one connector, typed, as `ConnectorConfig` and `SinkConnectorConfig` offer it. A key without a value
 * is an error only where it is needed, as in Connect.
 */
export class ErrorHandlingConfig {
  readonly #values: ReadonlyMap<string, ConfigValue>

  constructor(values: ReadonlyMap<string, ConfigValue>) {
    this.#values = values
  }

  /** `errors.retry.timeout`, ms; 0 = no retries, negative = without limit. */
  get retryTimeoutMs(): bigint {
    return this.#long(ERRORS.retryTimeout)
  }

  /** `errors.retry.delay.max.ms`, ms. */
  get retryDelayMaxMs(): bigint {
    return this.#long(ERRORS.retryDelayMax)
  }

  get tolerance(): Tolerance {
    return this.#values.get(ERRORS.tolerance) === 'all' ? 'all' : 'none'
  }

  get logEnable(): boolean {
    return this.#flag(ERRORS.logEnable)
  }

  get logIncludeMessages(): boolean {
    return this.#flag(ERRORS.logIncludeMessages)
  }

  /** Trimmed; empty = no dead letter queue (always so for sources). */
  get dlqTopicName(): string {
    const name = this.#values.get(ERRORS.dlqTopicName)
    if (name === undefined) return ''
    return typeof name === 'string' ? name : noValue(ERRORS.dlqTopicName)
  }

  /** -1 = the broker's default. */
  get dlqReplicationFactor(): number {
    return this.#short(ERRORS.dlqReplicationFactor)
  }

  get dlqContextHeaders(): boolean {
    return this.#flag(ERRORS.dlqContextHeaders)
  }

  /** True when a dead letter reporter belongs to the task. */
  get usesDlq(): boolean {
    return this.dlqTopicName !== ''
  }

  /** True when a sink task gets an errant record reporter: with a dead letter queue or a log, whatever the tolerance (KIP-610). */
  get offersErrantRecordReporter(): boolean {
    return this.usesDlq || this.logEnable
  }

  #long(key: string): bigint {
    const value = this.#values.get(key)
    return typeof value === 'bigint' ? value : noValue(key)
  }

  #short(key: string): number {
    const value = this.#values.get(key)
    return typeof value === 'number' ? value : noValue(key)
  }

  #flag(key: string): boolean {
    const value = this.#values.get(key)
    return typeof value === 'boolean' ? value : noValue(key)
  }
}

/**
 * What a connector's properties say about errors. Unknown keys are ignored, as Connect does.
 * @throws ConfigException for the first key that Connect could not parse
 */
export function parseErrorHandlingConfig(properties: ConnectorProperties, options: ConfigOptions): ErrorHandlingConfig {
  const values = new Map<string, ConfigValue>()
  for (const rule of rulesOf(options.kind)) {
    const text = textOf(properties, rule)
    let value = parseConfigValue(rule.key, text, rule.type)
    // A parsed list has lost its repeated entries; a validated one has not.
    if (isStrict(options) && typeof value === 'object' && value !== null) value = [...new Set(value)]
    const problem = problemOf(rule, value, options)
    if (problem !== null) throw problem
    values.set(rule.key, value)
  }
  return new ErrorHandlingConfig(values)
}

/** Every key for itself, as `ConfigDef.validate` does: one message a reason, nothing is thrown. */
export function validateKeys(properties: ConnectorProperties, options: ConfigOptions): ConfigValidation {
  const values = new Map<string, ConfigValue>()
  const errors = new Map<string, string[]>()
  for (const rule of rulesOf(options.kind)) {
    const messages: string[] = []
    let value: ConfigValue = null
    try {
      value = parseConfigValue(rule.key, textOf(properties, rule), rule.type)
    } catch (error) {
      if (!(error instanceof ConfigException)) throw error
      messages.push(error.message)
    }
    // Connect checks what it could not parse as if it were null.
    const problem = problemOf(rule, value, options)
    if (problem !== null) messages.push(problem.message)
    values.set(rule.key, value)
    if (messages.length > 0) errors.set(rule.key, messages)
  }
  return {values, errors}
}

/**
 * Which topics a sink may consume beside its dead letter queue; runs on the properties as they were written.
 * @returns messages by key
 * @throws PatternSyntaxError for a wrong `topics.regex` beside a dead letter queue
 * @see Connect's SinkConnectorConfig.validate
 */
export function validateTopics(properties: ConnectorProperties): ReadonlyMap<string, readonly string[]> {
  const errors = new Map<string, string[]>()
  const add = (key: string, message: string): void => {
    errors.set(key, [...(errors.get(key) ?? []), message])
  }
  const [topics, regex] = [properties[TOPICS], properties[TOPICS_REGEX]]
  if (isBlank(topics) === isBlank(regex)) {
    const message = isBlank(topics)
      ? 'Must configure one of topics or topics.regex'
      : 'topics and topics.regex are mutually exclusive options, but both are set.'
    add(TOPICS, message)
    add(TOPICS_REGEX, message)
  }
  const name = properties[ERRORS.dlqTopicName]
  if (name === null) return noValue(ERRORS.dlqTopicName)
  const dlq = javaTrim(name ?? '')
  if (dlq === '') return errors
  if (!isBlank(topics)) {
    const entries = splitAtCommas(topics ?? '')
    const list = [...new Set(entries)].filter(entry => entry !== '')
    if (list.includes(dlq)) {
      const consumed = `('topics=[${list.join(', ')}]') consumed by the connector`
      add(TOPICS, `The DLQ topic '${dlq}' may not be included in the list of topics ${consumed}`)
    }
  }
  if (!isBlank(regex) && compileJavaPattern(regex ?? '').match(dlq) !== null) {
    const consumed = `('topics.regex=${regex}') consumed by the connector`
    add(TOPICS_REGEX, `The DLQ topic '${dlq}' may not be matched by the regex for the topics ${consumed}`)
  }
  return errors
}

/**
 * The check of `validateTopics` as a task makes it when it starts.
 * @throws ConfigException with the first message; PatternSyntaxError as `validateTopics`
 */
export function requireValidTopics(properties: ConnectorProperties): void {
  for (const [key, [message]] of validateTopics(properties)) {
    if (message !== undefined) throw ConfigException.ofValue(key, properties[key] ?? null, message)
  }
}

/**
 * All messages for a connector's properties, by key: every key for itself, and for a sink its topics.
 * @throws PatternSyntaxError as `validateTopics`
 */
export function validateErrorHandling(properties: ConnectorProperties, options: ConfigOptions): ConfigValidation {
  const {values, errors} = validateKeys(properties, options)
  if (options.kind === 'source') return {values, errors}
  const all = new Map(errors)
  for (const [key, messages] of validateTopics(properties)) all.set(key, [...(all.get(key) ?? []), ...messages])
  return {values, errors: all}
}

function isStrict({profile}: ConfigOptions): boolean {
  return (profile ?? DEFAULT_PROFILE) === 'P4x'
}

function textOf(properties: ConnectorProperties, rule: KeyRule): string | null {
  const text = properties[rule.key]
  return text === undefined ? rule.default : text
}

function problemOf({key}: KeyRule, value: ConfigValue, options: ConfigOptions): ConfigException | null {
  if (key === ERRORS.tolerance && value !== 'none' && value !== 'all') {
    return ConfigException.ofValue(key, textOrNull(value), 'String must be one of: none, all')
  }
  if (key === TOPICS && isStrict(options)) return topicsProblem(typeof value === 'object' ? value : null)
  return key === TOPICS_REGEX ? regexProblem(textOrNull(value)) : null
}

/** @see KIP-1161 */
function topicsProblem(topics: readonly string[] | null): ConfigException | null {
  const say = (what: string): ConfigException =>
    new ConfigException(`Configuration '${TOPICS}' values must not be ${what}.`)
  if (topics === null) return say('null')
  if (new Set(topics).size < topics.length) return say('duplicated')
  return topics.includes('') ? say('empty') : null
}

function regexProblem(regex: string | null): ConfigException | null {
  const invalid = (why: string | null): ConfigException =>
    ConfigException.ofValue(TOPICS_REGEX, regex, `Invalid regex: ${why}`)
  if (regex === null) return invalid('Cannot invoke "String.isEmpty()" because "this.pattern" is null')
  try {
    compileJavaPattern(regex)
    return null
  } catch (error) {
    return invalid(messageOf(error))
  }
}

function textOrNull(value: ConfigValue): string | null {
  return typeof value === 'string' ? value : null
}

/** Java meets a null where it needs a value. */
function noValue(key: string): never {
  throw new JavaException({className: 'java.lang.NullPointerException', message: `${key} has no value`})
}
