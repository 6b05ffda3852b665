import {readFile} from 'node:fs/promises'
import {ConfigError, isKdlqError, UsageError} from '../errors.ts'
import type {ClientProperties} from '../kafka/client/properties.ts'
import {
  type ConnectionConfig,
  type KeyStore,
  parseBootstrapServers,
  PLAINTEXT,
  type SaslConfig,
  type Secret,
  type SecurityConfig,
  type TlsConfig,
} from '../kafka/client/security.ts'
import {parseByteRate} from '../select/values.ts'
import {asList, type EffectiveSettings, type SecuritySettings, type TlsSettings} from './config/settings.ts'
import type {Environment} from './io.ts'
import {readSecret, wrongProfile} from './secret-source.ts'

/** Values of `connectionFlags`. */
export interface ConnectionFlags {
  readonly 'bootstrap-server'?: string | undefined
  readonly 'command-config'?: string | undefined
  readonly 'client-id'?: string | undefined
  /** ms */
  readonly timeout?: number | undefined
  readonly 'schema-registry'?: string | undefined
  /** Bytes a second; null = no bound. */
  readonly 'read-rate'?: number | null | undefined
}

/** Limit for a cluster or a registry that does not answer, ms. */
export const DEFAULT_TIMEOUT_MS = 5000
const REQUEST_TIMEOUT_MS = 30_000

export interface ConnectionDeps {
  readonly env: Environment
  /** Command as typed, for the client id. */
  readonly command: string
}

/**
 * How to reach the cluster: flags (with their variables) before the profile.
 * @throws UsageError when no cluster is named; ConfigError for a broken profile or properties file
 */
export async function connectionConfig(
  flags: ConnectionFlags,
  settings: EffectiveSettings,
  deps: ConnectionDeps,
): Promise<ConnectionConfig> {
  const file = flags['command-config'] ?? settings.commandConfig
  const properties = file === undefined ? null : await readProperties(file)
  const servers = flags['bootstrap-server'] ?? asList(settings.bootstrapServers).join(',')
  const security = properties ?? (await profileSecurity(settings, deps.env))
  const timeoutMs = flags.timeout ?? DEFAULT_TIMEOUT_MS
  return {
    tls: security.tls,
    sasl: security.sasl,
    bootstrapServers: servers === '' ? (properties?.bootstrapServers ?? noCluster()) : parseBootstrapServers(servers),
    clientId: flags['client-id'] ?? properties?.clientId ?? `kdlq-${deps.command.replaceAll(' ', '-')}`,
    timeoutMs,
    requestTimeoutMs: Math.max(timeoutMs, REQUEST_TIMEOUT_MS),
  }
}

/** Bound of reading, bytes a second; undefined = none. @throws ConfigError for a broken one in the profile */
export function readRateOf(flags: ConnectionFlags, settings: EffectiveSettings): number | undefined {
  if (flags['read-rate'] !== undefined) return flags['read-rate'] ?? undefined
  return settings.readRate === undefined ? undefined : (parseByteRate(settings.readRate, 'readRate') ?? undefined)
}

function noCluster(): never {
  throw new UsageError('no cluster is named', {
    code: 'E_NO_CLUSTER',
    hints: [
      'name one with --bootstrap-server HOST:PORT, or set KDLQ_BOOTSTRAP_SERVER',
      'or write a profile: kdlq config init',
      'to look around without a cluster: kdlq inspect example:orders-dlq',
    ],
  })
}

async function readProperties(path: string): Promise<ClientProperties> {
  const {parseClientProperties} = await import('../kafka/client/properties.ts')
  try {
    // Java reads .properties files as ISO 8859-1.
    return parseClientProperties(await readFile(path, 'latin1'), path)
  } catch (error) {
    if (isKdlqError(error)) throw error
    throw new ConfigError(`the client properties ${path} cannot be read`, {cause: error, context: {file: path}})
  }
}

async function profileSecurity(
  {security = {}, tls, profileName}: EffectiveSettings,
  env: Environment,
): Promise<SecurityConfig> {
  const protocol = security.protocol ?? (tls === undefined ? 'PLAINTEXT' : 'SSL')
  const usesSasl = protocol.startsWith('SASL_')
  if (!usesSasl && security.mechanism !== undefined) {
    throw wrongProfile(
      profileName,
      `security.mechanism needs security.protocol SASL_PLAINTEXT or SASL_SSL, not ${protocol}`,
    )
  }
  if (protocol === 'PLAINTEXT') return PLAINTEXT
  return {
    tls: protocol.endsWith('SSL') ? toTls(tls ?? {}, profileName) : null,
    sasl: usesSasl ? await toSasl(security, profileName, env) : null,
  }
}

function toTls({ca, cert, key, pfx, serverName}: TlsSettings, profile: string | null): TlsConfig {
  if (serverName !== undefined)
    throw wrongProfile(profile, 'tls.serverName is not known to this version', [
      'use the name in the certificate as the bootstrap server',
    ])
  if (pfx !== undefined && (cert !== undefined || key !== undefined))
    throw wrongProfile(profile, 'tls.pfx stands instead of tls.cert and tls.key')
  if ((cert === undefined) !== (key === undefined)) throw wrongProfile(profile, 'tls.cert and tls.key belong together')
  const store = {password: null, keyPassword: null} as const
  const file = (path: string) => ({kind: 'file', path}) as const
  let keyStore: KeyStore | null = null
  if (pfx !== undefined) keyStore = {...store, type: 'PKCS12', source: file(pfx), key: null}
  else if (cert !== undefined && key !== undefined)
    keyStore = {...store, type: 'PEM', source: file(cert), key: file(key)}
  return {
    trust: ca === undefined ? null : {type: 'PEM', source: file(ca), password: null},
    key: keyStore,
    verifyHostname: true,
    versions: null,
  }
}

async function toSasl(security: SecuritySettings, profile: string | null, env: Environment): Promise<SaslConfig> {
  const {mechanism = 'PLAIN', username} = security
  if (mechanism !== 'PLAIN' && mechanism !== 'SCRAM-SHA-256' && mechanism !== 'SCRAM-SHA-512') {
    throw wrongProfile(profile, `security.mechanism ${mechanism} is not known here`, ['use --command-config for it'])
  }
  if (username === undefined) throw wrongProfile(profile, `security.username is missing for ${mechanism}`)
  return {mechanism, username, password: await readPassword(security, profile, env)}
}

async function readPassword(
  {passwordFile, passwordEnv, passwordCommand}: SecuritySettings,
  profile: string | null,
  env: Environment,
): Promise<Secret> {
  return readSecret(
    {file: passwordFile, env: passwordEnv, command: passwordCommand},
    {
      file: 'security.passwordFile',
      env: 'security.passwordEnv',
      command: 'security.passwordCommand',
      what: 'password',
      profile,
    },
    env,
  )
}
