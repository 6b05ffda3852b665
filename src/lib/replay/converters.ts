import {DataException, RetriableException} from '../connect-engine/errors.ts'
import {UsageError} from '../errors.ts'
import type {Decoders, DecodeProblem, Part, Payloads} from '../serde/index.ts'
import {isTransient, needsRegistry, parseAskedFormats} from '../serde/index.ts'
import type {ChunkEntry} from './chunk.ts'
import type {Outgoing} from './outgoing.ts'
import type {PlanDecode, ReplayPlan} from './plan.ts'
import type {RunErrors, StageOutcome} from './run-errors.ts'

/** What reading a record before it is sent came to. */
export interface Reading {
  /** Why it cannot be read, in a line; null = it can. */
  readonly problem: string | null
}

/** Nothing to say. */
export const READABLE: Reading = {problem: null}
const NOTHING_ODD: StageOutcome<Reading> = {kind: 'done', value: READABLE}

/** What has to be readable, in Connect's order. */
export function partsOf({key, value}: Pick<PlanDecode, 'key' | 'value'>): readonly Part[] {
  return [...(key === undefined ? [] : ['key' as const]), ...(value === undefined ? [] : ['value' as const])]
}

/** True when payloads of these formats cannot be read without a registry. @throws UsageError for a format that there is not */
export function certainlyNeedsRegistry(decode: Pick<PlanDecode, 'key' | 'value'>): boolean {
  return Object.values(parseAskedFormats(decodeTexts(decode))).some(format => needsRegistry(format))
}

/** The formats of a plan as `--decode` takes them. */
export function decodeTexts(decode: Pick<PlanDecode, 'key' | 'value'>): readonly string[] {
  return partsOf(decode).map(part => `${part}=${decode[part] ?? ''}`)
}

/**
 * The decoders that a plan needs; null = none.
 * @throws UsageError `E_NO_DECODERS` when they are needed and were not given
 */
export function decodersOf(
  {decode}: Pick<ReplayPlan, 'decode'>,
  decoders: Decoders | null | undefined,
): {readonly decode: PlanDecode; readonly decoders: Decoders} | null {
  if (decode === undefined) return null
  if (decoders !== null && decoders !== undefined) return {decode, decoders}
  throw new UsageError('the plan reads keys and values, and nothing was given that can', {code: 'E_NO_DECODERS'})
}

/** The first payload that cannot be read, and why; null = all can. Waits for schemas. @throws the signal's reason */
export async function firstProblem(
  decoders: Decoders,
  decode: PlanDecode,
  outgoing: Outgoing,
): Promise<{readonly text: string; readonly transient: boolean} | null> {
  const payloads = payloadsOf(outgoing)
  for (const part of partsOf(decode)) {
    await decoders.preparePart(part, payloads)
    const {error} = decoders.decodePart(part, payloads)
    if (error !== undefined) return {text: problemText(decode, part, error), transient: isTransient(error)}
  }
  return null
}

/** The stages KEY_CONVERTER and VALUE_CONVERTER of a run: what goes out has to be readable. */
export class Converters {
  readonly #decode: PlanDecode
  readonly #parts: readonly Part[]
  readonly #decoders: Decoders
  readonly #errors: RunErrors
  readonly #skips: boolean

  /** @param options.skips what cannot be read is left out by its check: no failure, but told */
  constructor(
    {decode, decoders}: {readonly decode: PlanDecode; readonly decoders: Decoders},
    {errors, skips}: {readonly errors: RunErrors; readonly skips: boolean},
  ) {
    this.#decode = decode
    this.#parts = partsOf(decode)
    this.#decoders = decoders
    this.#errors = errors
    this.#skips = skips
  }

  /** No promise unless a schema has to be asked for, or a stage is tried again. */
  read(entry: ChunkEntry, outgoing: Outgoing): StageOutcome<Reading> | Promise<StageOutcome<Reading>> {
    return this.#readFrom(0, entry, payloadsOf(outgoing))
  }

  #readFrom(
    first: number,
    entry: ChunkEntry,
    payloads: Payloads,
  ): StageOutcome<Reading> | Promise<StageOutcome<Reading>> {
    for (let index = first; index < this.#parts.length; index++) {
      const part = this.#parts[index]
      if (part === undefined) break
      const outcome = this.#errors.convert(entry, part, this.#attempts(part, payloads))
      if (outcome instanceof Promise) {
        return outcome.then(async late => (isReadable(late) ? this.#readFrom(index + 1, entry, payloads) : late))
      }
      if (!isReadable(outcome)) return outcome
    }
    return NOTHING_ODD
  }

  /** One attempt a call; from the second one on, a registry that did not answer is asked again. */
  #attempts(part: Part, payloads: Payloads): () => Reading | Promise<Reading> {
    let again = false
    return () => {
      if (again) this.#decoders.askAgain()
      again = true
      const waiting = this.#decoders.preparePart(part, payloads)
      return waiting === undefined
        ? this.#decodeNow(part, payloads)
        : waiting.then(() => this.#decodeNow(part, payloads))
    }
  }

  #decodeNow(part: Part, payloads: Payloads): Reading {
    const {error} = this.#decoders.decodePart(part, payloads)
    if (error === undefined) return READABLE
    const text = problemText(this.#decode, part, error)
    if (isTransient(error)) throw new RetriableException(text, {code: 'E_REGISTRY'})
    if (this.#skips) return {problem: text}
    throw new DataException(text, {code: 'E_DECODE'})
  }
}

function isReadable(outcome: StageOutcome<Reading>): boolean {
  return outcome.kind === 'done' && outcome.value.problem === null
}

function payloadsOf(outgoing: Outgoing): Payloads {
  return {key: outgoing.key, value: outgoing.value, headers: outgoing.headers()}
}

function problemText(decode: PlanDecode, part: Part, {message, at, field, step}: DecodeProblem): string {
  const place = [at === undefined ? [] : [`at byte ${at}`], field === undefined ? [] : [`reading ${field}`]].flat()
  const where = place.length === 0 ? '' : ` ${place.join(', ')}`
  const what = step === 'validate' ? 'does not obey its schema' : `cannot be read as ${decode[part] ?? 'auto'}`
  return `${part} ${what}${where}: ${message}`
}
