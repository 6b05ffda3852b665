/** Kept between batches; a larger buffer is given back, so that one giant batch does not stay in memory. */
const KEEP_BYTES = 16 * 1024 * 1024

/** An output buffer that the batches of one reader decompress into, one after the other. */
export class DecompressionScratch {
  #buffer: Buffer = Buffer.alloc(0)
  /** Changes with each use: what was decompressed under an earlier one is gone. */
  generation = 0

  /** Start the next output. */
  begin(): void {
    this.generation++
    if (this.#buffer.length > KEEP_BYTES) this.#buffer = Buffer.alloc(0)
  }

  /**
   * The buffer with room for `capacity` bytes.
   * @param used bytes at its beginning that have to survive
   * @param limit largest size ever needed; growing stops there
   */
  ensure(capacity: number, used: number, limit: number): Buffer {
    if (this.#buffer.length >= capacity) return this.#buffer
    const grown = Buffer.allocUnsafeSlow(Math.max(capacity, Math.min(limit, this.#buffer.length * 2)))
    this.#buffer.copy(grown, 0, 0, used)
    this.#buffer = grown
    return grown
  }
}
