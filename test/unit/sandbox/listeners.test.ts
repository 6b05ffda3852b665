import {expect, test} from 'vitest'
import {properties} from '../../../sandbox/kafka.ts'
import {listenerProperties, scramArguments} from '../../../sandbox/listeners.ts'

test('maps every listener and gives each its own users and store', () => {
  const tls = {keystore: '/k.p12', password: 'p', clientCa: '/ca.pem'}
  const listeners = {
    LOGIN: {protocol: 'SASL_PLAINTEXT', mechanisms: ['PLAIN', 'SCRAM-SHA-256'], users: {alice: 'a"b'}},
    SAFE: {protocol: 'SSL', tls},
  } as const
  expect(listenerProperties(listeners)).toEqual({
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT,SAFE:SSL',
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256',
    'listener.name.login.sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256',
    'listener.name.login.plain.sasl.jaas.config':
      'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a\\"b";',
    'listener.name.login.scram-sha-256.sasl.jaas.config':
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'listener.name.safe.ssl.keystore.type': 'PKCS12',
    'listener.name.safe.ssl.keystore.location': '/k.p12',
    'listener.name.safe.ssl.keystore.password': 'p',
    'listener.name.safe.ssl.key.password': 'p',
    'listener.name.safe.ssl.client.auth': 'required',
    'listener.name.safe.ssl.truststore.type': 'PEM',
    'listener.name.safe.ssl.truststore.location': '/ca.pem',
  })
})

test('names SCRAM users for the storage tool and refuses what its notation cannot say', () => {
  const users = (password: string): Parameters<typeof scramArguments>[0] => ({
    L: {protocol: 'SASL_PLAINTEXT', mechanisms: ['PLAIN', 'SCRAM-SHA-512'], users: {bob: password}},
  })
  expect(scramArguments(users('s3'))).toEqual(['--add-scram', 'SCRAM-SHA-512=[name="bob",password="s3"]'])
  expect(() => scramArguments(users('a"b'))).toThrow(/no quotes/)
})

test('escapes values of a properties file', () => {
  expect(properties({a: 'x\\y', b: 'two\nlines'})).toBe('a=x\\\\y\nb=two\\nlines\n')
})
