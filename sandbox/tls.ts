import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {mkdir} from 'node:fs/promises'
import {join} from 'node:path'
import type {KafkaLibs} from './libs.ts'
import {toolJvmArguments} from './tools.ts'

/** Alias of the key in every key store made here. */
const ALIAS = 'own'

interface CertifiedKey {
  /** PKCS12 file: key, certificate, authority. */
  readonly keystore: string
  readonly password: string
  /** PEM files. */
  readonly certFile: string
  readonly keyFile: string
}

export interface TestAuthority {
  /** PEM file with the authority's certificate. */
  readonly caFile: string
  /** PEM file of an authority that signed nothing of this. */
  readonly otherCaFile: string
  /** For 127.0.0.1 and localhost. */
  readonly server: CertifiedKey
  /** Valid, for another host. */
  readonly wrongHost: CertifiedKey
  /** For 127.0.0.1, ended yesterday. */
  readonly expired: CertifiedKey
  readonly client: CertifiedKey
}

const PASSWORD = 'changeit'

/** Make an authority and certificates for tests with the JDK's keytool. The keys live in `dir` and are good for nothing else. */
export async function createTestAuthority(libs: KafkaLibs, dir: string): Promise<TestAuthority> {
  await mkdir(dir, {recursive: true})
  const files = new KeyFiles(dir)
  const local = 'ip:127.0.0.1,dns:localhost'
  const long = ['-validity', '3650']
  await runScript(libs, [
    ...files.authority('ca'),
    ...files.authority('other-ca'),
    ...files.certify('server', local, long),
    ...files.certify('wrong-host', 'dns:broker.example', long),
    ...files.certify('expired', local, ['-startdate', '-10d', '-validity', '9']),
    ...files.certify('client', 'dns:client.example', long),
  ])
  return {
    caFile: files.path('ca.pem'),
    otherCaFile: files.path('other-ca.pem'),
    server: files.certified('server'),
    wrongHost: files.certified('wrong-host'),
    expired: files.certified('expired'),
    client: files.certified('client'),
  }
}

type Command = readonly string[]

class KeyFiles {
  readonly #dir: string
  constructor(dir: string) {
    this.#dir = dir
  }

  path(name: string): string {
    return join(this.#dir, name)
  }

  authority(name: string): Command[] {
    return [
      this.#newKey(name, ['-ext', 'bc:c']),
      ['-exportcert', '-rfc', ...this.#store(name), '-alias', ALIAS, '-file', this.path(`${name}.pem`)],
    ]
  }

  /** A key signed by `ca`, with this subject alternative name. */
  certify(name: string, san: string, validity: readonly string[]): Command[] {
    const {keystore, certFile, keyFile} = this.certified(name)
    const request = this.path(`${name}.csr`)
    const signed = ['-infile', request, '-outfile', certFile, '-rfc', '-ext', `san=${san}`, ...validity]
    return [
      this.#newKey(name, []),
      ['-certreq', ...this.#store(name), '-alias', ALIAS, '-file', request],
      ['-gencert', ...this.#store('ca'), '-alias', ALIAS, ...signed],
      ['-importcert', '-noprompt', ...this.#store(name), '-alias', 'ca', '-file', this.path('ca.pem')],
      ['-importcert', '-noprompt', ...this.#store(name), '-alias', ALIAS, '-file', certFile],
      ['pem-key', keystore, PASSWORD, ALIAS, keyFile],
    ]
  }

  certified(name: string): CertifiedKey {
    const [keystore, certFile] = [this.path(`${name}.p12`), this.path(`${name}.pem`)]
    return {keystore, password: PASSWORD, certFile, keyFile: this.path(`${name}.key.pem`)}
  }

  #newKey(name: string, extra: readonly string[]): Command {
    const key = ['-alias', ALIAS, '-keyalg', 'EC', '-groupname', 'secp256r1', '-dname', `CN=kdlq test ${name}`]
    return ['-genkeypair', ...this.#store(name), ...key, '-validity', '3650', ...extra]
  }

  #store(name: string): string[] {
    return ['-keystore', this.path(`${name}.p12`), '-storetype', 'PKCS12', '-storepass', PASSWORD]
  }
}

async function runScript(libs: KafkaLibs, commands: readonly Command[]): Promise<void> {
  const exports = ['--add-exports', 'java.base/sun.security.tools.keytool=ALL-UNNAMED']
  const child = spawn('java', [...exports, ...toolJvmArguments(libs), 'org.kdlq.sandbox.KeytoolScript'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let talk = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (talk += text))
  // What it could not read is part of why it ended.
  child.stdin.on('error', () => undefined)
  child.stdin.end(commands.map(command => `${JSON.stringify(command)}\n`).join(''))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`keytool failed: ${talk}`)
}
