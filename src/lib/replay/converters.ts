import {DataException, RetriableException} from '../connect-engine/errors.ts'
import type {Decoders, Part, Payloads} from '../serde/index.ts'
import {isTransient} from '../serde/index.ts'
import type {ChunkEntry} from './chunk.ts'
import type {Outgoing} from './outgoing.ts'
import {partsOf, payloadsOf, problemText} from './plan-decoding.ts'
import type {PlanReading} from './plan-decoding.ts'
import type {DecodeRule} from './plan.ts'
import type {RunErrors, StageOutcome} from './run-errors.ts'

/** What reading a record before it is sent came to. */
export interface Reading {
  /** Why it cannot be read, in a line; null = it can. */
  readonly problem: string | null
}

/** What converters report to, and how. */
export interface ConverterOptions {
  readonly errors: RunErrors
  /** What cannot be read is left out by its check: no failure, but told. */
  readonly skips: boolean
}

const READABLE: Reading = {problem: null}
const NOTHING_ODD: StageOutcome<Reading> = {kind: 'done', value: READABLE}

/** The converters of a run; null = what goes out is not decoded. */
export function createConverters(reading: PlanReading | null, options: ConverterOptions): Converters | null {
  return reading === null || partsOf(reading.decode).length === 0 ? null : new Converters(reading, options)
}

/** The stages KEY_CONVERTER and VALUE_CONVERTER of a run: what goes out has to be readable. */
export class Converters {
  readonly #decode: DecodeRule
  readonly #parts: readonly Part[]
  readonly #decoders: Decoders
  readonly #errors: RunErrors
  readonly #skips: boolean

  constructor({decode, decoders}: PlanReading, {errors, skips}: ConverterOptions) {
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
