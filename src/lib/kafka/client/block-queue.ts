import type {ReadNotice, ReadRequest, RecordBlock} from '../ports.ts'
import type {RecordBatchView} from '../records/types.ts'
import type {PartitionRead} from './partition-read.ts'

/** What one answer brought for one partition. */
export interface BlockContent {
  readonly batches: readonly RecordBatchView[]
  readonly bytes: number
  readonly controlRecords: number
  readonly abortedRecords: number
}

const NOTHING: BlockContent = {batches: [], bytes: 0, controlRecords: 0, abortedRecords: 0}

/** Blocks between the fetches and the consumer, in the order that the request asks for, with their bytes counted. */
export class BlockQueue {
  readonly #order: ReadRequest['order']
  readonly #reads: readonly PartitionRead[]
  /** Partitions with a waiting block, one entry a block, oldest first. */
  readonly #arrivals: PartitionRead[] = []
  #bytes = 0
  #inUse = 0
  #throttleMs = 0

  constructor(order: ReadRequest['order'], reads: readonly PartitionRead[]) {
    this.#order = order
    this.#reads = reads
  }

  /** Bytes that wait, and those that the consumer works on. */
  get bytes(): number {
    return this.#bytes
  }

  get ended(): boolean {
    return this.#reads.every(({done, blocks}) => done && blocks.length === 0)
  }

  /** Told with the next block. */
  throttled(ms: number): void {
    this.#throttleMs = Math.max(this.#throttleMs, ms)
  }

  /** Queue what came for this partition, with the notices noted for it; nothing is queued if there is nothing to tell. */
  push(read: PartitionRead, content: BlockContent = NOTHING): void {
    if (content.bytes === 0 && read.notices.length === 0 && !read.done) return
    const {topic, partition, to} = read.range
    const notices: readonly ReadNotice[] = read.notices.splice(0)
    const {from, position: nextOffset, done} = read
    read.blocks.push({topic, partition, from, to, ...content, nextOffset, notices, throttleMs: this.#throttleMs, done})
    this.#throttleMs = 0
    this.#bytes += content.bytes
    if (this.#order === 'arrival') this.#arrivals.push(read)
  }

  /** The consumer is through with the block that it got last. */
  release(): void {
    this.#bytes -= this.#inUse
    this.#inUse = 0
  }

  take(): RecordBlock | null {
    const read =
      this.#order === 'arrival'
        ? this.#arrivals.shift()
        : this.#reads.find(({done, blocks}) => !done || blocks.length > 0)
    const block = read?.blocks.shift() ?? null
    this.#inUse = block?.bytes ?? 0
    return block
  }
}
