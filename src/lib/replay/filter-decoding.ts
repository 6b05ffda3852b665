import type {DeadLetter} from '../dead-letter/model.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {RetriableException} from '../connect-engine/errors.ts'
import {asksForPayload} from '../select/filter-spec.ts'
import type {FilterSpec} from '../select/filter-spec.ts'
import {isTransient} from '../serde/index.ts'
import type {DecodedRecord, Decoders} from '../serde/index.ts'

/** Keys and values for `--where`. */
export interface FilterDecoding {
  readonly decode: (letter: DeadLetter) => DecodedRecord
  /** Asks for the schemas of a record; undefined when none is needed. */
  readonly prepare: (record: KafkaRecord) => Promise<void> | undefined
}

/** Repeats an operation that fails with a RetriableException, as long as it may be, and throws what is left. */
export type Ask = (operation: () => Promise<void>) => Promise<void>

/**
 * Decoding for a plan's filters; null when none of them looks into keys or values.
 * @param ask for a run: a registry that does not answer ends it, or its records would be missing as if they were gone; left
 *   out = they just do not match
 */
export function decodeForFilters(filters: FilterSpec, decoders: Decoders, ask?: Ask): FilterDecoding | null {
  if (!asksForPayload(filters)) return null
  return {
    decode: ({record}) => decoders.decode(record),
    prepare: record => {
      const first = decoders.prepare(record)
      if (first === undefined || ask === undefined) return first
      let waiting: Promise<void> | undefined = first
      return ask(async () => {
        if (waiting === undefined) decoders.askAgain()
        await (waiting ?? decoders.prepare(record))
        waiting = undefined
        const {key, value} = decoders.decode(record)
        const problem = [key.error, value.error].find(error => error !== undefined && isTransient(error))
        if (problem !== undefined) throw new RetriableException(problem.message, {code: 'E_REGISTRY'})
      })
    },
  }
}
