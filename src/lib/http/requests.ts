import type {ClientRequest, IncomingMessage, RequestOptions} from 'node:http'

/** PEM texts; absent = Node's authorities, no certificate of our own. */
export interface HttpTls {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** What came back, whatever it says. */
export interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** Why there is no answer. */
export type NoAnswer = 'unreachable' | 'timeout' | 'too-large' | 'redirected'

/** Asks one address; whatever the status, what came is an answer, except a redirect. */
export interface Requests {
  /** @throws what `problem` makes of a `NoAnswer`; the signal's reason */
  get(url: URL, signal: AbortSignal | undefined): Promise<Answer>
}

/** What is asked, and within which bounds. */
export interface RequestsConfig {
  /** Names what is asked in errors: `the schema registry`. */
  readonly service: string
  readonly accept: string
  readonly tls: HttpTls | null
  /** Value of the Authorization header; asked for at every request; null = none. */
  readonly authorization: () => string | null
  /** For one request from its first byte to the last of the answer, ms. */
  readonly timeoutMs: number
  /** Largest answer, bytes. */
  readonly maxBytes: number
  /** The error of this service; `url` is the origin alone, so that no text holds a secret. */
  readonly problem: (
    reason: NoAnswer,
    message: string,
    details: {readonly cause?: unknown; readonly url: string},
  ) => Error
}

/** Connections at the same time to one address. */
const MAX_SOCKETS = 4

/** A client for small GET requests with bounds on time, size and connections. */
export function createRequests(config: RequestsConfig): Requests {
  // Loaded with the first request: most runs need no registry.
  const clients = new Map<string, Promise<Client>>()
  return {
    async get(url, signal) {
      const timeout = AbortSignal.timeout(config.timeoutMs)
      const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
      const client = clients.get(url.protocol) ?? loadClient(url.protocol, config.tls)
      clients.set(url.protocol, client)
      try {
        return await getOnce(url, await client, config, either)
      } catch (error) {
        signal?.throwIfAborted()
        if (!timeout.aborted) throw error
        const {service, timeoutMs, problem} = config
        throw problem('timeout', `${service} ${url.origin} did not answer within ${timeoutMs} ms`, {url: url.origin})
      }
    },
  }
}

/** Sends one request by an agent of its own. */
type Client = (url: URL, options: RequestOptions, onResponse: (response: IncomingMessage) => void) => ClientRequest

/** @throws RegistryError `unreachable` for a certificate or key that Node does not take */
async function loadClient(protocol: string, tls: HttpTls | null): Promise<Client> {
  if (protocol !== 'https:') {
    const {Agent, request} = await import('node:http')
    const agent = new Agent({maxSockets: MAX_SOCKETS})
    return (url, options, onResponse) => request(url, {...options, agent}, onResponse)
  }
  const {Agent, request} = await import('node:https')
  const {ca, cert, key} = tls ?? {}
  const agent = new Agent({
    maxSockets: MAX_SOCKETS,
    // Said here so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch the check off.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : {ca}),
    ...(cert === undefined ? {} : {cert}),
    ...(key === undefined ? {} : {key}),
  })
  return (url, options, onResponse) => request(url, {...options, agent}, onResponse)
}

async function getOnce(url: URL, send: Client, config: RequestsConfig, signal: AbortSignal): Promise<Answer> {
  const {service, accept, authorization, problem} = config
  const secret = authorization()
  const options: RequestOptions = {
    signal,
    headers: {accept, ...(secret === null ? {} : {authorization: secret})},
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = send(url, options, resolve)
    outgoing.once('error', reject)
    outgoing.end()
  }).catch((cause: unknown) => {
    throw unreachable(config, url, cause)
  })
  const {statusCode: status = 0, headers} = response
  if (status >= 300 && status < 400) {
    response.destroy()
    const place = originOf(headers.location)
    throw problem('redirected', `${service} ${url.origin} sends on to ${place}, which is not followed`, {
      url: url.origin,
    })
  }
  return {status, body: await readBody(response, url, config)}
}

async function readBody(response: IncomingMessage, url: URL, config: RequestsConfig): Promise<Buffer> {
  const {service, maxBytes, problem} = config
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      // Leaving the loop closes the connection.
      if (size > maxBytes) break
      chunks.push(chunk)
    }
  } catch (cause) {
    throw unreachable(config, url, cause)
  }
  if (size <= maxBytes) return Buffer.concat(chunks)
  throw problem('too-large', `an answer of ${service} ${url.origin} is larger than ${maxBytes} bytes`, {
    url: url.origin,
  })
}

function unreachable({service, problem}: RequestsConfig, url: URL, cause: unknown): Error {
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
  return problem('unreachable', `${service} ${url.origin} cannot be reached${code}`, {cause, url: url.origin})
}

function originOf(location: string | undefined): string {
  return location !== undefined && URL.canParse(location) ? new URL(location).origin : 'another place'
}
