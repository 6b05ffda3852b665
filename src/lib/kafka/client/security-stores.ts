/** ssl.* settings of a client .properties file. */
import type {Settings} from './security-settings.ts'
import {Secret, type KeyStore, type SaslConfig, type TlsConfig, type TlsVersion, type TrustStore} from './security.ts'

/** @throws ConfigError for a JKS store, an unknown type, or settings that contradict each other */
export function tlsSettings(settings: Settings): TlsConfig {
  const identification = settings.get('ssl.endpoint.identification.algorithm') ?? 'https'
  if (identification !== '' && identification.toLowerCase() !== 'https') {
    throw settings.wrong('ssl.endpoint.identification.algorithm', 'is https, or empty to switch the check off')
  }
  return {
    trust: trustStore(settings),
    key: keyStore(settings),
    verifyHostname: identification !== '',
    versions: tlsVersions(settings),
  }
}

function storeType(settings: Settings, prefix: string): 'PEM' | 'PKCS12' {
  const location = settings.get(`${prefix}.location`)
  const given = settings.get(`${prefix}.type`)?.toUpperCase() ?? typeByName(location)
  if (given === 'PEM' || given === 'PKCS12') return given
  // What Java calls JKS can be a PKCS12 file, and Java opens both; the file's own bytes decide when it is read.
  if (given === 'JKS') return 'PKCS12'
  throw settings.wrong(`${prefix}.type`, 'is not supported', ['use PEM or PKCS12'])
}

function typeByName(location: string | null): string {
  return location === null || /\.(pem|crt|cer|key)$/i.test(location) ? 'PEM' : 'PKCS12'
}

function trustStore(settings: Settings): TrustStore | null {
  const prefix = 'ssl.truststore'
  const location = settings.get(`${prefix}.location`)
  const certificates = settings.get(`${prefix}.certificates`)
  if (location === null && certificates === null) return null
  const type = storeType(settings, prefix)
  const password = secret(settings, `${prefix}.password`)
  if (certificates === null) return {type, source: {kind: 'file', path: location ?? ''}, password}
  if (location !== null) throw settings.wrong(`${prefix}.certificates`, `and ${prefix}.location are both set`)
  if (type !== 'PEM') throw settings.wrong(`${prefix}.certificates`, `needs ${prefix}.type=PEM`)
  return {type, source: {kind: 'text', pem: new Secret(certificates)}, password: null}
}

function keyStore(settings: Settings): KeyStore | null {
  const prefix = 'ssl.keystore'
  const location = settings.get(`${prefix}.location`)
  const key = secret(settings, `${prefix}.key`)
  const chain = secret(settings, `${prefix}.certificate.chain`)
  if (location === null && key === null && chain === null) return null
  const type = storeType(settings, prefix)
  const password = secret(settings, `${prefix}.password`)
  const keyPassword = secret(settings, 'ssl.key.password')
  if (location !== null) {
    if (key !== null || chain !== null) throw settings.wrong(`${prefix}.location`, `and ${prefix}.key are both set`)
    return {type, source: {kind: 'file', path: location}, key: null, password, keyPassword}
  }
  if (type !== 'PEM') throw settings.wrong(`${prefix}.key`, `needs ${prefix}.type=PEM`)
  if (key === null || chain === null) {
    throw settings.wrong(key === null ? `${prefix}.key` : `${prefix}.certificate.chain`, 'is missing')
  }
  return {type, source: {kind: 'text', pem: chain}, key: {kind: 'text', pem: key}, password: null, keyPassword}
}

function secret(settings: Settings, key: string): Secret | null {
  const value = settings.get(key)
  return value === null ? null : new Secret(value)
}

function tlsVersions(settings: Settings): {readonly min: TlsVersion; readonly max: TlsVersion} | null {
  const key = 'ssl.enabled.protocols'
  const text = settings.get(key)
  if (text === null) return null
  const names = text.split(',').map(name => name.trim())
  const usable = names.filter(isTlsVersion).toSorted()
  const [min] = usable
  const max = usable.at(-1)
  if (min === undefined || max === undefined) throw settings.wrong(key, 'names neither TLSv1.2 nor TLSv1.3')
  return {min, max}
}

function isTlsVersion(name: string): name is TlsVersion {
  return name === 'TLSv1.2' || name === 'TLSv1.3'
}

const TOKEN_HANDLER = /\.OAuthBearerLoginCallbackHandler$/

/** Java classes that sign in by their own means. @throws ConfigError for any but the one that reads a token */
export function saslHandlerKeys(settings: Settings, mechanism: SaslConfig['mechanism']): void {
  for (const key of ['sasl.login.callback.handler.class', 'sasl.client.callback.handler.class', 'sasl.login.class']) {
    const value = settings.get(key)
    if (value === null || value === '') continue
    if (mechanism === 'OAUTHBEARER' && key === 'sasl.login.callback.handler.class' && TOKEN_HANDLER.test(value))
      continue
    const hints = ['use OAUTHBEARER with a token file: sasl.oauthbearer.token.endpoint.url=file:///PATH']
    throw settings.wrong(key, 'is not supported: Java classes cannot be loaded here', hints)
  }
}
