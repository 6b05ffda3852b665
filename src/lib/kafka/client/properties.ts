/** A Java client's .properties file, as Kafka's own tools take with --command-config, to our security settings. */
import {didYouMean} from '../../suggest.ts'
import {CLIENT_CONFIGS} from '../protocol/generated/client-configs.ts'
import {parseProperties} from './properties-file.ts'
import {parseJaas, type LoginModule} from './security-jaas.ts'
import {createSettings, type Settings} from './security-settings.ts'
import {saslHandlerKeys, tlsSettings} from './security-stores.ts'
import {parseBootstrapServers, Secret, type BrokerAddress, type SaslConfig, type SecurityConfig} from './security.ts'

export interface ClientProperties extends SecurityConfig {
  /** bootstrap.servers; null when the file has none. */
  readonly bootstrapServers: readonly BrokerAddress[] | null
  /** client.id; null when the file has none. */
  readonly clientId: string | null
}

const PROTOCOLS = ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL']
const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER']

/** Settings that change how a client proves itself or whom it trusts, in ways that kdlq cannot follow. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  'ssl.engine.factory.class': 'Java classes cannot be loaded here',
  'ssl.provider': 'there are no Java security providers here',
  'security.providers': 'there are no Java security providers here',
  'ssl.cipher.suites': 'cipher suites cannot be chosen here',
  'config.providers': 'values from configuration providers cannot be resolved here; write them into the file',
}

/**
 * Read the security settings, bootstrap.servers and client.id. Other settings of Kafka's clients are left alone.
 * @param text the file, decoded as ISO 8859-1 as Java does
 * @param file its name, for messages
 * @throws ConfigError for an unknown key (with the one that was meant), a missing or contradicting one, or something that
 * cannot be done here; no message holds a value that may be secret
 */
export function parseClientProperties(text: string, file: string): ClientProperties {
  const found = parseProperties(text)
  const settings = createSettings(found, file)
  checkKeys(found, settings)
  const protocol = (settings.get('security.protocol') ?? 'PLAINTEXT').toUpperCase()
  if (!PROTOCOLS.includes(protocol)) {
    const hints = [`it is one of ${PROTOCOLS.join(', ')}`, ...didYouMean(protocol, PROTOCOLS)]
    throw settings.wrong('security.protocol', 'is not a security protocol', hints)
  }
  const bootstrap = settings.get('bootstrap.servers')
  return {
    bootstrapServers: bootstrap === null ? null : parseBootstrapServers(bootstrap),
    clientId: settings.get('client.id'),
    tls: protocol.endsWith('SSL') ? tlsSettings(settings) : null,
    sasl: protocol.startsWith('SASL') ? saslSettings(settings) : null,
  }
}

function checkKeys(found: ReadonlyMap<string, string>, settings: Settings): void {
  const known = new Set(CLIENT_CONFIGS)
  for (const [key, value] of found) {
    const unsupported = Object.hasOwn(UNSUPPORTED, key) ? UNSUPPORTED[key] : undefined
    if (unsupported !== undefined && value.trim() !== '') throw settings.wrong(key, `is not supported: ${unsupported}`)
    if (!known.has(key)) throw settings.wrong(key, 'is no setting of a kafka client', didYouMean(key, known))
  }
}

function saslSettings(settings: Settings): SaslConfig {
  const mechanism = settings.get('sasl.mechanism')
  if (mechanism === null) throw settings.wrong('sasl.mechanism', 'is missing', [`set one of ${MECHANISMS.join(', ')}`])
  if (mechanism === 'GSSAPI')
    throw settings.wrong('sasl.mechanism', 'GSSAPI (Kerberos) is not supported', [`use ${MECHANISMS.join(', ')}`])
  if (!isMechanism(mechanism)) {
    throw settings.wrong('sasl.mechanism', 'is not supported', [
      `use one of ${MECHANISMS.join(', ')}`,
      ...didYouMean(mechanism, MECHANISMS),
    ])
  }
  saslHandlerKeys(settings, mechanism)
  if (mechanism === 'OAUTHBEARER') return {mechanism, token: {kind: 'file', path: tokenPath(settings)}}
  const module = jaasModule(settings, mechanism === 'PLAIN' ? 'PlainLoginModule' : 'ScramLoginModule')
  const username = module.options.get('username')
  const password = module.options.get('password')
  if (username === undefined || password === undefined) {
    throw settings.wrong('sasl.jaas.config', `lacks ${username === undefined ? 'username' : 'password'}="..."`)
  }
  if (module.options.get('tokenauth')?.toLowerCase() === 'true') {
    throw settings.wrong('sasl.jaas.config', 'asks for delegation tokens (tokenauth), which are not supported')
  }
  return {mechanism, username, password: new Secret(password)}
}

function isMechanism(text: string): text is SaslConfig['mechanism'] {
  return MECHANISMS.includes(text)
}

function jaasModule(settings: Settings, expected: string): LoginModule {
  const text = settings.get('sasl.jaas.config')
  const example = `org.apache.kafka.common.security.${expected === 'PlainLoginModule' ? 'plain' : 'scram'}.${expected}`
  const hints = [`write ${example} required username="..." password="...";`]
  if (text === null) throw settings.wrong('sasl.jaas.config', 'is missing', hints)
  const module = parseJaas(text)
  if (module === null)
    throw settings.wrong('sasl.jaas.config', 'is not one login module with options and a semicolon', hints)
  if (!module.name.endsWith(`.${expected}`))
    throw settings.wrong('sasl.jaas.config', `names ${module.name}, not ${expected}`, hints)
  return module
}

function tokenPath(settings: Settings): string {
  const key = 'sasl.oauthbearer.token.endpoint.url'
  const hints = [`write the token into a file and set ${key}=file:///PATH; it is read again for every sign-in`]
  const text = settings.get(key)
  if (text === null) throw settings.wrong(key, 'is missing', hints)
  const match = /^file:(?:\/\/(?:localhost)?)?(\/.+)$/.exec(text)
  if (match?.[1] === undefined) throw settings.wrong(key, 'is not a file: URL, and others are not supported', hints)
  return decodeURIComponent(match[1])
}
