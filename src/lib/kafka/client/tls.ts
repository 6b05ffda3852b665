/** TLS settings to what Node's sockets take. Files are read and checked once, before the first connection. */
import {X509Certificate} from 'node:crypto'
import {connect as connectTcp, isIP, type Socket} from 'node:net'
import {checkServerIdentity, connect as connectTls, createSecureContext, type SecureContext} from 'node:tls'
import {ConfigError} from '../../errors.ts'
import type {KeyStore, Material, TlsConfig, TrustStore} from './security.ts'
import type {ReadFile} from './kafkajs-deps.ts'
import {certificatesOfPkcs12, refuseJks} from './tls-pkcs12.ts'

const KEEP_ALIVE_DELAY_MS = 60_000

export interface TlsOptions {
  readonly secureContext: SecureContext
  readonly verifyHostname: boolean
}

/** Open a TCP or TLS connection; `onConnect` is called when it can be written to. */
export function openSocket(host: string, port: number, tls: TlsOptions | null, onConnect: () => void): Socket {
  const socket =
    tls === null
      ? connectTcp({host, port, noDelay: true}, onConnect)
      : connectTls(
          {
            host,
            port,
            secureContext: tls.secureContext,
            // Said here so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch the check off.
            rejectUnauthorized: true,
            ...(isIP(host) === 0 ? {servername: host} : {}),
            checkServerIdentity: tls.verifyHostname ? checkServerIdentity : () => undefined,
          },
          onConnect,
        )
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS)
  return socket
}

/** @throws ConfigError for a file that cannot be read, is no PEM or PKCS12, or does not open with its password */
export async function loadTls(config: TlsConfig, readFile: ReadFile): Promise<TlsOptions> {
  const ca = config.trust === null ? {} : {ca: await loadTrust(config.trust, readFile)}
  const key = config.key === null ? {} : await loadKey(config.key, readFile)
  const {versions: wanted = null} = config
  const versions = wanted === null ? {} : {minVersion: wanted.min, maxVersion: wanted.max}
  try {
    return {secureContext: createSecureContext({...ca, ...key, ...versions}), verifyHostname: config.verifyHostname}
  } catch (cause) {
    throw keyError(config.key, cause)
  }
}

async function loadTrust(trust: TrustStore, readFile: ReadFile): Promise<string[]> {
  const bytes = await load(trust.source, readFile, 'ssl.truststore')
  const where = nameOf(trust.source, 'ssl.truststore.certificates')
  refuseJks(bytes, where)
  if (trust.type === 'PKCS12') return certificatesOfPkcs12(bytes, trust.password?.reveal() ?? '', where)
  const blocks = bytes.toString('utf8').match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g)
  // Node ignores a text without certificates and then trusts nobody.
  if (blocks === null) throw notPem(bytes, where)
  for (const block of blocks) checkCertificate(block, where)
  return blocks
}

function checkCertificate(pem: string, where: string): void {
  try {
    void new X509Certificate(pem)
  } catch (cause) {
    throw new ConfigError(`${where} holds a certificate that cannot be read`, {cause})
  }
}

function notPem(bytes: Buffer, where: string): ConfigError {
  const hints =
    bytes[0] === 0x30
      ? [
          'it looks like PKCS12 or DER: set ssl.truststore.type=PKCS12, or convert: openssl x509 -inform der -in FILE -out ca.pem',
        ]
      : ['a PEM file has lines -----BEGIN CERTIFICATE-----']
  return new ConfigError(`${where} holds no PEM certificate`, {hints})
}

interface KeyMaterial {
  readonly pfx?: Buffer
  readonly key?: string
  readonly cert?: string
  readonly passphrase?: string
}

async function loadKey(store: KeyStore, readFile: ReadFile): Promise<KeyMaterial> {
  const bytes = await load(store.source, readFile, 'ssl.keystore')
  refuseJks(bytes, nameOf(store.source, 'ssl.keystore'))
  if (store.type === 'PKCS12') return {pfx: bytes, passphrase: store.password?.reveal() ?? ''}
  const cert = bytes.toString('utf8')
  const key = store.key === null ? cert : (await load(store.key, readFile, 'ssl.keystore.key')).toString('utf8')
  const where = nameOf(store.source, 'ssl.keystore.certificate.chain')
  if (!cert.includes('-----BEGIN CERTIFICATE-----')) throw new ConfigError(`${where} holds no PEM certificate`)
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)) throw new ConfigError(`${where} comes without a PEM private key`)
  const passphrase = store.keyPassword === null ? {} : {passphrase: store.keyPassword.reveal()}
  return {cert, key, ...passphrase}
}

function keyError(store: KeyStore | null, cause: unknown): ConfigError {
  const where = store === null ? 'TLS settings' : nameOf(store.source, 'ssl.keystore.key')
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const text = cause instanceof Error ? cause.message : ''
  const wrongPassword = /bad.?decrypt|mac verify|passphrase|interrupted or cancelled/i.test(`${code} ${text}`)
  if (!wrongPassword) return new ConfigError(`${where} cannot be used: ${text.split('\n')[0] ?? ''}`, {cause})
  const option = store?.type === 'PKCS12' ? 'ssl.keystore.password' : 'ssl.key.password'
  return new ConfigError(`${where} does not open with this password`, {hints: [`check ${option}`], cause})
}

async function load(source: Material, readFile: ReadFile, option: string): Promise<Buffer> {
  if (source.kind === 'text') return Buffer.from(source.pem.reveal(), 'utf8')
  try {
    return await readFile(source.path)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    throw new ConfigError(`${option} file ${source.path} cannot be read (${code})`, {
      cause,
      context: {path: source.path},
    })
  }
}

function nameOf(source: Material, option: string): string {
  return source.kind === 'file' ? source.path : option
}
