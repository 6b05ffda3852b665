import type {TargetBatch} from './chunk.ts'

/** What the first transaction of a run may hold, bytes before compression: a batch. */
const FIRST_BYTES = 1024 * 1024
/** A transaction grows at most by this factor over the one before it. */
const GROWTH = 2

/**
 * How much goes into one transaction, by how long the ones before it took: on a slow link a whole chunk would keep it open for
 * many seconds. One batch always goes, so a link that takes longer than the limit for a single batch (1 MiB) exceeds it.
 */
export class Pace {
  readonly #enoughMs: number
  #budget = FIRST_BYTES

  /** @param enoughMs how long a transaction should be open at most, ms */
  constructor(enoughMs: number) {
    this.#enoughMs = enoughMs
  }

  /** Cut queues of batches, one a partition: what goes into the next transaction, and the rest. */
  split(queues: readonly (readonly TargetBatch[])[]): {
    readonly now: readonly (readonly TargetBatch[])[]
    readonly later: readonly (readonly TargetBatch[])[]
  } {
    let bytes = 0
    let count = 0
    for (const queue of queues) {
      bytes += bytesOf(queue)
      if (count > 0 && bytes > this.#budget) break
      count++
    }
    return {now: queues.slice(0, count), later: queues.slice(count)}
  }

  /** Learn from a transaction. @param ms from its beginning to its commit */
  took(queues: readonly (readonly TargetBatch[])[], ms: number): void {
    const bytes = queues.reduce((sum, queue) => sum + bytesOf(queue), 0)
    const wanted = ms <= 0 ? Infinity : (bytes / ms) * this.#enoughMs
    // A small transaction says nothing about large ones: its time is that of the round trips.
    if (wanted > this.#budget) this.#budget = Math.max(this.#budget, Math.min(wanted, bytes * GROWTH))
    else if (ms > this.#enoughMs) this.#budget = wanted
  }

  /** A transaction did not come to its end: it may have been too large for the link. */
  lost(): void {
    this.#budget /= GROWTH
  }
}

function bytesOf(queue: readonly TargetBatch[]): number {
  return queue.reduce((sum, {records}) => sum + records.sizeInBytes, 0)
}
