import type {RecordHeader} from '../kafka/record.ts'

/** One occurrence of a header name. */
export interface HeaderOccurrence {
  readonly value: Buffer | null
  /** Position among all headers of the record. */
  readonly index: number
}

/**
 * The headers of one record by name, built in one pass and shared by all dialects. Names are compared byte for byte:
 * they are kept as one character a byte, so that names which are not valid UTF-8 stay distinct.
 */
export class HeaderTable {
  readonly #byName = new Map<string, HeaderOccurrence[]>()

  constructor(headers: readonly RecordHeader[]) {
    for (let index = 0; index < headers.length; index++) {
      const header = headers[index]
      if (header === undefined) continue
      const name = header.name.toString('latin1')
      const occurrence = {value: header.value, index}
      const known = this.#byName.get(name)
      if (known === undefined) this.#byName.set(name, [occurrence])
      else known.push(occurrence)
    }
  }

  get isEmpty(): boolean {
    return this.#byName.size === 0
  }

  /** Distinct names in order of first occurrence, one character a byte. */
  names(): IterableIterator<string> {
    return this.#byName.keys()
  }

  /** @param name ASCII, as all names that dialects define are */
  has(name: string): boolean {
    return this.#byName.has(name)
  }

  count(name: string): number {
    return this.#byName.get(name)?.length ?? 0
  }

  first(name: string): HeaderOccurrence | undefined {
    return this.#byName.get(name)?.[0]
  }

  last(name: string): HeaderOccurrence | undefined {
    return this.#byName.get(name)?.at(-1)
  }

  /** All occurrences of a name, in order. */
  all(name: string): readonly HeaderOccurrence[] {
    return this.#byName.get(name) ?? []
  }

  /** Highest position of any header whose name begins with the prefix; -1 when there is none. */
  lastIndexOfPrefix(prefix: string): number {
    return this.lastIndexWhere(name => name.startsWith(prefix))
  }

  /** Highest position of any header whose name (one character a byte) passes the test; -1 when none does. */
  lastIndexWhere(matches: (name: string) => boolean): number {
    let highest = -1
    for (const [name, occurrences] of this.#byName) {
      if (matches(name)) highest = Math.max(highest, occurrences.at(-1)?.index ?? -1)
    }
    return highest
  }
}
