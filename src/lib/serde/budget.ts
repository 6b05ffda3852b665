import {DecodeFault} from './fault.ts'

/** Deepest nesting that is read; real data has less than 50. */
export const MAX_DEPTH = 200
const FREE_VALUES = 10_000
const VALUES_PER_BYTE = 16

/**
 * Bounds what a payload may become: a schema can ask for values that take no bytes (nulls, empty records), so the count of
 * values is bounded by the bytes that are there.
 */
export class Budget {
  #left: number
  readonly #size: number

  /** @param size bytes of the payload */
  constructor(size: number) {
    this.#size = size
    this.#left = FREE_VALUES + size * VALUES_PER_BYTE
  }

  /** @throws DecodeFault when more values come than so many bytes can mean */
  spend(at: number): void {
    this.#left -= 1
    if (this.#left < 0) throw new DecodeFault('decode', `${this.#size} bytes would become too many values`, {at})
  }
}
