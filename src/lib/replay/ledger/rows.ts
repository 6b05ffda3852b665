/** Columns of the index; one row an entry. Numbers in typed arrays: 75 bytes a row instead of an object. */
export interface Rows {
  readonly capacity: number
  readonly place: Uint32Array
  readonly offset: BigInt64Array
  readonly run: Uint32Array
  /** Position in LEDGER_STATES plus one; 0 = the row is free. */
  readonly state: Uint8Array
  readonly attempt: Uint16Array
  /** First 8 bytes of the checksum. */
  readonly sum: BigUint64Array
  /** Epoch ms. */
  readonly at: BigInt64Array
  readonly by: Uint32Array
  readonly reason: Uint32Array
  /** 0 = no target. */
  readonly targetPlace: Uint32Array
  /** -1 = not known. */
  readonly targetOffset: BigInt64Array
  /** 0 = no origin, or not a whole address. */
  readonly originPlace: Uint32Array
  readonly originOffset: BigInt64Array
  /** Ascends in the order of the ledger. */
  readonly order: Uint32Array
  /** Next row (plus one) of the same bucket of the address table. */
  readonly next: Uint32Array
}

/** Bytes of one row over all columns. */
export const ROW_BYTES = 75

/** Columns of a larger table that begin with those of a smaller one. */
export function makeRows(capacity: number, from: Rows | null = null): Rows {
  const rows: Rows = {
    capacity,
    place: new Uint32Array(capacity),
    offset: new BigInt64Array(capacity),
    run: new Uint32Array(capacity),
    state: new Uint8Array(capacity),
    attempt: new Uint16Array(capacity),
    sum: new BigUint64Array(capacity),
    at: new BigInt64Array(capacity),
    by: new Uint32Array(capacity),
    reason: new Uint32Array(capacity),
    targetPlace: new Uint32Array(capacity),
    targetOffset: new BigInt64Array(capacity),
    originPlace: new Uint32Array(capacity),
    originOffset: new BigInt64Array(capacity),
    order: new Uint32Array(capacity),
    next: new Uint32Array(capacity),
  }
  if (from === null) return rows
  rows.place.set(from.place)
  rows.offset.set(from.offset)
  rows.run.set(from.run)
  rows.state.set(from.state)
  rows.attempt.set(from.attempt)
  rows.sum.set(from.sum)
  rows.at.set(from.at)
  rows.by.set(from.by)
  rows.reason.set(from.reason)
  rows.targetPlace.set(from.targetPlace)
  rows.targetOffset.set(from.targetOffset)
  rows.originPlace.set(from.originPlace)
  rows.originOffset.set(from.originOffset)
  rows.order.set(from.order)
  rows.next.set(from.next)
  return rows
}

/** Hash of a place and an int64, well mixed; also of a checksum (place 0). */
export function hashOf(place: number, value: bigint): number {
  const low = Number(BigInt.asUintN(32, value))
  const high = Number(BigInt.asUintN(32, value >> 32n))
  let h = Math.imul(low ^ Math.imul(high, 0x85ebca6b) ^ Math.imul(place + 1, 0x9e3779b1), 0xc2b2ae35)
  h ^= h >>> 15
  h = Math.imul(h, 0x2c1b3c6d)
  return (h ^ (h >>> 13)) >>> 0
}

/** Strings by number, from 1; 0 = null. */
export class Names {
  readonly #names: string[] = []
  readonly #ids = new Map<string, number>()
  readonly #limit: number

  /** @param limit more different names than this are not kept (they read back as null) */
  constructor(limit = 0xffff_fffe) {
    this.#limit = limit
  }

  get size(): number {
    return this.#names.length
  }

  idOf(name: string | null): number {
    if (name === null) return 0
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    if (this.#names.length >= this.#limit) return 0
    const id = this.#names.push(name)
    this.#ids.set(name, id)
    return id
  }

  /** Without making a new number; 0 = not there. */
  find(name: string): number {
    return this.#ids.get(name) ?? 0
  }

  name(id: number): string | null {
    return this.#names[id - 1] ?? null
  }
}
