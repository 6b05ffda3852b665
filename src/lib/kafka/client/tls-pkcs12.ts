/**
 * Certificates out of a PKCS12 trust store (RFC 7292). Node's `pfx` option opens only stores with a private key, and a
 * trust store has none.
 */
import {createDecipheriv, pbkdf2Sync, X509Certificate} from 'node:crypto'
import {ConfigError} from '../../errors.ts'

const OID = {
  data: '1.2.840.113549.1.7.1',
  encryptedData: '1.2.840.113549.1.7.6',
  certBag: '1.2.840.113549.1.12.10.1.3',
  pbes2: '1.2.840.113549.1.5.13',
  pbkdf2: '1.2.840.113549.1.5.12',
} as const

const CIPHERS: Readonly<Record<string, {name: string; keyBytes: number}>> = {
  '2.16.840.1.101.3.4.1.2': {name: 'aes-128-cbc', keyBytes: 16},
  '2.16.840.1.101.3.4.1.22': {name: 'aes-192-cbc', keyBytes: 24},
  '2.16.840.1.101.3.4.1.42': {name: 'aes-256-cbc', keyBytes: 32},
  '1.2.840.113549.3.7': {name: 'des-ede3-cbc', keyBytes: 24},
}

const DIGESTS: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
}

/** A store that asks for more is meant to keep us busy. */
const MAX_ITERATIONS = 5_000_000
const MAX_DEPTH = 32

/** Why a store cannot be read, before it is known which file it is. */
class StoreError extends Error {}

/**
 * PEM certificates of a trust store, in the order of the store.
 * @param where what to call the store in messages
 * @throws ConfigError for a wrong password, a store that is no PKCS12, an old cipher, or a store without certificates
 */
export function certificatesOfPkcs12(store: Buffer, password: string, where: string): string[] {
  refuseJks(store, where)
  let certificates: string[]
  try {
    certificates = readStore(store, password)
  } catch (cause) {
    const reason = cause instanceof StoreError ? cause.message : 'it is no PKCS12 store'
    throw new ConfigError(`${where} cannot be opened: ${reason}`, {
      cause,
      hints: ['check ssl.truststore.password and ssl.truststore.type'],
    })
  }
  if (certificates.length === 0) throw new ConfigError(`${where} holds no certificates`)
  return certificates
}

const JAVA_STORES = new Set([0xfeedfeed, 0xcececece])

/** @throws ConfigError with the command that converts it, when the bytes are one of Java's own stores (JKS, JCEKS) */
export function refuseJks(store: Buffer, where: string): void {
  if (store.length < 4 || !JAVA_STORES.has(store.readUInt32BE(0))) return
  const target = `${where.replace(/\.(jks|jceks)$/, '')}.p12`
  const command = `keytool -importkeystore -srckeystore ${where} -destkeystore ${target} -deststoretype PKCS12`
  throw new ConfigError(`${where} is a JKS store, which only Java can read`, {
    hints: [`convert it: ${command}`, `then name ${target}`],
  })
}

function readStore(store: Buffer, password: string): string[] {
  if (store[0] !== 0x30) throw new StoreError('it is no PKCS12 store')
  const [, authSafe] = children(parse(store))
  const safe = parse(octets(contentOf(authSafe, OID.data)))
  return children(safe).flatMap(info => {
    const [kind] = children(info)
    const bags = oid(kind) === OID.encryptedData ? decryptBags(info, password) : octets(contentOf(info, OID.data))
    return children(parse(bags)).flatMap(bag => certificateOf(bag))
  })
}

function certificateOf(bag: Der): string[] {
  const [kind, value] = children(bag)
  if (oid(kind) !== OID.certBag) return []
  const [certBag] = children(value)
  const [, wrapped] = children(certBag)
  const [certificate] = children(wrapped)
  return [new X509Certificate(octets(certificate)).toString()]
}

function decryptBags(info: Der, password: string): Buffer {
  const [, explicit] = children(info)
  const [encryptedData] = children(explicit)
  const [, contentInfo] = children(encryptedData)
  const [, algorithm, encrypted] = children(contentInfo)
  const [scheme, parameters] = children(algorithm)
  if (oid(scheme) !== OID.pbes2) {
    throw new StoreError('it is encrypted with an old cipher; make it again with keytool of Java 17 or openssl 3')
  }
  const [kdf, cipher] = children(parameters)
  const {key, iv, name} = cipherOf(kdf, cipher, password)
  const decipher = createDecipheriv(name, key, iv)
  try {
    return Buffer.concat([decipher.update(octets(encrypted)), decipher.final()])
  } catch {
    throw new StoreError('the password is wrong')
  }
}

function cipherOf(
  kdf: Der | undefined,
  cipher: Der | undefined,
  password: string,
): {key: Buffer; iv: Buffer; name: string} {
  const [kdfOid, kdfParameters] = children(kdf)
  const [cipherOid, iv] = children(cipher)
  const known = CIPHERS[oid(cipherOid)]
  if (oid(kdfOid) !== OID.pbkdf2 || known === undefined) throw new StoreError('its cipher is not known')
  const [salt, iterations, ...rest] = children(kdfParameters)
  const prf = rest.find(part => part.tag === 0x30)
  const digest = prf === undefined ? 'sha1' : DIGESTS[oid(children(prf)[0])]
  const count = integer(iterations)
  if (digest === undefined || count > MAX_ITERATIONS) throw new StoreError('its key derivation is not known')
  return {key: pbkdf2Sync(password, octets(salt), count, known.keyBytes, digest), iv: octets(iv), name: known.name}
}

function contentOf(info: Der | undefined, expected: string): Der | undefined {
  const [kind, explicit] = children(info)
  if (oid(kind) !== expected) throw new StoreError('its content is of an unknown kind')
  return children(explicit)[0]
}

interface Der {
  readonly tag: number
  readonly body: Buffer
}

/** One DER or BER value; lengths are checked against what is there. */
function parse(bytes: Buffer): Der {
  return readDer(bytes, 0, 0).value
}

function readDer(bytes: Buffer, at: number, depth: number): {value: Der; end: number} {
  const tag = bytes[at]
  const first = bytes[at + 1]
  if (tag === undefined || first === undefined || depth > MAX_DEPTH) throw new StoreError('it is cut off')
  let start = at + 2
  let length = first
  if (first === 0x80) return readIndefinite(bytes, tag, start, depth)
  if (first > 0x80) {
    const size = first - 0x80
    if (size > 4 || start + size > bytes.length) throw new StoreError('it is cut off')
    length = bytes.readUIntBE(start, size)
    start += size
  }
  const end = start + length
  if (end > bytes.length) throw new StoreError('it is cut off')
  return {value: {tag, body: bytes.subarray(start, end)}, end}
}

/** BER without a length, as Java wrote stores for years: ends with two zero bytes. */
function readIndefinite(bytes: Buffer, tag: number, start: number, depth: number): {value: Der; end: number} {
  let at = start
  while (!(bytes[at] === 0 && bytes[at + 1] === 0)) at = readDer(bytes, at, depth + 1).end
  return {value: {tag, body: bytes.subarray(start, at)}, end: at + 2}
}

function children(value: Der | undefined): Der[] {
  if (value === undefined) throw new StoreError('it is incomplete')
  const found: Der[] = []
  for (let at = 0; at < value.body.length;) {
    const {value: child, end} = readDer(value.body, at, 0)
    found.push(child)
    at = end
  }
  return found
}

const CONSTRUCTED = 0x20

/** Content of an OCTET STRING, whole or in pieces. */
function octets(value: Der | undefined): Buffer {
  if (value === undefined) throw new StoreError('it is incomplete')
  return (value.tag & CONSTRUCTED) === 0 ? value.body : Buffer.concat(children(value).map(piece => octets(piece)))
}

function integer(value: Der | undefined): number {
  const body = value?.body ?? Buffer.alloc(0)
  if (body.length === 0 || body.length > 6) throw new StoreError('it is incomplete')
  return body.readUIntBE(0, body.length)
}

function oid(value: Der | undefined): string {
  if (value?.tag !== 0x06) throw new StoreError('it is incomplete')
  const parts: number[] = []
  let part = 0
  for (const byte of value.body) {
    part = part * 128 + (byte & 0x7f)
    if (byte < 0x80) {
      parts.push(part)
      part = 0
    }
  }
  const [first = 0, ...rest] = parts
  return [Math.min(2, Math.floor(first / 40)), first - 40 * Math.min(2, Math.floor(first / 40)), ...rest].join('.')
}
