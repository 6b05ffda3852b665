import type {Clock} from '../../clock.ts'
import {compileSchema} from '../compile.ts'
import type {CompiledSchema} from '../compiled.ts'
import {DecodeFault, isTransient, toProblem} from '../fault.ts'
import {formatRef, type SchemaRef} from '../framing.ts'
import type {DecodeProblem, SchemaFacts} from '../types.ts'
import type {RegistryClient, SubjectVersion} from './client.ts'
import {RegistryError} from './errors.ts'
import {withReferences} from './references.ts'

/** How long a miss is believed, ms: a schema may be registered while we follow. */
const MISS_MS = 60_000
/** How long a registry that cannot be asked is left alone, ms. */
const PAUSE_MS = 10_000
/** Schemas asked for in one run; random bytes look like ids. */
const MAX_ASKED = 2000
/** Characters of all schemas together. */
const MAX_CHARACTERS = 64 * 1024 * 1024

/** What is known of a schema. */
export type Known =
  | {
      readonly kind: 'schema'
      readonly schema: CompiledSchema
      readonly facts: SchemaFacts
      readonly subjects: readonly SubjectVersion[]
    }
  | {readonly kind: 'problem'; readonly problem: DecodeProblem}

/** Schemas of a registry, each asked for once. */
export interface SchemaStore {
  /** Null = not asked yet, or too long ago. */
  known(ref: SchemaRef, message?: string | null): Known | null
  /** Ask for it; after that `known` has an answer. Calls at the same time share one question. @throws the signal's reason */
  load(ref: SchemaRef, message?: string | null): Promise<void>
  /** Believe no longer that the registry cannot be asked: the next `load` asks it. */
  askAgain(): void
  /** Problems that concern the registry, not one schema, each once; for a warning. */
  readonly troubles: readonly DecodeProblem[]
}

interface Entry {
  readonly known: Known
  /** Monotonic ms; Infinity for schemas. */
  readonly until: number
}

/** @param deps.client null = no registry is configured: nothing is ever asked */
export function createSchemaStore(
  deps: {readonly client: RegistryClient | null; readonly clock: Pick<Clock, 'monotonic'>},
  options: {readonly signal?: AbortSignal | undefined} = {},
): SchemaStore {
  return new Store(deps.client, deps.clock, options.signal)
}

class Store implements SchemaStore {
  readonly #client: RegistryClient | null
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #signal: AbortSignal | undefined
  readonly #entries = new Map<string, Entry>()
  readonly #loading = new Map<string, Promise<void>>()
  readonly #troubles = new Map<string, DecodeProblem>()
  readonly #asked = new Set<string>()
  #characters = 0
  /** The registry as a whole does not answer: no id is asked before this time. */
  #paused: Entry | null = null

  constructor(client: RegistryClient | null, clock: Pick<Clock, 'monotonic'>, signal: AbortSignal | undefined) {
    this.#client = client
    this.#clock = clock
    this.#signal = signal
  }

  get troubles(): readonly DecodeProblem[] {
    return [...this.#troubles.values()]
  }

  known(ref: SchemaRef, message: string | null = null): Known | null {
    if (this.#client === null) return {kind: 'problem', problem: notAsked(ref)}
    const entry = this.#entries.get(keyOf(ref, message))
    return entry === undefined || entry.until <= this.#clock.monotonic() ? null : entry.known
  }

  askAgain(): void {
    this.#paused = null
    for (const [key, {known}] of this.#entries) {
      if (known.kind === 'problem' && isTransient(known.problem)) this.#entries.delete(key)
    }
  }

  async load(ref: SchemaRef, message: string | null = null): Promise<void> {
    const key = keyOf(ref, message)
    const running = this.#loading.get(key)
    if (running !== undefined) return running
    if (this.known(ref, message) !== null) return
    const loading = this.#load(ref, message, key).finally(() => this.#loading.delete(key))
    this.#loading.set(key, loading)
    return loading
  }

  async #load(ref: SchemaRef, message: string | null, key: string): Promise<void> {
    const now = this.#clock.monotonic()
    if (this.#client === null) return
    if (this.#paused !== null && this.#paused.until > now) {
      this.#entries.set(key, this.#paused)
      return
    }
    if (this.#isTooMuch(key)) {
      const problem: DecodeProblem = {
        step: 'registry',
        reason: 'too-many',
        message: `${formatRef(ref)} was not asked for: too many schemas`,
      }
      this.#troubles.set('too-many', {
        ...problem,
        message: `more than ${MAX_ASKED} schemas are named; the rest is not asked for`,
      })
      this.#entries.set(key, {known: {kind: 'problem', problem}, until: Infinity})
      return
    }
    this.#asked.add(key)
    try {
      this.#entries.set(key, {known: await this.#ask(this.#client, ref, message), until: Infinity})
    } catch (error) {
      this.#signal?.throwIfAborted()
      this.#remember(key, error, ref)
    }
  }

  async #ask(client: RegistryClient, ref: SchemaRef, message: string | null): Promise<Known> {
    const options = {signal: this.#signal}
    const found = await client.schema(ref, options)
    const id = ref.kind === 'id' ? ref.id : found.id
    const facts: SchemaFacts = {
      ...(id === undefined ? {} : {id}),
      ...(ref.kind === 'guid' ? {guid: ref.guid} : {}),
      ...(found.subject === undefined ? {} : {subject: found.subject}),
      ...(found.version === undefined ? {} : {version: found.version}),
      type: found.type,
    }
    const [source, subjects] = await Promise.all([
      withReferences(client, found, options),
      id === undefined || ref.kind === 'subject' ? [] : subjectsOf(client, id, options),
    ])
    this.#characters += source.text.length + source.references.reduce((sum, {text}) => sum + text.length, 0)
    try {
      return {kind: 'schema', schema: await compileSchema(source, message), facts, subjects}
    } catch (error) {
      return {kind: 'problem', problem: toProblem(error, 'schema')}
    }
  }

  #remember(key: string, error: unknown, ref: SchemaRef): void {
    const now = this.#clock.monotonic()
    const problem =
      error instanceof RegistryError
        ? {step: 'registry' as const, message: error.message, reason: error.reason}
        : toProblem(error, 'registry')
    const isOfOne = error instanceof DecodeFault || problem.reason === 'not-found' || problem.reason === 'too-large'
    const entry: Entry = {known: {kind: 'problem', problem}, until: now + (isOfOne ? MISS_MS : PAUSE_MS)}
    this.#entries.set(key, entry)
    if (isOfOne) return
    this.#troubles.set(problem.reason ?? problem.message, problem)
    // What is said about one path only (a schema that is not for us, no ids of this kind) says nothing about the next id.
    const isOfPath = problem.reason === 'forbidden' || (problem.reason === 'not-a-registry' && ref.kind !== 'id')
    if (!isOfPath) this.#paused = entry
  }

  #isTooMuch(key: string): boolean {
    return (this.#asked.size >= MAX_ASKED && !this.#asked.has(key)) || this.#characters > MAX_CHARACTERS
  }
}

function notAsked(ref: SchemaRef): DecodeProblem {
  return {
    step: 'registry',
    reason: 'none',
    message: `${formatRef(ref)} was not asked for: no schema registry is named`,
  }
}

function keyOf(ref: SchemaRef, message: string | null): string {
  return `${formatRef(ref)}#${message ?? ''}`
}

/** The name of a schema is worth a question, not a failure. */
async function subjectsOf(
  client: RegistryClient,
  id: number,
  options: {readonly signal?: AbortSignal | undefined},
): Promise<readonly SubjectVersion[]> {
  try {
    return await client.versions(id, options)
  } catch (error) {
    if (error instanceof RegistryError) return []
    throw error
  }
}
