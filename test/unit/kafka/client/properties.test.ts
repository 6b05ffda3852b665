import {describe, expect, test} from 'vitest'
import {ConfigError} from '../../../../src/lib/errors.ts'
import {parseProperties} from '../../../../src/lib/kafka/client/properties-file.ts'
import {parseClientProperties} from '../../../../src/lib/kafka/client/properties.ts'
import {parseJaas} from '../../../../src/lib/kafka/client/security-jaas.ts'
import {Secret} from '../../../../src/lib/kafka/client/security.ts'

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule'
const SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule'

describe('the syntax of java.util.Properties', () => {
  test.each<[string, string, Record<string, string>]>([
    ['separators', 'a=1\nb:2\nc 3\nd\t=\t4\ne = = 5\nf', {a: '1', b: '2', c: '3', d: '4', e: '= 5', f: ''}],
    ['comments and blank lines', '# a=1\n  ! b=2\n\n  \t\nc=3#4', {c: '3#4'}],
    ['line ends', 'a=1\r\nb=2\rc=3', {a: '1', b: '2', c: '3'}],
    ['blanks around', '  a  =  1  \n', {a: '1  '}],
    ['lines that go on', 'a=1,\\\n   2,\\\r\n\t3\nb=4', {a: '1,2,3', b: '4'}],
    ['a comment mark in a line that goes on', 'a=1\\\n#2', {a: '1#2'}],
    ['an even number of backslashes at the end', 'a=1\\\\\nb=2', {a: '1\\', b: '2'}],
    ['a backslash at the end of the file', 'a=1\\', {a: '1'}],
    ['escapes', 'a=\\t\\n\\r\\f\\\\\\q\\u00e9\\"', {a: '\t\n\r\f\\qé"'}],
    ['escaped separators in keys', 'a\\ b\\=c\\:d=1', {'a b=c:d': '1'}],
    ['repeated keys', 'a=1\na=2', {a: '2'}],
    ['an empty file', '', {}],
  ])('%s', (_name, text, expected) => {
    expect(Object.fromEntries(parseProperties(text))).toEqual(expected)
  })
})

describe('sasl.jaas.config', () => {
  test.each<[string, Record<string, string>]>([
    [`${PLAIN} required username="a" password="b";`, {username: 'a', password: 'b'}],
    [`  ${PLAIN}\n  Required username=a\n password='b c' ; `, {username: 'a', password: 'b c'}],
    [`${PLAIN} required password="a\\"b\\\\;c=d";`, {password: 'a"b\\;c=d'}],
    [`${PLAIN} required;`, {}],
  ])('%s', (text, options) => {
    expect(Object.fromEntries(parseJaas(text)?.options ?? [])).toEqual(options)
  })

  test.each([
    PLAIN,
    `${PLAIN} required username="a"`,
    `${PLAIN} username="a";`,
    `${PLAIN} required a="b"; ${SCRAM} required;`,
    '',
  ])('%s is not one login module', text => {
    expect(parseJaas(text)).toBeNull()
  })
})

function refusal(text: string): ConfigError {
  try {
    parseClientProperties(text, 'client.properties')
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('was accepted')
}

describe('client properties', () => {
  test('without security settings are plaintext', () => {
    expect(parseClientProperties('group.id=g\nmax.poll.records=5\n', 'f')).toEqual({
      bootstrapServers: null,
      clientId: null,
      tls: null,
      sasl: null,
    })
  })

  test('of SASL_SSL with SCRAM and PEM', () => {
    const text = `bootstrap.servers=a:1,[::1]:2
client.id=me
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=${SCRAM} required \\
  username="alice" \\
  password="alice-secret";
ssl.truststore.type=PEM
ssl.truststore.location=/etc/ca.pem
ssl.endpoint.identification.algorithm=
ssl.enabled.protocols=TLSv1.3
`
    const found = parseClientProperties(text, 'f')
    expect(found).toMatchObject({
      bootstrapServers: [
        {host: 'a', port: 1},
        {host: '::1', port: 2},
      ],
      clientId: 'me',
      sasl: {mechanism: 'SCRAM-SHA-512', username: 'alice'},
      tls: {
        trust: {type: 'PEM', source: {kind: 'file', path: '/etc/ca.pem'}},
        key: null,
        verifyHostname: false,
        versions: {min: 'TLSv1.3', max: 'TLSv1.3'},
      },
    })
    expect(JSON.stringify(found)).not.toContain('alice-secret')
  })

  test('give the password as it was meant', () => {
    const text = `security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=${PLAIN} required username="u" password="p=\\\\"\\#w";`
    const {sasl} = parseClientProperties(text, 'f')
    expect(sasl?.mechanism === 'PLAIN' && sasl.password.reveal()).toBe('p="#w')
  })

  test.each([
    [
      'ssl.keystore.type=PKCS12\nssl.keystore.location=k.p12\nssl.keystore.password=p',
      {type: 'PKCS12', source: {kind: 'file', path: 'k.p12'}},
    ],
    [
      'ssl.keystore.location=k.pem\nssl.key.password=p',
      {type: 'PEM', source: {kind: 'file', path: 'k.pem'}, key: null},
    ],
    ['ssl.keystore.type=JKS\nssl.keystore.location=k.jks', {type: 'PKCS12'}],
    [
      'ssl.keystore.type=PEM\nssl.keystore.key=K\nssl.keystore.certificate.chain=C',
      {source: {kind: 'text'}, key: {kind: 'text'}},
    ],
  ])('of a key store: %s', (text, key) => {
    expect(parseClientProperties(`security.protocol=SSL\n${text}`, 'f').tls?.key).toMatchObject(key)
  })

  test('of OAUTHBEARER read the token from a file', () => {
    const text = `security.protocol=SASL_SSL
sasl.mechanism=OAUTHBEARER
sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler
sasl.oauthbearer.token.endpoint.url=file:///run/my%20token`
    expect(parseClientProperties(text, 'f').sasl).toEqual({
      mechanism: 'OAUTHBEARER',
      token: {kind: 'file', path: '/run/my token'},
    })
  })

  const sasl = 'security.protocol=SASL_PLAINTEXT\n'
  test.each<[string, string, string]>([
    ['a misspelt key', 'ssl.truststore.loction=/x', "did you mean 'ssl.truststore.location'?"],
    ['a misspelt protocol', 'security.protocol=SASL_SLL', "did you mean 'SASL_SSL'?"],
    ['a missing mechanism', sasl, 'set one of PLAIN'],
    ['Kerberos', `${sasl}sasl.mechanism=GSSAPI`, 'GSSAPI (Kerberos) is not supported'],
    ['an unknown mechanism', `${sasl}sasl.mechanism=SCRAM-SHA-1`, 'use one of PLAIN'],
    ['no login module', `${sasl}sasl.mechanism=PLAIN`, 'sasl.jaas.config is missing'],
    [
      'a broken login module',
      `${sasl}sasl.mechanism=PLAIN\nsasl.jaas.config=${PLAIN} required`,
      'is not one login module',
    ],
    [
      'the module of another mechanism',
      `${sasl}sasl.mechanism=PLAIN\nsasl.jaas.config=${SCRAM} required;`,
      'not PlainLoginModule',
    ],
    ['no password', `${sasl}sasl.mechanism=PLAIN\nsasl.jaas.config=${PLAIN} required username="u";`, 'lacks password'],
    [
      'delegation tokens',
      `${sasl}sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=${SCRAM} required username="u" password="p" tokenauth="true";`,
      'delegation tokens',
    ],
    [
      'a callback handler',
      `${sasl}sasl.mechanism=OAUTHBEARER\nsasl.client.callback.handler.class=software.amazon.X`,
      'Java classes cannot be loaded',
    ],
    [
      'a token endpoint',
      `${sasl}sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=https://x/token`,
      'write the token into a file',
    ],
    ['an SSL engine', 'ssl.engine.factory.class=x.Y', 'is not supported'],
    ['configuration providers', 'config.providers=file', 'cannot be resolved here'],
    [
      'a strange store type',
      'security.protocol=SSL\nssl.truststore.type=BCFKS\nssl.truststore.location=x',
      'use PEM or PKCS12',
    ],
    [
      'two trust stores',
      'security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=x\nssl.truststore.certificates=y',
      'are both set',
    ],
    [
      'half a key pair',
      'security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.key=x',
      'ssl.keystore.certificate.chain is missing',
    ],
    ['old TLS only', 'security.protocol=SSL\nssl.enabled.protocols=TLSv1.1', 'neither TLSv1.2 nor TLSv1.3'],
    [
      'an unknown check of names',
      'security.protocol=SSL\nssl.endpoint.identification.algorithm=http',
      'is https, or empty',
    ],
  ])('%s is a configuration error that names file and key', (_name, text, reason) => {
    const error = refusal(text)
    expect(error.message).toMatch(/^client\.properties: [\w.]+ /)
    expect([error.message, ...error.hints].join('\n')).toContain(reason)
  })

  test('no error holds a value that may be secret', () => {
    const secret = 'hunter2'
    const texts = [
      `${sasl}sasl.mechanism=PLAIN\nsasl.jaas.config=${PLAIN} required username="${secret}" pass="${secret}"`,
      `${sasl}sasl.mechanism=PLAIN\nsasl.jaas.config=${PLAIN} required password="${secret}";`,
      `ssl.key.pasword=${secret}`,
      `security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.key=${secret}`,
      `security.protocol=${secret}`,
      `${sasl}sasl.mechanism=${secret}`,
    ]
    const prints = texts.map(text => {
      const {message, hints, context} = refusal(text)
      return JSON.stringify({message, hints, context})
    })
    expect(prints.join()).not.toContain(secret)
    expect(new Secret(secret).toString()).not.toContain(secret)
  })
})
