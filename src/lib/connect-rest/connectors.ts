import {KafkaError} from '../errors.ts'
import {getJson} from './get-json.ts'
import type {HttpOptions} from './get-json.ts'

/** A connector as a worker tells of it. */
export interface Connector {
  readonly name: string
  readonly type: 'sink' | 'source' | 'unknown'
  /** Original keys; secrets that the worker has resolved are in it, so it is never printed as a whole. */
  readonly config: Readonly<Record<string, string>>
  /** `RUNNING`, `PAUSED`, `STOPPED`, `FAILED`, `UNASSIGNED`; null = not told. */
  readonly state: string | null
  readonly tasks: readonly {readonly id: number; readonly state: string}[]
}

/** Address of a worker; user and password are split off so that no text names them. */
export interface ConnectAddress {
  readonly url: URL
  /** Value of the Authorization header; null = none. */
  readonly authorization: string | null
}

/** @param text as a person gives it @returns null when it is no http or https address */
export function parseConnectAddress(text: string): ConnectAddress | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  const user = decoded(`${url.username}:${url.password}`)
  if (user === null) return null
  const authorization = user === ':' ? null : `Basic ${Buffer.from(user).toString('base64')}`
  url.username = ''
  url.password = ''
  url.search = ''
  url.hash = ''
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return {url, authorization}
}

/**
 * All connectors of a worker's group (KIP-449's expanded listing).
 * @throws as `getJson`; KafkaError when the answer is not Connect's
 */
export async function readConnectors(
  {url, authorization}: ConnectAddress,
  options: Omit<HttpOptions, 'authorization'>,
): Promise<readonly Connector[]> {
  const listing = new URL('connectors?expand=info&expand=status', url)
  const answer = await getJson(listing, {...options, authorization})
  if (!isMap(answer)) {
    throw new KafkaError(`${listing.href} does not answer like Kafka Connect`, {context: {url: listing.href}})
  }
  return Object.entries(answer).flatMap(([name, entry]) => (isMap(entry) ? [toConnector(name, entry)] : []))
}

function toConnector(name: string, entry: Readonly<Record<string, unknown>>): Connector {
  const info = mapOf(entry['info'])
  const status = mapOf(entry['status'])
  const type = textOf(info['type']) ?? textOf(status['type'])
  const config = Object.entries(mapOf(info['config'])).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key, value] as const] : [],
  )
  const tasks = Array.isArray(status['tasks']) ? status['tasks'].filter(isMap) : []
  return {
    name,
    type: type === 'sink' || type === 'source' ? type : 'unknown',
    config: Object.fromEntries(config),
    state: textOf(mapOf(status['connector'])['state']),
    tasks: tasks.flatMap(({id, state}) => (typeof id === 'number' && typeof state === 'string' ? [{id, state}] : [])),
  }
}

/** Null for a `%` that stands for nothing. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return isMap(value) ? value : {}
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
