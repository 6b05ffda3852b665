import {AuthError, KafkaError, UnreachableError} from '../errors.ts'

/** How an HTTP interface is asked. */
export interface HttpOptions {
  /** For the whole answer, ms. */
  readonly timeoutMs: number
  /** Sent as it is; null = none. */
  readonly authorization: string | null
  readonly signal?: AbortSignal | undefined
}

/** An answer may hold the configurations of some thousand connectors. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * GET a JSON document.
 * @param url without user and password; named in errors
 * @throws UnreachableError when nothing answers in time; AuthError for 401 and 403; KafkaError for other states, for what
 *   is no JSON, and for more than 64 MiB
 */
export async function getJson(url: URL, {timeoutMs, authorization, signal}: HttpOptions): Promise<unknown> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const both = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
  const headers = {accept: 'application/json', ...(authorization === null ? {} : {authorization})}
  const context = {url: url.href}
  let text: string
  try {
    const response = await fetch(url, {headers, signal: both, redirect: 'error'})
    if (response.status === 401 || response.status === 403) {
      await response.body?.cancel()
      throw new AuthError(`${url.href} answers ${response.status}: not allowed`, {
        hints: ['give user and password of Connect in the profile: connectUrls with https://USER:PASSWORD@HOST'],
        context,
      })
    }
    text = await readBounded(response, url)
    if (!response.ok) {
      throw new KafkaError(`${url.href} answers ${response.status}: ${text.slice(0, 200).replaceAll(/\s+/g, ' ')}`, {
        context,
      })
    }
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof AuthError || cause instanceof KafkaError) throw cause
    const reason = timeout.aborted ? `did not answer within ${timeoutMs} ms` : 'cannot be reached'
    throw new UnreachableError(`${url.href} ${reason}`, {cause, context})
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new KafkaError(`${url.href} answers with something else than JSON`, {
      cause,
      hints: ['is this the address of a Connect worker?'],
      context,
    })
  }
}

async function readBounded(response: Response, url: URL): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const body: AsyncIterable<Uint8Array> | null = response.body
  if (body === null) return ''
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new KafkaError(`${url.href} answers with more than 64 MiB`, {context: {url: url.href}})
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
