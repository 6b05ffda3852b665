/** Why a broker could not be talked to, told from what the socket, TLS, SASL and kafkajs left behind. */
import {EXIT, KdlqError, type ErrorContext, type ExitCode} from '../../errors.ts'
import {ProtocolFormatError} from '../protocol/wire.ts'

/** How far a connection got: what it was doing last tells what a sudden close means. */
export type Stage = 'socket' | 'versions' | 'sasl' | 'first-request' | 'ready'

/** The other side does not speak Kafka's protocol: the length of an answer cannot be one. */
export class ForeignAnswerError extends ProtocolFormatError {
  readonly speaks: 'tls' | 'http' | 'unknown'

  constructor(speaks: 'tls' | 'http' | 'unknown', message: string) {
    super(message, 0)
    this.speaks = speaks
  }
}

export type TransportErrorKind = 'refused' | 'dns' | 'timeout' | 'tls' | 'auth' | 'closed' | 'config' | 'unsupported'

const KINDS: Readonly<Record<TransportErrorKind, {code: string; exitCode: ExitCode; retriable: boolean}>> = {
  refused: {code: 'E_CONNECTION_REFUSED', exitCode: EXIT.UNREACHABLE, retriable: true},
  dns: {code: 'E_UNKNOWN_HOST', exitCode: EXIT.UNREACHABLE, retriable: false},
  timeout: {code: 'E_TIMEOUT', exitCode: EXIT.UNREACHABLE, retriable: true},
  closed: {code: 'E_CONNECTION_CLOSED', exitCode: EXIT.UNREACHABLE, retriable: true},
  tls: {code: 'E_TLS', exitCode: EXIT.UNREACHABLE, retriable: false},
  auth: {code: 'E_AUTH', exitCode: EXIT.AUTH, retriable: false},
  config: {code: 'E_CONFIG', exitCode: EXIT.USAGE, retriable: false},
  unsupported: {code: 'E_UNSUPPORTED_VERSION', exitCode: EXIT.FAILED, retriable: false},
}

export interface TransportErrorDetails {
  readonly hint?: string | undefined
  readonly cause?: unknown
  readonly context?: ErrorContext
}

/** A broker could not be reached, did not let us in, closed the connection or cannot do what was asked. */
export class TransportError extends KdlqError {
  override readonly exitCode: ExitCode
  readonly kind: TransportErrorKind
  /** `host:port` of the broker. */
  readonly address: string
  readonly hint: string | null

  constructor(kind: TransportErrorKind, address: string, message: string, details: TransportErrorDetails = {}) {
    const {code, exitCode, retriable} = KINDS[kind]
    const {hint, cause, context} = details
    super(message, code, {
      retriable,
      hints: hint === undefined ? [] : [hint],
      context: {address, kind, ...context},
      cause,
    })
    this.kind = kind
    this.address = address
    this.exitCode = exitCode
    this.hint = hint ?? null
  }
}

/** What is known about the connection that failed. */
export interface FailureScene {
  readonly address: string
  readonly tls: boolean
  readonly saslMechanism: string | null
  readonly stage: Stage
  /** The same settings got through to a broker of this cluster: a sudden close is no refusal of them. */
  readonly connectedBefore: boolean
  readonly socketError: Error | null
  readonly enabledMechanisms: readonly string[] | null
}

/** kafkajs' and Node's errors to ours; a KdlqError stays what it is. Classes are told by name and code, not by text. */
export function toTransportError(error: unknown, scene: FailureScene): KdlqError {
  const cause = scene.socketError ?? error
  const foreign = [error, cause].find(each => each instanceof ForeignAnswerError)
  if (foreign !== undefined && scene.stage !== 'ready') return notKafka(foreign, scene.address)
  if (error instanceof KdlqError) return error
  if (cause instanceof KdlqError) return cause
  const code = textOf(cause, 'code') ?? textOf(error, 'code')
  return (
    saslError(error, scene) ??
    (code === null ? null : socketCode(code, cause, scene)) ??
    closedOrLate(error, cause, scene)
  )
}

const TLS_HINT = 'the listener probably wants TLS: security.protocol=SSL or SASL_SSL'

function notKafka(cause: ForeignAnswerError, address: string): TransportError {
  if (cause.speaks === 'tls')
    return new TransportError('tls', address, `${address} answered with TLS`, {hint: TLS_HINT, cause})
  const what = cause.speaks === 'http' ? ': an HTTP server answered' : ''
  return new TransportError('config', address, `${address} does not speak kafka's protocol${what}`, {
    hint: 'check host and port of the bootstrap server',
    cause,
  })
}

function saslError(error: unknown, scene: FailureScene): TransportError | null {
  const {address, saslMechanism, enabledMechanisms} = scene
  const name = textOf(error, 'name')
  const type = textOf(error, 'type')
  if (type === 'UNSUPPORTED_SASL_MECHANISM') {
    const enabled = enabledMechanisms ?? []
    const hint = enabled.length === 0 ? undefined : `the listener takes ${enabled.join(', ')}`
    const context = {enabledMechanisms: enabled}
    return new TransportError('auth', address, `${address} does not take SASL mechanism ${saslMechanism}`, {
      hint,
      cause: error,
      context,
    })
  }
  if (type === 'ILLEGAL_SASL_STATE') {
    const hint = 'the listener has no SASL: use security.protocol=PLAINTEXT or SSL, or the port of a SASL listener'
    return new TransportError('auth', address, `${address} does not expect SASL authentication`, {hint, cause: error})
  }
  if (name === 'KafkaJSSASLAuthenticationError' || type === 'SASL_AUTHENTICATION_FAILED') {
    const said = messageOf(error).replace(/^SASL .*? failed: /, '')
    return new TransportError('auth', address, `${address} refused the credentials: ${said}`, {cause: error})
  }
  return null
}

const REFUSED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EACCES'])
const UNKNOWN_HOST = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME'])
const LOST = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])
const UNTRUSTED = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
])

function socketCode(code: string, cause: unknown, scene: FailureScene): TransportError | null {
  const {address} = scene
  const context = {systemCode: code}
  if (REFUSED.has(code))
    return new TransportError('refused', address, `${address} refused the connection (${code})`, {cause, context})
  if (UNKNOWN_HOST.has(code))
    return new TransportError('dns', address, `host of ${address} is unknown (${code})`, {cause, context})
  if (code === 'ETIMEDOUT')
    return new TransportError('timeout', address, `no connection to ${address} in time`, {cause, context})
  if (LOST.has(code)) return scene.tls && scene.stage === 'socket' ? notTls(cause, scene) : null
  return tlsCode(code, cause, scene)
}

function tlsCode(code: string, cause: unknown, {address}: FailureScene): TransportError | null {
  const tls = (message: string, hint?: string): TransportError =>
    new TransportError('tls', address, message, {hint, cause, context: {systemCode: code}})
  if (UNTRUSTED.has(code)) {
    return tls(
      `the certificate of ${address} is signed by an authority that is not trusted (${code})`,
      'name the authority in ssl.truststore.location (PEM or PKCS12) or ssl.truststore.certificates',
    )
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = textOf(propertyOf(cause, 'cert'), 'subjectaltname') ?? 'no names'
    return tls(`the certificate of ${address} is for other names: ${names}`, 'connect by one of these names')
  }
  if (code === 'CERT_HAS_EXPIRED') return tls(`the certificate of ${address} has expired`)
  if (code === 'CERT_NOT_YET_VALID')
    return tls(`the certificate of ${address} is not valid yet`, 'check the clock of this machine')
  if (/ALERT_(BAD_CERTIFICATE|CERTIFICATE_\w+|UNKNOWN_CA)/.test(code)) {
    const hint = 'the listener wants a client certificate that it trusts: ssl.keystore.location'
    const message = `${address} refused the client certificate, or wants one (${code})`
    return new TransportError('auth', address, message, {hint, cause, context: {systemCode: code}})
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return tls(
      `${address} does not speak TLS`,
      'the listener is not TLS: use security.protocol=PLAINTEXT or SASL_PLAINTEXT',
    )
  }
  return /^(ERR_SSL_|ERR_TLS_|ERR_OSSL_|CERT_|HOSTNAME_MISMATCH)/.test(code)
    ? tls(`TLS with ${address} failed (${code})`)
    : null
}

function notTls(cause: unknown, {address}: FailureScene): TransportError {
  const hint =
    'the listener is not TLS: use security.protocol=PLAINTEXT or SASL_PLAINTEXT, or the port of a TLS listener'
  return new TransportError('tls', address, `${address} closed the connection during the TLS handshake`, {hint, cause})
}

function closedOrLate(error: unknown, cause: unknown, scene: FailureScene): TransportError {
  const {address, tls, saslMechanism, stage, connectedBefore} = scene
  const name = textOf(error, 'name') ?? ''
  if (
    name === 'KafkaJSRequestTimeoutError' ||
    name === 'KafkaJSLockTimeout' ||
    messageOf(error) === 'Connection timeout'
  ) {
    return new TransportError('timeout', address, `${address} did not answer in time`, {cause})
  }
  if (name === 'KafkaJSServerDoesNotSupportApiKey') {
    return new TransportError('unsupported', address, `${address} lacks an API that the connection needs`, {cause})
  }
  const closed = (message: string, hint?: string): TransportError =>
    new TransportError('closed', address, message, {hint, cause, context: {stage}})
  if (stage === 'versions' && !tls && !connectedBefore) {
    return closed(`${address} closed the connection at the first request`, TLS_HINT)
  }
  if (stage === 'first-request' && saslMechanism === null && !connectedBefore) {
    const hint = 'the listener probably wants SASL: security.protocol=SASL_SSL or SASL_PLAINTEXT'
    return new TransportError('auth', address, `${address} closed the connection after the first request`, {
      hint,
      cause,
      context: {stage},
    })
  }
  if (stage === 'sasl') return closed(`${address} closed the connection during authentication`)
  return closed(`the connection to ${address} was lost`)
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : null
}

function textOf(value: unknown, key: string): string | null {
  const found = propertyOf(value, key)
  return typeof found === 'string' && found !== '' ? found : null
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replaceAll(/\s+/g, ' ').replace(/\.$/, '') : String(error)
}
