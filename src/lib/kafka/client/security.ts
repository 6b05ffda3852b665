/** How to reach a cluster and prove who we are: values that can be printed without giving a secret away. */
import {isIPv6} from 'node:net'
import {inspect} from 'node:util'
import {UsageError} from '../../errors.ts'

export interface BrokerAddress {
  /** Without brackets for IPv6. */
  readonly host: string
  readonly port: number
}

/** A password, key or token. Prints as [redacted] wherever it ends up; only `reveal` gives it out. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[redacted]'
  }

  toJSON(): string {
    return '[redacted]'
  }

  [inspect.custom](): string {
    return '[redacted]'
  }
}

/** PEM text, or a file whose path is resolved against the folder that the program was started in. */
export type Material = {readonly kind: 'text'; readonly pem: Secret} | {readonly kind: 'file'; readonly path: string}

export interface TrustStore {
  readonly type: 'PEM' | 'PKCS12'
  readonly source: Material
  readonly password: Secret | null
}

export interface KeyStore {
  readonly type: 'PEM' | 'PKCS12'
  /** PEM: certificates (and the key, when `key` is null). PKCS12: the store. */
  readonly source: Material
  readonly key: Material | null
  /** Of a PKCS12 store. */
  readonly password: Secret | null
  readonly keyPassword: Secret | null
}

export interface TlsConfig {
  /** Null = the authorities that Node trusts. */
  readonly trust: TrustStore | null
  readonly key: KeyStore | null
  /** Whether the certificate's names must hold the host we asked for (RFC 2818). */
  readonly verifyHostname: boolean
  /** Lowest and highest version spoken; absent or null = Node's own choice. */
  readonly versions?: {readonly min: TlsVersion; readonly max: TlsVersion} | null
}

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3'

export type ScramMechanism = 'SCRAM-SHA-256' | 'SCRAM-SHA-512'

export type SaslConfig =
  | {readonly mechanism: 'PLAIN' | ScramMechanism; readonly username: string; readonly password: Secret}
  | {readonly mechanism: 'OAUTHBEARER'; readonly token: TokenSource}

/** Where OAUTHBEARER gets its token: read again for every authentication, so a refreshed file is seen. */
export type TokenSource =
  {readonly kind: 'file'; readonly path: string} | {readonly kind: 'text'; readonly token: Secret}

export interface SecurityConfig {
  readonly tls: TlsConfig | null
  readonly sasl: SaslConfig | null
}

/** No TLS, no SASL: Kafka's default security.protocol=PLAINTEXT. */
export const PLAINTEXT: SecurityConfig = {tls: null, sasl: null}

/** All that a transport needs to know. */
export interface ConnectionConfig extends SecurityConfig {
  readonly bootstrapServers: readonly BrokerAddress[]
  readonly clientId: string
  /** Limit for connecting, signing in and the first metadata, over all bootstrap servers; ms. */
  readonly timeoutMs: number
  /** Limit for one request's answer after that, ms; a request can have its own. */
  readonly requestTimeoutMs: number
}

/** What a connection needs beside its security; timeouts in ms, defaults 5,000 and 30,000. */
export interface ConnectionOptions {
  readonly bootstrapServers: readonly BrokerAddress[]
  readonly clientId: string
  readonly timeoutMs?: number | undefined
  readonly requestTimeoutMs?: number | undefined
}

/** Security and the rest as one configuration. */
export function createConnectionConfig(security: SecurityConfig, options: ConnectionOptions): ConnectionConfig {
  const {bootstrapServers, clientId, timeoutMs = 5000, requestTimeoutMs = 30_000} = options
  return {tls: security.tls, sasl: security.sasl, bootstrapServers, clientId, timeoutMs, requestTimeoutMs}
}

/** `host:port` as a person writes it, IPv6 in brackets. */
export function formatAddress({host, port}: BrokerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

const LISTENER = /^[A-Za-z_]\w*:\/\//
const BRACKETED = /^\[([^\]]+)\]:(\d{1,5})$/
const PLAIN_ADDRESS = /^([^\s:[\]/@]+):(\d{1,5})$/

/**
 * `a:9092,[::1]:9093` to addresses.
 * @throws UsageError that says what is wrong with which part
 */
export function parseBootstrapServers(text: string): readonly BrokerAddress[] {
  const parts = text.split(',').map(part => part.trim())
  const addresses = parts.filter(part => part !== '').map(part => parseAddress(part))
  if (addresses.length === 0)
    throw new UsageError('no bootstrap server is given', {hints: ['write HOST:PORT[,HOST:PORT]']})
  return addresses
}

function parseAddress(text: string): BrokerAddress {
  const wrong = (reason: string, hint = 'write HOST:PORT, IPv6 as [ADDRESS]:PORT'): UsageError =>
    new UsageError(`bootstrap server ${text}: ${reason}`, {hints: [hint], context: {bootstrapServer: text}})
  // A REST proxy gives no headers, and dead letters are told by theirs.
  if (/^https?:\/\//i.test(text))
    throw wrong(
      "an HTTP address; kdlq speaks Kafka's own protocol",
      'name a broker; there is no mode for a REST proxy, which gives no headers',
    )
  const bare = text.replace(LISTENER, '')
  if (bare !== text)
    throw wrong('a protocol has no place here', `write ${bare} and set security.protocol in --command-config`)
  const bracketed = BRACKETED.exec(text)
  const match = bracketed ?? PLAIN_ADDRESS.exec(text)
  if (match === null) {
    if (isIPv6(text)) throw wrong('an IPv6 address needs brackets and a port', `write [${text}]:9092`)
    if (!/:\d*$/.test(text)) throw wrong('the port is missing', `write ${text}:9092`)
    throw wrong('not an address')
  }
  const [, host = '', digits = ''] = match
  if (bracketed !== null && !isIPv6(host)) throw wrong('brackets are for IPv6 addresses')
  const port = Number(digits)
  if (port < 1 || port > 65_535) throw wrong('a port is a number from 1 to 65535')
  return {host, port}
}
