/** SASL for kafkajs: its own PLAIN and SCRAM, and an OAUTHBEARER that tells why it was refused. */
import type {ReadFile} from './kafkajs-deps.ts'
import {TransportError} from './transport-error.ts'
import {formatAddress, type SaslConfig, type TokenSource} from './security.ts'

interface SaslExchange {
  readonly host: string
  readonly port: number
  saslAuthenticate(step: {
    request: {encode(): Promise<Buffer>}
    response: {decode(raw: Buffer): Promise<Buffer>; parse(body: Buffer): Promise<Buffer>}
  }): Promise<Buffer>
}

/** kafkajs' `sasl` option. */
export interface SaslOptions {
  readonly mechanism: string
  readonly username?: string
  readonly password?: string
  readonly authenticationProvider?: (exchange: SaslExchange) => {authenticate(): Promise<void>}
}

/** A fresh option object: kafkajs writes into it. */
export function createSaslOptions(config: SaslConfig, readFile: ReadFile): SaslOptions {
  if (config.mechanism !== 'OAUTHBEARER') {
    return {mechanism: config.mechanism, username: config.username, password: config.password.reveal()}
  }
  const {token} = config
  return {
    mechanism: config.mechanism,
    authenticationProvider: exchange => ({authenticate: () => authenticateBearer(exchange, token, readFile)}),
  }
}

const REFUSAL_READ = Buffer.of(0, 0, 0, 1, 1)

/** RFC 7628: an empty answer is a welcome, JSON is a refusal that wants one more byte before the broker says why. */
async function authenticateBearer(exchange: SaslExchange, source: TokenSource, readFile: ReadFile): Promise<void> {
  const address = formatAddress(exchange)
  const token = await readToken(source, readFile, address)
  const answer = await step(exchange, frame(`n,,\u0001auth=Bearer ${token}\u0001\u0001`))
  const refusal = answer.subarray(4).toString('utf8').replaceAll(/\s+/g, ' ')
  if (refusal === '') return
  await step(exchange, REFUSAL_READ).catch(() => null)
  throw new TransportError('auth', address, `${address} refused the OAUTHBEARER token: ${refusal.slice(0, 500)}`)
}

async function readToken(source: TokenSource, readFile: ReadFile, address: string): Promise<string> {
  if (source.kind === 'text') return source.token.reveal()
  let text: string
  try {
    text = (await readFile(source.path)).toString('utf8').trim()
  } catch (cause) {
    throw new TransportError('config', address, `token file ${source.path} cannot be read`, {cause})
  }
  if (!/^[\u0021-\u007e]+$/.test(text)) {
    throw new TransportError('config', address, `token file ${source.path} does not hold one token on one line`)
  }
  return text
}

function step(exchange: SaslExchange, bytes: Buffer): Promise<Buffer> {
  return exchange.saslAuthenticate({
    request: {encode: async () => bytes},
    response: {decode: async raw => raw, parse: async body => body},
  })
}

/** kafkajs' hooks carry a length in front, both ways. */
function frame(text: string): Buffer {
  const body = Buffer.from(text, 'utf8')
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length)
  return Buffer.concat([length, body])
}
