import type {ConnectorProperties} from './config.ts'
import {ConfigException, parseConfigValue, splitAtCommas} from './config-value.ts'
import {JsonConverter} from './converters/json-converter.ts'
import {ByteArrayConverter, SimpleHeaderConverter, StringConverter} from './converters/simple-converters.ts'
import type {Converter, HeaderConverter} from './data.ts'
import {Cast} from './transforms/cast.ts'
import {
  ExtractField,
  Filter,
  HasHeaderKey,
  RecordIsTombstone,
  RegexRouter,
  TopicNameMatches,
} from './transforms/simple-transforms.ts'
import type {Predicate, Transformation, TransformationStage} from './transforms/transformation.ts'

/** Settings of one plugin, without its prefix. */
export type PluginSettings = Readonly<Record<string, string>>

type Factories<P> = Readonly<Record<string, (settings: PluginSettings) => P>>

/** Plugins by the Java class that a configuration names; applications add their own. */
export interface PluginRegistry {
  readonly converters: Factories<Converter>
  readonly headerConverters: Factories<HeaderConverter>
  readonly transformations: Factories<Transformation>
  readonly predicates: Factories<Predicate>
}

const TRANSFORMS = 'org.apache.kafka.connect.transforms'
const json = (settings: PluginSettings): JsonConverter =>
  new JsonConverter({
    schemasEnable: flag(settings, 'schemas.enable'),
    replaceNullWithDefault: flag(settings, 'replace.null.with.default'),
  })
const both = {
  'org.apache.kafka.connect.storage.StringConverter': () => new StringConverter(),
  'org.apache.kafka.connect.converters.ByteArrayConverter': () => new ByteArrayConverter(),
  'org.apache.kafka.connect.json.JsonConverter': json,
}

/** The plugins of this folder. */
export const PLUGINS: PluginRegistry = {
  converters: both,
  headerConverters: {
    ...both,
    'org.apache.kafka.connect.storage.SimpleHeaderConverter': () => new SimpleHeaderConverter(),
  },
  transformations: {
    [`${TRANSFORMS}.Cast$Key`]: settings => new Cast('Key', required(settings, 'spec')),
    [`${TRANSFORMS}.Cast$Value`]: settings => new Cast('Value', required(settings, 'spec')),
    [`${TRANSFORMS}.ExtractField$Key`]: settings => new ExtractField('Key', required(settings, 'field')),
    [`${TRANSFORMS}.ExtractField$Value`]: settings => new ExtractField('Value', required(settings, 'field')),
    [`${TRANSFORMS}.RegexRouter`]: settings =>
      new RegexRouter(required(settings, 'regex'), required(settings, 'replacement')),
    [`${TRANSFORMS}.Filter`]: () => new Filter(),
  },
  predicates: {
    [`${TRANSFORMS}.predicates.RecordIsTombstone`]: () => new RecordIsTombstone(),
    [`${TRANSFORMS}.predicates.HasHeaderKey`]: settings => new HasHeaderKey(required(settings, 'name')),
    [`${TRANSFORMS}.predicates.TopicNameMatches`]: settings => new TopicNameMatches(required(settings, 'pattern')),
  },
}

/** What stands between a sink's topic and its task. */
export interface SinkPlugins {
  readonly keyConverter: Converter
  readonly valueConverter: Converter
  readonly headerConverter: HeaderConverter
  readonly transformations: readonly TransformationStage[]
}

/**
 * Converters and transforms of a connector. A converter that the connector does not name is the worker's, with the worker's
 * settings; headers are converted by SimpleHeaderConverter where nobody says otherwise.
 * @throws ConfigException for a class that is not in the registry, or a setting that is missing or wrong
 */
export function createPlugins(
  properties: ConnectorProperties,
  worker: ConnectorProperties = {},
  registry: PluginRegistry = PLUGINS,
): SinkPlugins {
  const headers = converterOf(properties, worker, 'header.converter', registry.headerConverters)
  return {
    keyConverter: needed('key.converter', converterOf(properties, worker, 'key.converter', registry.converters)),
    valueConverter: needed('value.converter', converterOf(properties, worker, 'value.converter', registry.converters)),
    headerConverter: headers ?? new SimpleHeaderConverter(),
    transformations: listOf(properties, 'transforms').map(alias => stageOf(properties, alias, registry)),
  }
}

function needed<P>(key: string, plugin: P | null): P {
  if (plugin === null) throw missing(key)
  return plugin
}

function converterOf<P>(
  properties: ConnectorProperties,
  worker: ConnectorProperties,
  key: string,
  factories: Factories<P>,
): P | null {
  const source = text(properties, key) === null ? worker : properties
  const className = text(source, key)
  return className === null ? null : create(key, className, factories, withPrefix(source, `${key}.`))
}

function stageOf(properties: ConnectorProperties, alias: string, registry: PluginRegistry): TransformationStage {
  const settings = withPrefix(properties, `transforms.${alias}.`)
  const type = required(settings, 'type', `transforms.${alias}.`)
  const transformation = create(`transforms.${alias}.type`, type, registry.transformations, settings)
  const predicate = settings['predicate']
  const negate = flag(settings, 'negate') ?? false
  if (predicate === undefined) return {transformation, predicate: null, negate}
  const prefix = `predicates.${predicate}.`
  const own = withPrefix(properties, prefix)
  const key = `${prefix}type`
  return {transformation, negate, predicate: create(key, required(own, 'type', prefix), registry.predicates, own)}
}

function create<P>(key: string, className: string, factories: Factories<P>, settings: PluginSettings): P {
  const factory = Object.hasOwn(factories, className) ? factories[className] : undefined
  if (factory === undefined) throw ConfigException.ofValue(key, className, `Class ${className} could not be found.`)
  return factory(settings)
}

function listOf(properties: ConnectorProperties, key: string): readonly string[] {
  return splitAtCommas(text(properties, key) ?? '').filter(alias => alias !== '')
}

function text(properties: ConnectorProperties, key: string): string | null {
  const value = properties[key]?.trim()
  return value === undefined || value === '' ? null : value
}

function withPrefix(properties: ConnectorProperties, prefix: string): PluginSettings {
  const settings: [string, string][] = []
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith(prefix) && value !== null) settings.push([key.slice(prefix.length), value.trim()])
  }
  return Object.fromEntries(settings)
}

function required(settings: PluginSettings, key: string, prefix = ''): string {
  const value = settings[key]
  if (value === undefined) throw missing(`${prefix}${key}`)
  return value
}

function missing(key: string): ConfigException {
  return new ConfigException(`Missing required configuration "${key}" which has no default value.`)
}

function flag(settings: PluginSettings, key: string): boolean | undefined {
  const value = settings[key]
  return value === undefined ? undefined : parseConfigValue(key, value, 'BOOLEAN') === true
}
