import {readFile} from 'node:fs/promises'
import {parseRegistryUrls, type RegistryConfig} from '../serde/index.ts'
import {ConfigError} from '../errors.ts'
import {asList, type EffectiveSettings, type SchemaRegistrySettings} from './config/settings.ts'
import {type ConnectionFlags, DEFAULT_TIMEOUT_MS} from './connection.ts'
import {errorCode} from './guards.ts'
import type {Environment} from './io.ts'
import {readSecret, type SecretNames, wrongProfile} from './secret-source.ts'

/**
 * How the schema registry is reached: the flag (with its variable) before the profile. What signs in at the profile's
 * addresses is sent to no other address.
 * @returns null when none is named
 * @throws UsageError for what is no address; ConfigError for a broken profile
 */
export async function registryConfig(
  flags: Pick<ConnectionFlags, 'schema-registry' | 'timeout'>,
  {schemaRegistry, profileName}: Pick<EffectiveSettings, 'schemaRegistry' | 'profileName'>,
  env: Environment,
): Promise<RegistryConfig | null> {
  const flag = flags['schema-registry']
  const settings: SchemaRegistrySettings =
    typeof schemaRegistry === 'object' ? schemaRegistry : schemaRegistry === undefined ? {} : {url: schemaRegistry}
  const own = settings.url === undefined ? [] : parseRegistryUrls(asList(settings.url), 'schemaRegistry.url')
  const urls = flag === undefined ? own : parseRegistryUrls([flag], '--schema-registry')
  if (urls.length === 0) {
    if (schemaRegistry !== undefined) throw wrongProfile(profileName, 'schemaRegistry has no url')
    return null
  }
  const known = new Set(own.map(({origin}) => origin))
  const isOwn = urls.every(({origin}) => known.has(origin))
  return {
    urls,
    timeoutMs: flags.timeout ?? DEFAULT_TIMEOUT_MS,
    authorization: isOwn ? await authorizationOf(settings, profileName, env) : () => null,
    tls: isOwn ? await tlsOf(settings, profileName) : null,
  }
}

async function authorizationOf(
  settings: SchemaRegistrySettings,
  profile: string | null,
  env: Environment,
): Promise<() => string | null> {
  const {username, passwordFile, passwordEnv, passwordCommand, tokenFile, tokenEnv, tokenCommand} = settings
  const hasToken = [tokenFile, tokenEnv, tokenCommand].some(value => value !== undefined)
  const hasPassword = [passwordFile, passwordEnv, passwordCommand].some(value => value !== undefined)
  if (hasToken && (hasPassword || username !== undefined))
    throw wrongProfile(profile, 'schemaRegistry has a token and a password: only one can sign in')
  if (hasToken) {
    const token = await readSecret(
      {file: tokenFile, env: tokenEnv, command: tokenCommand},
      names('token', profile),
      env,
    )
    return () => `Bearer ${token.reveal()}`
  }
  if (!hasPassword && username === undefined) return () => null
  if (username === undefined) throw wrongProfile(profile, 'schemaRegistry.username is missing')
  const source = {file: passwordFile, env: passwordEnv, command: passwordCommand}
  const password = await readSecret(source, names('password', profile), env)
  return () => `Basic ${Buffer.from(`${username}:${password.reveal()}`).toString('base64')}`
}

function names(what: 'password' | 'token', profile: string | null): SecretNames {
  const name = `schemaRegistry.${what}`
  return {file: `${name}File`, env: `${name}Env`, command: `${name}Command`, what, profile}
}

async function tlsOf({tls = {}}: SchemaRegistrySettings, profile: string | null): Promise<RegistryConfig['tls']> {
  const {ca, cert, key} = tls
  if ((cert === undefined) !== (key === undefined))
    throw wrongProfile(profile, 'schemaRegistry.tls.cert and tls.key belong together')
  const read = async (path: string | undefined): Promise<string | undefined> => {
    if (path === undefined) return undefined
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      throw new ConfigError(`${path} cannot be read (${errorCode(error) ?? 'unknown'})`, {
        cause: error,
        context: {path},
      })
    }
  }
  return {ca: await read(ca), cert: await read(cert), key: await read(key)}
}
