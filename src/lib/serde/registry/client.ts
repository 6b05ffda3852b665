import {type Answer, createRequests, type Requests, type RequestsConfig} from '../../http/requests.ts'
import type {SchemaRef} from '../framing.ts'
import {formatRef} from '../framing.ts'
import {membersOf} from '../objects.ts'
import type {SchemaType} from '../types.ts'
import {RegistryError} from './errors.ts'

/** A reference to another schema, as a registry gives it. */
export interface RegistryReference {
  readonly name: string
  readonly subject: string
  readonly version: number
}

/** A schema as a registry gives it. */
export interface RegistrySchema {
  readonly type: SchemaType
  readonly text: string
  readonly references: readonly RegistryReference[]
  /** Absent where the answer does not say. */
  readonly id?: number
  readonly subject?: string
  readonly version?: number
}

/** A place where a schema is registered. */
export interface SubjectVersion {
  readonly subject: string
  readonly version: number
}

interface AskOptions {
  readonly signal?: AbortSignal | undefined
}

/** Questions to a schema registry with Confluent's REST interface. */
export interface RegistryClient {
  /** @throws RegistryError */
  schema(ref: SchemaRef, options?: AskOptions): Promise<RegistrySchema>
  /** Where an id is registered; empty where the registry does not know. @throws RegistryError */
  versions(id: number, options?: AskOptions): Promise<readonly SubjectVersion[]>
}

/** Largest answer that is read, bytes. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** What a registry is asked with. */
export function registryRequests(config: Pick<RequestsConfig, 'tls' | 'authorization' | 'timeoutMs'>): Requests {
  return createRequests({
    ...config,
    service: 'the schema registry',
    accept: 'application/vnd.schemaregistry.v1+json, application/json',
    maxBytes: MAX_ANSWER_BYTES,
    problem: (reason, message, details) => new RegistryError(reason, message, details),
  })
}

/** Codes in the body of a 404, which tell "no such schema" from "no such path". */
const NOT_FOUND_CODES = [40_401, 40_402, 40_403]
/** Reasons after which another address may do better. */
const NEXT_ADDRESS = new Set(['unreachable', 'timeout', 'server-error'])

/**
 * A client that asks the addresses in turn and stays with the one that answered.
 * @param urls at least one, without a slash at the end
 */
export function createRegistryClient(requests: Requests, urls: readonly URL[]): RegistryClient {
  let first = 0
  const ask = async (path: string, what: string, signal: AbortSignal | undefined): Promise<unknown> => {
    let last: unknown
    for (let turn = 0; turn < urls.length; turn++) {
      const index = (first + turn) % urls.length
      const base = urls[index]
      if (base === undefined) break
      try {
        const answer = await requests.get(new URL(`${base.pathname === '/' ? '' : base.pathname}${path}`, base), signal)
        const json = readAnswer(answer, base, what)
        first = index
        return json
      } catch (error) {
        if (!(error instanceof RegistryError) || !NEXT_ADDRESS.has(error.reason)) throw error
        last = error
      }
    }
    throw last
  }
  return {
    async schema(ref, {signal} = {}) {
      return toSchema(await ask(pathOf(ref), formatRef(ref), signal), ref)
    },
    async versions(id, {signal} = {}) {
      const json = await ask(`/schemas/ids/${id}/versions`, `schema ${id}`, signal)
      return (Array.isArray(json) ? json : []).slice(0, 100).flatMap((entry: unknown) => {
        const {subject, version} = membersOf(entry)
        return typeof subject === 'string' && typeof version === 'number' ? [{subject, version}] : []
      })
    },
  }
}

function pathOf(ref: SchemaRef): string {
  if (ref.kind === 'id') return `/schemas/ids/${ref.id}`
  if (ref.kind === 'guid') return `/schemas/guids/${ref.guid}`
  return `/subjects/${encodeURIComponent(ref.subject)}/versions/${ref.version}`
}

function readAnswer({status, body}: Answer, base: URL, what: string): unknown {
  const url = base.origin
  const fail = (reason: RegistryError['reason'], message: string): never => {
    throw new RegistryError(reason, message, {url})
  }
  if (status === 401)
    return fail('unauthorized', `the schema registry ${url} wants another name, password or token (401)`)
  if (status === 403) return fail('forbidden', `the schema registry ${url} does not allow to read ${what} (403)`)
  const json = parseJson(body)
  if (status === 404) {
    const {error_code: code} = membersOf(json)
    if (typeof code === 'number' && NOT_FOUND_CODES.includes(code)) {
      return fail('not-found', `the schema registry ${url} does not know ${what}`)
    }
    return fail(
      'not-a-registry',
      `${url}${base.pathname} has no such path (404): is it a schema registry, and does it know this kind of id?`,
    )
  }
  if (status >= 500) return fail('server-error', `the schema registry ${url} failed (${status})`)
  if (status !== 200) return fail('not-a-registry', `${url}${base.pathname} answered with status ${status}`)
  if (json === undefined)
    return fail('not-a-registry', `${url}${base.pathname} is no schema registry: it answered without JSON`)
  return json
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

const TYPES: readonly SchemaType[] = ['AVRO', 'PROTOBUF', 'JSON']

function toSchema(json: unknown, ref: SchemaRef): RegistrySchema {
  const {schema: text, schemaType = 'AVRO', references, id, subject, version} = membersOf(json)
  if (typeof text !== 'string') {
    throw new RegistryError(
      'not-a-registry',
      `the answer for ${formatRef(ref)} holds no schema: is it a schema registry`,
    )
  }
  const type = TYPES.find(known => known === schemaType)
  if (type === undefined) {
    throw new RegistryError(
      'not-a-registry',
      `${formatRef(ref)} has the unknown type ${JSON.stringify(schemaType).slice(0, 40)}`,
    )
  }
  return {
    type,
    text,
    references: (Array.isArray(references) ? references : []).flatMap((entry: unknown) => {
      const {name, subject: of, version: at} = membersOf(entry)
      return typeof name === 'string' && typeof of === 'string' && typeof at === 'number'
        ? [{name, subject: of, version: at}]
        : []
    }),
    ...(typeof id === 'number' ? {id} : {}),
    ...(typeof subject === 'string' ? {subject} : {}),
    ...(typeof version === 'number' ? {version} : {}),
  }
}
