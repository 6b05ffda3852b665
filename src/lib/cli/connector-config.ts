import {readFile} from 'node:fs/promises'
import {CONFIG_DEFINITIONS} from '../connect-engine/config-definitions.ts'
import {parseErrorHandlingConfig, validateKeys} from '../connect-engine/config.ts'
import type {ConnectorProperties, ErrorHandlingConfig} from '../connect-engine/config.ts'
import type {Profile} from '../connect-engine/options.ts'
import {ConfigError, UsageError} from '../errors.ts'
import {parseProperties} from '../kafka/client/properties-file.ts'
import {didYouMean} from '../suggest.ts'
import {isRecord} from './guards.ts'

/** A connector's configuration as it was found. */
export interface ConnectorConfigFile {
  /** Name of the connector; null = the file does not say. */
  readonly name: string | null
  readonly properties: ConnectorProperties
}

/**
 * A connector's configuration: a properties file, or the JSON that Connect's REST interface takes and gives: the map of
 * `/connectors/NAME/config`, `{"name", "config"}`, or the expanded list when it holds one connector.
 * @throws ConfigError when it cannot be read or is neither
 */
export async function readConnectorConfig(path: string): Promise<ConnectorConfigFile> {
  let text: string
  try {
    text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '')
  } catch (cause) {
    throw new ConfigError(`the connector configuration ${path} cannot be read`, {cause, context: {path}})
  }
  if (text.includes('\0')) throw new ConfigError(`the connector configuration ${path} is no text`, {context: {path}})
  if (!/^\s*[{["]/.test(text)) return named(Object.fromEntries(parseProperties(text)))
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (cause) {
    throw new ConfigError(`${path} begins like JSON and is none`, {cause, context: {path}})
  }
  return fromJson(document, path)
}

function fromJson(document: unknown, path: string): ConnectorConfigFile {
  if (!isRecord(document) || Array.isArray(document))
    throw new ConfigError(`${path} holds no connector configuration`, {context: {path}})
  const {name, config, info} = document
  if (isRecord(info)) return fromJson(info, path)
  if (isRecord(config)) {
    const found = named(toProperties(config, path))
    return typeof name === 'string' ? {...found, name} : found
  }
  const members = Object.values(document)
  const connectors = members.filter(member => isRecord(member) && isRecord(member['info']))
  if (connectors.length === 1 && members.length === 1) return fromJson(connectors[0], path)
  if (connectors.length > 0) {
    throw new ConfigError(`${path} holds ${members.length} connectors`, {
      hints: [`keep one of them: ${Object.keys(document).slice(0, 5).join(', ')}`],
      context: {path},
    })
  }
  return named(toProperties(document, path))
}

/** As Connect takes them: JSON numbers and flags count as their text. */
function toProperties(config: Readonly<Record<string, unknown>>, path: string): ConnectorProperties {
  const entries = Object.entries(config).map(([key, value]) => {
    if (value === null || typeof value === 'string') return [key, value] as const
    if (typeof value === 'number' || typeof value === 'boolean') return [key, String(value)] as const
    throw new ConfigError(`${path}: ${key} has to be a text`, {context: {path, key}})
  })
  return Object.fromEntries(entries)
}

function named(properties: ConnectorProperties): ConnectorConfigFile {
  return {name: properties['name'] ?? null, properties}
}

/** `KEY=VALUE` pairs of a flag. @throws UsageError for what is no pair, and for an `errors.` key that Connect does not know */
export function parseSettings(flag: string, pairs: readonly string[]): ConnectorProperties {
  const known = CONFIG_DEFINITIONS.map(({key}) => key)
  const entries = pairs.map(pair => {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError(`${flag} ${JSON.stringify(pair)} is no KEY=VALUE`)
    const key = pair.slice(0, at).trim()
    if (key.startsWith('errors.') && !known.includes(key)) {
      throw new UsageError(`${flag}: Connect has no setting ${key}`, {hints: didYouMean(key, known), context: {key}})
    }
    return [key, pair.slice(at + 1)] as const
  })
  return Object.fromEntries(entries)
}

/** @throws ConfigError with Connect's own messages when it would not take these settings */
export function toErrorHandling(properties: ConnectorProperties, profile: Profile): ErrorHandlingConfig {
  const {errors} = validateKeys(properties, {kind: 'sink', profile})
  const messages = [...errors].flatMap(([key, own]) => (key.startsWith('errors.') ? own : []))
  const [first, ...others] = messages
  if (first !== undefined) {
    throw new ConfigError(`Connect refuses the configuration: ${first}`, {code: 'E_CONNECTOR_CONFIG', hints: others})
  }
  // The topics say nothing about errors: a file without them, or with a list that this release refuses, will do.
  return parseErrorHandlingConfig({...properties, topics: null, 'topics.regex': ''}, {kind: 'sink', profile: 'P39'})
}
