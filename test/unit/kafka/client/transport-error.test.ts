import {describe, expect, test} from 'vitest'
import {BugError} from '../../../../src/lib/errors.ts'
import {
  ForeignAnswerError,
  toTransportError,
  TransportError,
  type FailureScene,
  type TransportErrorKind,
} from '../../../../src/lib/kafka/client/transport-error.ts'

const scene: FailureScene = {
  address: 'broker:9092',
  tls: false,
  saslMechanism: null,
  stage: 'socket',
  connectedBefore: false,
  socketError: null,
  enabledMechanisms: null,
}

function withCode(code: string, message = 'text'): Error {
  return Object.assign(new Error(message), {code})
}

function named(name: string, message: string, extra: object = {}): Error {
  return Object.assign(new Error(message), {name, ...extra})
}

const tls = {...scene, tls: true}
const sasl = {...scene, saslMechanism: 'SCRAM-SHA-256', stage: 'sasl' as const}

test.each<[TransportErrorKind, string, number, boolean]>([
  ['refused', 'E_CONNECTION_REFUSED', 5, true],
  ['dns', 'E_UNKNOWN_HOST', 5, false],
  ['timeout', 'E_TIMEOUT', 5, true],
  ['closed', 'E_CONNECTION_CLOSED', 5, true],
  ['tls', 'E_TLS', 5, false],
  ['auth', 'E_AUTH', 4, false],
  ['config', 'E_CONFIG', 2, false],
  ['unsupported', 'E_UNSUPPORTED_VERSION', 1, false],
])('kind %s has code %s, exit code %i, retriable %s', (kind, code, exitCode, retriable) => {
  expect(new TransportError(kind, 'a:1', 'text')).toMatchObject({
    name: 'TransportError',
    kind,
    code,
    exitCode,
    retriable,
    address: 'a:1',
  })
})

describe('what a broken connection leaves behind', () => {
  test.each<[string, unknown, FailureScene, TransportErrorKind, string]>([
    ['ECONNREFUSED', withCode('ECONNREFUSED'), scene, 'refused', 'refused the connection'],
    ['EHOSTUNREACH', withCode('EHOSTUNREACH'), scene, 'refused', 'EHOSTUNREACH'],
    ['ENOTFOUND', withCode('ENOTFOUND'), scene, 'dns', 'unknown'],
    ['EAI_AGAIN', withCode('EAI_AGAIN'), scene, 'dns', 'unknown'],
    ['ETIMEDOUT', withCode('ETIMEDOUT'), scene, 'timeout', 'no connection'],
    [
      'a dropped SYN',
      named('KafkaJSConnectionError', 'Connection timeout'),
      scene,
      'timeout',
      'did not answer in time',
    ],
    [
      'a request timeout',
      named('KafkaJSRequestTimeoutError', 'x'),
      {...scene, stage: 'ready'},
      'timeout',
      'did not answer',
    ],
    ['ECONNRESET in the TLS handshake', withCode('ECONNRESET'), tls, 'tls', 'during the TLS handshake'],
    ['ECONNRESET later', withCode('ECONNRESET'), {...tls, stage: 'ready'}, 'closed', 'was lost'],
    ['an unknown authority', withCode('SELF_SIGNED_CERT_IN_CHAIN'), tls, 'tls', 'not trusted'],
    ['a self-signed certificate', withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), tls, 'tls', 'not trusted'],
    ['a missing intermediate', withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), tls, 'tls', 'not trusted'],
    ['an expired certificate', withCode('CERT_HAS_EXPIRED'), tls, 'tls', 'has expired'],
    ['a certificate of tomorrow', withCode('CERT_NOT_YET_VALID'), tls, 'tls', 'not valid yet'],
    ['no TLS on the other side', withCode('ERR_SSL_WRONG_VERSION_NUMBER'), tls, 'tls', 'does not speak TLS'],
    ['another TLS failure', withCode('ERR_SSL_NO_PROTOCOLS_AVAILABLE'), tls, 'tls', 'failed'],
    [
      'a refused client certificate, Node 20',
      withCode('ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE'),
      tls,
      'auth',
      'client certificate',
    ],
    [
      'a refused client certificate, Node 24',
      withCode('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
      tls,
      'auth',
      'client certificate',
    ],
    ['an unknown client authority', withCode('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'), tls, 'auth', 'client certificate'],
    [
      'a close at the first request',
      named('KafkaJSConnectionClosedError', 'x'),
      {...scene, stage: 'versions'},
      'closed',
      'first request',
    ],
    [
      'a close after ApiVersions',
      named('KafkaJSConnectionClosedError', 'x'),
      {...scene, stage: 'first-request'},
      'auth',
      'after the first',
    ],
    ['a close in SASL', named('KafkaJSConnectionClosedError', 'x'), sasl, 'closed', 'during authentication'],
    [
      'wrong credentials',
      named('KafkaJSSASLAuthenticationError', 'SASL PLAIN authentication failed: No such user'),
      sasl,
      'auth',
      ': No such user',
    ],
    [
      'a mechanism not enabled',
      named('KafkaJSProtocolError', 'x', {type: 'UNSUPPORTED_SASL_MECHANISM'}),
      sasl,
      'auth',
      'SCRAM-SHA-256',
    ],
    [
      'SASL where none is',
      named('KafkaJSProtocolError', 'x', {type: 'ILLEGAL_SASL_STATE'}),
      sasl,
      'auth',
      'does not expect SASL',
    ],
    ['an HTTP server', new ForeignAnswerError('http', 'x'), scene, 'config', 'an HTTP server answered'],
    ['a TLS alert', new ForeignAnswerError('tls', 'x'), scene, 'tls', 'answered with TLS'],
    ['something that is no error', 'odd', {...scene, stage: 'ready'}, 'closed', 'was lost'],
  ])('%s', (_name, error, where, kind, text) => {
    const found = toTransportError(error, where)
    expect(found).toBeInstanceOf(TransportError)
    expect(found).toMatchObject({kind, address: 'broker:9092'})
    expect(found.message).toContain(text)
    expect(found.message).not.toMatch(/[\n.]$/)
  })

  test('the socket tells more than the error kafkajs makes of it', () => {
    const error = named('KafkaJSConnectionError', 'Connection error: ')
    const refused = Object.assign(new AggregateError([], ''), {code: 'ECONNREFUSED'})
    expect(toTransportError(error, {...scene, socketError: refused})).toMatchObject({kind: 'refused', cause: refused})
  })

  test('a wrong host name is answered with the names of the certificate', () => {
    const error = Object.assign(withCode('ERR_TLS_CERT_ALTNAME_INVALID'), {cert: {subjectaltname: 'DNS:a, DNS:b'}})
    expect(toTransportError(error, tls).message).toContain('DNS:a, DNS:b')
  })

  test('the mechanisms that are enabled are named', () => {
    const error = named('KafkaJSProtocolError', 'x', {type: 'UNSUPPORTED_SASL_MECHANISM'})
    expect(toTransportError(error, {...sasl, enabledMechanisms: ['PLAIN', 'OAUTHBEARER']}).hints).toEqual([
      'the listener takes PLAIN, OAUTHBEARER',
    ])
  })

  test('an error of ours stays what it is', () => {
    const bug = new BugError('x')
    expect(toTransportError(bug, scene)).toBe(bug)
    expect(toTransportError(new Error('close'), {...scene, socketError: bug})).toBe(bug)
  })
})
