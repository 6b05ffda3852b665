import {AuthError, KafkaError, UnreachableError} from '../errors.ts'
import {createRequests} from '../http/requests.ts'

/** How a Connect worker is asked. */
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
 * GET a JSON document of a Connect worker.
 * @param url without user and password; named in errors
 * @throws UnreachableError when nothing answers in time; AuthError for 401 and 403; KafkaError for other states, redirects,
 *   what is no JSON, and more than 64 MiB
 */
export async function getJson(url: URL, {timeoutMs, authorization, signal}: HttpOptions): Promise<unknown> {
  const requests = createRequests({
    service: 'the Connect worker',
    accept: 'application/json',
    tls: null,
    authorization: () => authorization,
    timeoutMs,
    maxBytes: MAX_BYTES,
    problem: (reason, message, {cause}) => {
      const details = {cause, context: {url: url.href}}
      const isAway = reason === 'unreachable' || reason === 'timeout'
      return isAway ? new UnreachableError(message, details) : new KafkaError(message, details)
    },
  })
  const {status, body} = await requests.get(url, signal)
  const context = {url: url.href}
  if (status === 401 || status === 403) {
    throw new AuthError(`${url.href} answers ${status}: not allowed`, {
      hints: ['give user and password of Connect in the profile: connectUrls with https://USER:PASSWORD@HOST'],
      context,
    })
  }
  const text = body.toString('utf8')
  if (status < 200 || status > 299) {
    throw new KafkaError(`${url.href} answers ${status}: ${text.slice(0, 200).replaceAll(/\s+/g, ' ')}`, {context})
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
