import type {ClientRequest, IncomingMessage, RequestOptions} from 'node:http'
import {RegistryError} from './errors.ts'

/** PEM texts; absent = Node's authorities, no certificate of our own. */
export interface RegistryTls {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** Asks one address; redirects are an answer like any other. */
export interface Requests {
  /** @throws RegistryError `unreachable`, `timeout`, `too-large`, `redirected`; the signal's reason */
  get(url: URL, signal: AbortSignal | undefined): Promise<Answer>
}

export interface RequestsConfig {
  readonly tls: RegistryTls | null
  /** Value of the Authorization header; asked for at every request; null = none. */
  readonly authorization: () => string | null
  /** For one request from its first byte to the last of the answer, ms. */
  readonly timeoutMs: number
  /** Largest answer, bytes. */
  readonly maxBytes: number
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
        throw new RegistryError(
          'timeout',
          `the schema registry ${url.origin} did not answer within ${config.timeoutMs} ms`,
          {url: url.origin},
        )
      }
    },
  }
}

/** Sends one request by an agent of its own. */
type Client = (url: URL, options: RequestOptions, onResponse: (response: IncomingMessage) => void) => ClientRequest

/** @throws RegistryError `unreachable` for a certificate or key that Node does not take */
async function loadClient(protocol: string, tls: RegistryTls | null): Promise<Client> {
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

async function getOnce(
  url: URL,
  send: Client,
  {authorization, maxBytes}: RequestsConfig,
  signal: AbortSignal,
): Promise<Answer> {
  const secret = authorization()
  const options: RequestOptions = {
    signal,
    headers: {
      accept: 'application/vnd.schemaregistry.v1+json, application/json',
      ...(secret === null ? {} : {authorization: secret}),
    },
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = send(url, options, resolve)
    outgoing.once('error', reject)
    outgoing.end()
  }).catch((cause: unknown) => {
    throw unreachable(url, cause)
  })
  const {statusCode: status = 0, headers} = response
  if (status >= 300 && status < 400) {
    response.destroy()
    throw new RegistryError(
      'redirected',
      `the schema registry ${url.origin} sends on to ${originOf(headers.location)}, which is not followed`,
      {url: url.origin},
    )
  }
  return {status, body: await readBody(response, url, maxBytes)}
}

async function readBody(response: IncomingMessage, url: URL, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) {
        throw new RegistryError(
          'too-large',
          `an answer of the schema registry ${url.origin} is larger than ${maxBytes} bytes`,
          {
            url: url.origin,
          },
        )
      }
      chunks.push(chunk)
    }
  } catch (cause) {
    throw cause instanceof RegistryError ? cause : unreachable(url, cause)
  }
  return Buffer.concat(chunks)
}

function unreachable(url: URL, cause: unknown): RegistryError {
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
  return new RegistryError('unreachable', `the schema registry ${url.origin} cannot be reached${code}`, {
    cause,
    url: url.origin,
  })
}

function originOf(location: string | undefined): string {
  return location !== undefined && URL.canParse(location) ? new URL(location).origin : 'another place'
}
