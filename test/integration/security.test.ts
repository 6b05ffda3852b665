import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {inspect} from 'node:util'
import {afterAll, beforeAll, describe, expect, inject, test, vi} from 'vitest'
import {type Kafka, startKafka} from '../../sandbox/kafka.ts'
import {createTestAuthority, type TestAuthority} from '../../sandbox/tls.ts'
import {ensureLibs} from '../../sandbox/libs.ts'
import {createKafkaTransport, type TransportDeps} from '../../src/lib/kafka/client/kafkajs-transport.ts'
import {parseClientProperties} from '../../src/lib/kafka/client/properties.ts'
import {createConnectionConfig, parseBootstrapServers} from '../../src/lib/kafka/client/security.ts'
import {TransportError, type TransportErrorKind} from '../../src/lib/kafka/client/transport-error.ts'
import type {Transport} from '../../src/lib/kafka/transport.ts'

const users = {alice: 'alice-secret'}
const plainUsers = {...users, bob: 'bob "quoted" \\ secret'}
const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule'
const SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule'
const BEARER = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule'
const SHORT_SESSION_MS = 6000

let kafka: Kafka | undefined
let authority: TestAuthority
let folder: string

beforeAll(async () => {
  folder = join(inject('kafkaDir'), 'security')
  await mkdir(folder, {recursive: true})
  authority = await createTestAuthority(await ensureLibs('4.4.0'), join(folder, 'tls'))
  kafka = await startKafka({
    version: '4.4.0',
    dir: join(folder, 'kafka'),
    extraListeners: {
      SASL: {protocol: 'SASL_PLAINTEXT', mechanisms: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'], users},
      SHORT: {protocol: 'SASL_PLAINTEXT', mechanisms: ['PLAIN'], users: plainUsers},
      BEARER: {protocol: 'SASL_PLAINTEXT', mechanisms: []},
      TLS: {protocol: 'SSL', tls: authority.server},
      TLS_SASL: {protocol: 'SASL_SSL', mechanisms: ['SCRAM-SHA-512'], users, tls: authority.server},
      WRONG_HOST: {protocol: 'SSL', tls: authority.wrongHost},
      EXPIRED: {protocol: 'SSL', tls: authority.expired},
      MUTUAL: {protocol: 'SSL', tls: {...authority.server, clientCa: authority.caFile}},
    },
    configs: {
      'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
      'listener.name.bearer.sasl.enabled.mechanisms': 'OAUTHBEARER',
      'listener.name.bearer.oauthbearer.sasl.jaas.config': `${BEARER} required unsecuredLoginStringClaim_sub="broker";`,
      'listener.name.short.plain.connections.max.reauth.ms': String(SHORT_SESSION_MS),
    },
  })
})

afterAll(async () => {
  await kafka?.stop()
})

/** A transport by a Java client's properties, `$ca` and the like standing for the test's files. */
function transport(listener: string, properties: string, deps: TransportDeps = {}): Transport {
  const text = properties
    .replaceAll('$other', authority.otherCaFile)
    .replaceAll('$ca', authority.caFile)
    .replaceAll('$client', authority.client.certFile.replace(/\.pem$/, ''))
    .replaceAll('$folder', folder)
  const bootstrapServers = parseBootstrapServers(kafka?.listeners[listener] ?? listener)
  const config = createConnectionConfig(parseClientProperties(text, 'test.properties'), {
    bootstrapServers,
    clientId: 'kdlq-test',
  })
  return createKafkaTransport(config, deps)
}

const trust = 'ssl.truststore.type=PEM\nssl.truststore.location=$ca\n'
const tls = `security.protocol=SSL\n${trust}`
const plain = (name: string, password: string, protocol = 'SASL_PLAINTEXT'): string =>
  `security.protocol=${protocol}\nsasl.mechanism=PLAIN\nsasl.jaas.config=${PLAIN} required username="${name}" password="${password}";\n`
const scram = (mechanism: string, name: string, password: string, protocol = 'SASL_PLAINTEXT'): string =>
  `security.protocol=${protocol}\nsasl.mechanism=${mechanism}\nsasl.jaas.config=${SCRAM} required username="${name}" password="${password}";\n`
// As Java reads it: the file's backslashes go first, then the module's.
const bobs = 'bob \\\\"quoted\\\\" \\\\\\\\ secret'

describe('signs in', () => {
  test.each<[string, string, string]>([
    ['without security', 'PLAINTEXT', ''],
    ['with PLAIN', 'SASL', plain('alice', users.alice)],
    ['with PLAIN and a password that needs quoting', 'SHORT', plain('bob', bobs)],
    ['with SCRAM-SHA-256', 'SASL', scram('SCRAM-SHA-256', 'alice', users.alice)],
    ['with SCRAM-SHA-512', 'SASL', scram('SCRAM-SHA-512', 'alice', users.alice)],
    ['with a private authority', 'TLS', tls],
    ['with SCRAM over TLS', 'TLS_SASL', `${scram('SCRAM-SHA-512', 'alice', users.alice, 'SASL_SSL')}${trust}`],
    [
      'with a PKCS12 trust store',
      'TLS',
      'security.protocol=SSL\nssl.truststore.location=$client.p12\nssl.truststore.password=changeit',
    ],
    [
      'with a client certificate in a PKCS12 store',
      'MUTUAL',
      `${tls}ssl.keystore.location=$client.p12\nssl.keystore.password=changeit`,
    ],
    ['without checking the host name', 'WRONG_HOST', `${tls}ssl.endpoint.identification.algorithm=`],
  ])('%s', async (_name, listener, properties) => {
    await using made = transport(listener, properties)
    await made.connect()
    expect(made.nodes().map(({id}) => id)).toEqual([1])
    expect(made.features.get('transaction.version')).toBe(2)
    expect((await made.metadata([])).clusterId).toMatch(/^[\w-]{22}$/)
  })

  test('with a client certificate and key in one PEM file', async () => {
    const {certFile, keyFile} = authority.client
    const {readFile} = await import('node:fs/promises')
    await writeFile(join(folder, 'both.pem'), `${await readFile(keyFile, 'utf8')}\n${await readFile(certFile, 'utf8')}`)
    await using made = transport('MUTUAL', `${tls}ssl.keystore.type=PEM\nssl.keystore.location=$folder/both.pem`)
    await made.connect()
    expect(made.controller()).toBe(1)
  })

  test('with an OAUTHBEARER token from a file', async () => {
    await writeFile(join(folder, 'token'), unsecuredToken('alice', 3600))
    await using made = transport('BEARER', bearer)
    await made.connect()
    expect(made.controller()).toBe(1)
  })

  test('again before a short session ends, and not at every request', async () => {
    const lines: string[] = []
    await using made = transport('SHORT', plain('alice', users.alice), {debug: line => lines.push(line)})
    const handshakes = (): number => lines.filter(line => line.includes('Request SaslHandshake')).length
    await made.connect()
    for (let request = 0; request < 5; request++) await made.metadata([])
    expect(handshakes()).toBe(1)
    const again = async (): Promise<void> => {
      await made.metadata([])
      expect(handshakes()).toBe(2)
    }
    await vi.waitFor(again, {timeout: 3 * SHORT_SESSION_MS, interval: 100})
  })
})

const bearer = `security.protocol=SASL_PLAINTEXT
sasl.mechanism=OAUTHBEARER
sasl.oauthbearer.token.endpoint.url=file://$folder/token
`

/** A JWT without signature, as Kafka's default validator for tests takes it. */
function unsecuredToken(subject: string, lifetimeSeconds: number): string {
  const now = Math.floor(Date.now() / 1000)
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  return `${encode({alg: 'none'})}.${encode({sub: subject, iat: now, exp: now + lifetimeSeconds})}.`
}

async function failure(made: Transport): Promise<{error: TransportError; tookMs: number}> {
  const start = performance.now()
  const error: unknown = await made.connect().then(
    () => null,
    (reason: unknown) => reason,
  )
  const tookMs = performance.now() - start
  await made.close()
  if (!(error instanceof TransportError)) throw error
  return {error, tookMs}
}

describe('shows within five seconds why it could not connect', () => {
  test.each<[string, string, string, TransportErrorKind, string, string]>([
    [
      'a wrong password with PLAIN',
      'SASL',
      plain('alice', 'wrong-secret'),
      'auth',
      'refused the credentials: Authentication failed: Invalid username or password',
      '',
    ],
    [
      'a wrong password with SCRAM',
      'SASL',
      scram('SCRAM-SHA-256', 'alice', 'wrong-secret'),
      'auth',
      'refused the credentials: Authentication failed',
      '',
    ],
    [
      'an unknown user',
      'SASL',
      scram('SCRAM-SHA-512', 'mallory', 'wrong-secret'),
      'auth',
      'refused the credentials',
      '',
    ],
    [
      'a mechanism that is not enabled',
      'TLS_SASL',
      `${plain('alice', users.alice, 'SASL_SSL')}${trust}`,
      'auth',
      'does not take SASL mechanism PLAIN',
      'the listener takes SCRAM-SHA-512',
    ],
    ['plaintext to a TLS listener', 'TLS', '', 'tls', 'answered with TLS', 'security.protocol=SSL'],
    [
      'SASL without TLS to a TLS listener',
      'TLS_SASL',
      scram('SCRAM-SHA-512', 'alice', users.alice),
      'tls',
      'answered with TLS',
      'SASL_SSL',
    ],
    ['TLS to a plaintext listener', 'PLAINTEXT', tls, 'tls', 'during the TLS handshake', 'the listener is not TLS'],
    [
      'an authority that signed nothing',
      'TLS',
      tls.replace('$ca', '$other'),
      'tls',
      'not trusted',
      'ssl.truststore.location',
    ],
    [
      'no authority at all',
      'TLS',
      'security.protocol=SSL',
      'tls',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'ssl.truststore.location',
    ],
    ['a certificate for another host', 'WRONG_HOST', tls, 'tls', 'DNS:broker.example', 'connect by one of these names'],
    ['an expired certificate', 'EXPIRED', tls, 'tls', 'has expired', ''],
    ['no client certificate', 'MUTUAL', tls, 'auth', 'client certificate', 'ssl.keystore.location'],
    ['no SASL on a SASL listener', 'SASL', '', 'auth', 'closed the connection', 'the listener probably wants SASL'],
    [
      'no SASL on a SASL listener with TLS',
      'TLS_SASL',
      tls,
      'auth',
      'closed the connection',
      'the listener probably wants SASL',
    ],
    [
      'SASL on a listener without',
      'PLAINTEXT',
      plain('alice', users.alice),
      'auth',
      'does not expect SASL',
      'the listener has no SASL',
    ],
    ['a port where nobody listens', '127.0.0.1:1', '', 'refused', 'ECONNREFUSED', ''],
    ['a host that does not exist', 'no-such-host.invalid:9092', '', 'dns', 'is unknown', ''],
  ])('%s', async (_name, listener, properties, kind, message, hint) => {
    const {error, tookMs} = await failure(transport(listener, properties))
    expect(error).toMatchObject({kind})
    expect(error.message).toContain(message)
    expect(error.hints.join()).toContain(hint)
    expect(tookMs).toBeLessThan(5000)
    expect(inspect(error, {depth: 9, showHidden: true})).not.toContain('secret')
  })

  test('a token that has expired', async () => {
    await writeFile(join(folder, 'token'), unsecuredToken('alice', -60))
    const {error, tookMs} = await failure(transport('BEARER', bearer))
    expect(error).toMatchObject({kind: 'auth'})
    expect(error.message).toContain('invalid_token')
    expect(tookMs).toBeLessThan(5000)
  })

  test('a broker that accepts and never answers', async () => {
    kafka?.suspend()
    try {
      const {error, tookMs} = await failure(transport('SASL', plain('alice', users.alice)))
      expect(error).toMatchObject({kind: 'timeout', exitCode: 5})
      expect(tookMs).toBeLessThan(5500)
    } finally {
      kafka?.resume()
    }
  })
})
