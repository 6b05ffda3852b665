import {hashOf} from './rows.ts'

/**
 * One row for each key: the best of those that were offered. Built once over finished rows, then only asked.
 * Open addressing; 4 bytes a slot, at most half of them taken.
 */
export class BestTable {
  readonly #slots: Uint32Array
  readonly #mask: number
  readonly #placeOf: (row: number) => number
  readonly #valueOf: (row: number) => bigint

  /** @param rows most rows that will be offered */
  constructor(rows: number, placeOf: (row: number) => number, valueOf: (row: number) => bigint) {
    let capacity = 16
    while (capacity < rows * 2) capacity *= 2
    this.#slots = new Uint32Array(capacity)
    this.#mask = capacity - 1
    this.#placeOf = placeOf
    this.#valueOf = valueOf
  }

  /** @param isBetter true when the first row is better than the second */
  offer(row: number, isBetter: (row: number, than: number) => boolean): void {
    const slot = this.#slot(this.#placeOf(row), this.#valueOf(row))
    const taken = this.#slots[slot] ?? 0
    if (taken === 0 || isBetter(row, taken - 1)) this.#slots[slot] = row + 1
  }

  /** The row of a key; -1 = none. */
  find(place: number, value: bigint): number {
    return (this.#slots[this.#slot(place, value)] ?? 0) - 1
  }

  #slot(place: number, value: bigint): number {
    let slot = hashOf(place, value) & this.#mask
    for (;;) {
      const taken = this.#slots[slot] ?? 0
      if (taken === 0) return slot
      if (this.#valueOf(taken - 1) === value && this.#placeOf(taken - 1) === place) return slot
      slot = (slot + 1) & this.#mask
    }
  }
}
