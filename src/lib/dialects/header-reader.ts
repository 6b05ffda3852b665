import type {HeaderOccurrence, HeaderTable} from './header-table.ts'
import type {Failure, RecordCoordinates, Warning} from './model.ts'
import {readBinary, readDecimal, readNullableText, readText, readTopic, warnNegative} from './primitives.ts'
import type {IntRange, Warn} from './primitives.ts'

/** Which one of a header that occurs several times. */
export type Occurrence = 'first' | 'last'

/** Names of the coordinate headers of a family; those it does not write are absent. */
export interface CoordinateNames {
  readonly topic?: string
  readonly partition?: string
  readonly offset?: string
  readonly timestamp?: string
  readonly timestampType?: string
}

/**
 * Reads one family's headers out of one record and gathers the warnings. Every method gives undefined for a header that
 * is not there, without a warning.
 */
export class HeaderReader {
  readonly headers: HeaderTable
  readonly warn: Warn
  readonly #numbers: 'decimal' | 'binary'
  readonly #warnings = new Set<Warning>()

  /** @param numbers how the family writes numbers */
  constructor(headers: HeaderTable, numbers: 'decimal' | 'binary' = 'decimal') {
    this.headers = headers
    this.warn = warning => this.#warnings.add(warning)
    this.#numbers = numbers
  }

  /** Text of a header that must have a value. */
  text(name: string, pick: Occurrence = 'last'): string | undefined {
    const found = this.#find(name, pick)
    return found === undefined ? undefined : readText(found.value, this.warn)
  }

  /** Text of a header whose null value is normal. */
  nullableText(name: string, pick: Occurrence = 'last'): string | undefined {
    return readNullableText(this.#find(name, pick)?.value ?? null, this.warn)
  }

  /**
   * Text of a header that a set may lack, out of the newest set of a family that appends: undefined when the last
   * occurrence belongs to an older one, as counts and positions of the set's first header tell.
   */
  newestOf(name: string, firstOfSet: string): string | undefined {
    const found = this.headers.last(name)
    if (found === undefined) return undefined
    const start = this.headers.last(firstOfSet)
    const fewer = this.headers.count(name) < this.headers.count(firstOfSet)
    const stale = fewer && start !== undefined && found.index < start.index
    return stale ? undefined : readText(found.value, this.warn)
  }

  /** True when the last occurrence has exactly this text. */
  isLast(name: string, text: string): boolean {
    return this.headers.last(name)?.value?.equals(Buffer.from(text, 'utf8')) === true
  }

  /** int32 in the family's encoding. */
  int32(name: string, pick: Occurrence = 'last'): number | undefined {
    const number = this.#number(name, 'int32', pick)
    return number === undefined ? undefined : Number(number)
  }

  /** int64 in the family's encoding, as decimal string. */
  int64(name: string, pick: Occurrence = 'last'): string | undefined {
    return this.#number(name, 'int64', pick)?.toString()
  }

  /** Bytes of a header; null = null value. */
  bytes(name: string, pick: Occurrence = 'last'): Buffer | null | undefined {
    return this.#find(name, pick)?.value
  }

  /** The coordinates of one occurrence, each read from its own end; undefined when there is none. */
  coordinates(names: CoordinateNames, pick: Occurrence): RecordCoordinates | undefined {
    const at: RecordCoordinates = {}
    const topicHeader = names.topic === undefined ? undefined : this.#find(names.topic, pick)
    const topic = topicHeader === undefined ? undefined : readTopic(topicHeader.value, this.warn)
    if (topic !== undefined) at.topic = topic
    const partition = names.partition === undefined ? undefined : this.int32(names.partition, pick)
    if (partition !== undefined) at.partition = partition
    const offset = names.offset === undefined ? undefined : this.int64(names.offset, pick)
    if (offset !== undefined) at.offset = offset
    const timestamp = names.timestamp === undefined ? undefined : this.int64(names.timestamp, pick)
    if (timestamp !== undefined) at.timestamp = timestamp
    const type = names.timestampType === undefined ? undefined : this.text(names.timestampType, pick)
    if (type === 'CreateTime' || type === 'LogAppendTime' || type === 'NoTimestampType') at.timestampType = type
    warnNegative(at, this.warn)
    return Object.keys(at).length === 0 ? undefined : at
  }

  /**
   * Times that the family parked this record: occurrences of the topic, without one the most of any coordinate; 0 = none.
   * Warns of `ragged_hops` when the coordinates occur different numbers of times.
   */
  countHops(names: CoordinateNames): number {
    const topics = names.topic === undefined ? 0 : this.headers.count(names.topic)
    const counts = [names.topic, names.partition, names.offset, names.timestamp]
      .map(name => (name === undefined ? 0 : this.headers.count(name)))
      .filter(count => count > 0)
    if (new Set(counts).size > 1) this.warn('ragged_hops')
    return topics > 0 ? topics : Math.max(0, ...counts)
  }

  /** `origin`, `last` and `hops` of a family that appends (oldest first) or prepends (newest first). */
  hops(names: CoordinateNames, style: 'append' | 'prepend' = 'append'): Partial<Failure> {
    const count = this.countHops(names)
    const [oldest, newest] = style === 'append' ? (['first', 'last'] as const) : (['last', 'first'] as const)
    const failure: Partial<Failure> = {}
    const origin = this.coordinates(names, oldest)
    if (origin !== undefined) failure.origin = origin
    if (count <= 1) return failure
    failure.hops = count
    const last = this.coordinates(names, newest)
    if (last !== undefined) failure.last = last
    return failure
  }

  /** `warnings` as a member of the failure, when there are any. */
  warnings(): Pick<Failure, 'warnings'> {
    return this.#warnings.size === 0 ? {} : {warnings: [...this.#warnings]}
  }

  #find(name: string, pick: Occurrence): HeaderOccurrence | undefined {
    return pick === 'first' ? this.headers.first(name) : this.headers.last(name)
  }

  #number(name: string, range: IntRange, pick: Occurrence): bigint | undefined {
    const found = this.#find(name, pick)
    if (found === undefined) return undefined
    return (this.#numbers === 'decimal' ? readDecimal : readBinary)(found.value, range, this.warn)
  }
}
