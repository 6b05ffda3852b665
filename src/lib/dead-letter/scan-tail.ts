import {UsageError} from '../errors.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {packRecord, unpackRecord} from './packed-record.ts'
import type {PackedRecord} from './packed-record.ts'

/** Most records and bytes that `--tail` holds in memory. */
const MOST_RECORDS = 100_000
const MOST_BYTES = 256 * 1024 * 1024

/** Where a record stands in the order of `--tail`: timestamp (-1 = none), topic, partition, offset. */
interface Place {
  readonly timestamp: bigint
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

interface Kept extends Place {
  readonly packed: PackedRecord
  readonly bytes: number
}

/** The last N of all records put in, in bounded memory: a heap with the first of them on top. */
export class Tail {
  readonly #most: number
  readonly #heap: Kept[] = []
  #bytes = 0

  /** @throws UsageError for more than 100,000 */
  constructor(most: number) {
    if (most > MOST_RECORDS) throw new UsageError(`--tail holds at most ${MOST_RECORDS} records, not ${most}`)
    this.#most = most
  }

  /** False for a record that cannot be among the last N any more. */
  wants(place: Place): boolean {
    const first = this.#heap[0]
    return this.#most > 0 && (first === undefined || this.#heap.length < this.#most || isBefore(first, place))
  }

  /** @throws UsageError when the records kept are larger than 256 MiB together */
  push(record: KafkaRecord): void {
    const {timestamp, topic, partition, offset, key, value, headers} = record
    const place = {timestamp: timestamp ?? -1n, topic, partition, offset}
    if (!this.wants(place)) return
    const headerBytes = headers.reduce((sum, header) => sum + header.name.length + (header.value?.length ?? 0), 0)
    const bytes = (key?.length ?? 0) + (value?.length ?? 0) + headerBytes
    const kept: Kept = {...place, packed: packRecord(record), bytes}
    this.#bytes += bytes
    if (this.#heap.length < this.#most) {
      this.#heap.push(kept)
      this.#rise(this.#heap.length - 1)
    } else {
      this.#bytes -= this.#heap[0]?.bytes ?? 0
      this.#heap[0] = kept
      this.#sink()
    }
    if (this.#bytes <= MOST_BYTES) return
    throw new UsageError(`--tail ${this.#most} would hold more than 256 MiB in memory`, {
      hints: ['give a smaller number, or --from @TIME instead'],
    })
  }

  /** In order, oldest first; each is an object from when it is asked for. */
  *sorted(): Generator<KafkaRecord, void, undefined> {
    for (const {packed} of this.#heap.toSorted((a, b) => (isBefore(a, b) ? -1 : 1))) yield unpackRecord(packed)
  }

  #rise(from: number): void {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#swapIfBefore(at, parent)) return
      at = parent
    }
  }

  #sink(): void {
    let at = 0
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const child = this.#isBefore(right, left) ? right : left
      if (!this.#swapIfBefore(child, at)) return
      at = child
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [left, right] = [this.#heap[one], this.#heap[other]]
    return left !== undefined && right !== undefined && isBefore(left, right)
  }

  #swapIfBefore(lower: number, upper: number): boolean {
    const [low, up] = [this.#heap[lower], this.#heap[upper]]
    if (low === undefined || up === undefined || !isBefore(low, up)) return false
    this.#heap[upper] = low
    this.#heap[lower] = up
    return true
  }
}

function isBefore(left: Place, right: Place): boolean {
  if (left.timestamp !== right.timestamp) return left.timestamp < right.timestamp
  if (left.topic !== right.topic) return left.topic < right.topic
  if (left.partition !== right.partition) return left.partition < right.partition
  return left.offset < right.offset
}
