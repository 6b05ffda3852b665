/** One bucket: from <= timestamp < to, epoch ms as decimal strings. JSON as it is. */
export interface HistogramBucket {
  readonly from: string
  readonly to: string
  readonly count: number
}

export interface Histogram {
  /** @param timestamp epoch ms */
  add(timestamp: bigint): void
  /** Consecutive buckets of one width from the first to the last record, empty ones included. */
  buckets(): HistogramBucket[]
}

/** Widths that people read, each a multiple of the one before, so that buckets can be joined; beyond them they double. */
const WIDTHS_MS: readonly bigint[] = [
  1n,
  10n,
  100n,
  1_000n,
  5_000n,
  15_000n,
  60_000n,
  300_000n,
  900_000n,
  3_600_000n,
  21_600_000n,
  86_400_000n,
  604_800_000n,
]

/**
 * Counts over time in bounded memory: buckets are joined into wider ones whenever the span needs more than the limit.
 * @param maxBuckets at least 2, since no bucket reaches across the epoch
 * @throws RangeError below that
 */
export function createHistogram(maxBuckets = 48): Histogram {
  return new AdaptiveHistogram(maxBuckets)
}

class AdaptiveHistogram implements Histogram {
  readonly #maxBuckets: bigint
  #widthIndex = 0
  #width = 1n
  /** Bucket number (timestamp divided by width, rounded down) to count. */
  #counts = new Map<bigint, number>()
  #first: bigint | undefined
  #last: bigint | undefined

  constructor(maxBuckets: number) {
    if (!Number.isInteger(maxBuckets) || maxBuckets < 2) throw new RangeError('a histogram has at least two buckets')
    this.#maxBuckets = BigInt(maxBuckets)
  }

  add(timestamp: bigint): void {
    this.#first = this.#first === undefined || timestamp < this.#first ? timestamp : this.#first
    this.#last = this.#last === undefined || timestamp > this.#last ? timestamp : this.#last
    while (floorDiv(this.#last, this.#width) - floorDiv(this.#first, this.#width) >= this.#maxBuckets) this.#widen()
    const bucket = floorDiv(timestamp, this.#width)
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1)
  }

  buckets(): HistogramBucket[] {
    if (this.#first === undefined || this.#last === undefined) return []
    const buckets: HistogramBucket[] = []
    const end = floorDiv(this.#last, this.#width)
    for (let bucket = floorDiv(this.#first, this.#width); bucket <= end; bucket++) {
      const from = bucket * this.#width
      const count = this.#counts.get(bucket) ?? 0
      buckets.push({from: from.toString(), to: (from + this.#width).toString(), count})
    }
    return buckets
  }

  #widen(): void {
    this.#widthIndex++
    const wider = WIDTHS_MS[this.#widthIndex] ?? this.#width * 2n
    const joined = new Map<bigint, number>()
    for (const [bucket, count] of this.#counts) {
      const into = floorDiv(bucket * this.#width, wider)
      joined.set(into, (joined.get(into) ?? 0) + count)
    }
    this.#counts = joined
    this.#width = wider
  }
}

function floorDiv(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend < 0n && quotient * divisor !== dividend ? quotient - 1n : quotient
}
