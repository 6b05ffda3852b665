import {X509Certificate} from 'node:crypto'
import {readFile, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {promisify} from 'node:util'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {ConfigError} from '../../../../src/lib/errors.ts'
import {
  Secret,
  type KeyStore,
  type Material,
  type TlsConfig,
  type TrustStore,
} from '../../../../src/lib/kafka/client/security.ts'
import {certificatesOfPkcs12} from '../../../../src/lib/kafka/client/tls-pkcs12.ts'
import {loadTls} from '../../../../src/lib/kafka/client/tls.ts'
import {runs} from '../../../support/runs.ts'

const folder = join(import.meta.dirname, '../../../fixtures/tls')
const bytes = (name: string): Buffer => readFileSync(join(folder, name))
const file = (name: string): Material => ({kind: 'file', path: join(folder, name)})
const text = (name: string): Material => ({kind: 'text', pem: new Secret(bytes(name).toString('utf8'))})

function names(certificates: readonly string[]): string[] {
  return certificates.map(pem => new X509Certificate(pem).subject)
}

async function load(part: {trust?: Partial<TrustStore>; key?: Partial<KeyStore>}): Promise<unknown> {
  const config: TlsConfig = {
    verifyHostname: true,
    trust: part.trust === undefined ? null : {type: 'PEM', source: file('ca.pem'), password: null, ...part.trust},
    key:
      part.key === undefined
        ? null
        : {
            type: 'PEM',
            source: file('client.pem'),
            key: file('encrypted.key.pem'),
            password: null,
            keyPassword: null,
            ...part.key,
          },
  }
  return loadTls(config, promisify(readFile) as (path: string) => Promise<Buffer>)
}

async function refusal(part: Parameters<typeof load>[0]): Promise<ConfigError> {
  const error: unknown = await load(part).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ConfigError)
  return error as ConfigError
}

function outcome(store: Buffer): string {
  try {
    certificatesOfPkcs12(store, 'changeit', 'damaged.p12')
    return 'read'
  } catch (error) {
    return error instanceof Error ? error.name : 'odd'
  }
}

describe('PKCS12 trust stores', () => {
  test('made by keytool of Java 17 give all their certificates', () => {
    const found = certificatesOfPkcs12(bytes('trust.p12'), 'changeit', 'trust.p12')
    expect(names(found).toSorted()).toEqual(['CN=kdlq test ca', 'CN=kdlq test other-ca'])
    expect(new X509Certificate(found[0] ?? '').raw).toEqual(new X509Certificate(bytes('ca.pem')).raw)
  })

  test('without encryption and password are read too', () => {
    expect(names(certificatesOfPkcs12(bytes('plain.p12'), '', 'plain.p12'))).toEqual(['CN=kdlq test ca'])
  })

  test.each([
    ['trust.p12', 'wrong', 'the password is wrong'],
    ['legacy.p12', 'changeit', 'an old cipher'],
    ['ca.pem', 'changeit', 'no PKCS12 store'],
    ['ca.der', 'changeit', 'cannot be opened'],
  ])('%s with password %s: %s', (name, password, reason) => {
    expect(() => certificatesOfPkcs12(bytes(name), password, name)).toThrow(reason)
  })

  test('damaged anywhere are a configuration error or still readable, never another error', () => {
    const whole = bytes('trust.p12')
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.boolean(), (at, value, cut) => {
        const damaged = cut ? whole.subarray(0, at) : Buffer.from(whole)
        if (!cut) damaged[at] = value
        expect(outcome(damaged)).toMatch(/^(read|ConfigError)$/)
      }),
      {numRuns: runs(100)},
    )
  })
})

describe('loading TLS settings', () => {
  test.each([
    ['a PEM file', {source: file('ca.pem')}],
    ['PEM text', {source: text('ca.pem')}],
    ['a PKCS12 file', {type: 'PKCS12' as const, source: file('trust.p12'), password: new Secret('changeit')}],
  ])('trusts the authority of %s', async (_name, trust) => {
    await expect(load({trust})).resolves.toMatchObject({verifyHostname: true})
  })

  test.each([
    ['an encrypted PEM key', {keyPassword: new Secret('key-password')}],
    ['PEM text', {source: text('client.pem'), key: text('encrypted.key.pem'), keyPassword: new Secret('key-password')}],
    [
      'a PKCS12 store',
      {type: 'PKCS12' as const, source: file('client.p12'), key: null, password: new Secret('store-password')},
    ],
  ])('opens %s', async (_name, key) => {
    await expect(load({key})).resolves.toMatchObject({verifyHostname: true})
  })

  test('an authority file that is not PEM is told before Node would ignore it', async () => {
    const error = await refusal({trust: {source: file('ca.der')}})
    expect(error.message).toContain('ca.der holds no PEM certificate')
    expect(error.hints.join()).toContain('openssl x509 -inform der')
  })

  test('a broken certificate in a PEM file is told with the file', async () => {
    const broken = {
      kind: 'text',
      pem: new Secret('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'),
    } as const
    expect((await refusal({trust: {source: broken}})).message).toContain(
      'ssl.truststore.certificates holds a certificate that cannot be read',
    )
  })

  test.each(['PEM', 'PKCS12'] as const)(
    'a JKS store given as %s comes with the command that converts it',
    async type => {
      const hints = (await refusal({trust: {type, source: file('trust.jks')}})).hints
      expect(hints.join()).toMatch(
        /keytool -importkeystore -srckeystore \S+trust\.jks -destkeystore \S+trust\.p12 -deststoretype PKCS12/,
      )
    },
  )

  test.each([
    ['ssl.key.password', {keyPassword: new Secret('wrong-secret')}],
    [
      'ssl.keystore.password',
      {type: 'PKCS12' as const, source: file('client.p12'), key: null, password: new Secret('wrong-secret')},
    ],
  ])('a wrong password names %s and not the password', async (option, key) => {
    const error = await refusal({key})
    expect(error.message).toContain('does not open with this password')
    expect(error.hints).toEqual([`check ${option}`])
    expect(JSON.stringify(error) + error.stack).not.toContain('wrong-secret')
  })

  test('a key store without a key, and a file that is not there, are told', async () => {
    expect((await refusal({key: {key: null}})).message).toContain('comes without a PEM private key')
    expect((await refusal({trust: {source: file('none.pem')}})).message).toContain('cannot be read (ENOENT)')
  })
})
