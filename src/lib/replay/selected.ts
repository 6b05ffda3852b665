import {createDeadLetter} from '../dead-letter/dead-letter.ts'
import type {DeadLetter, PartitionScan} from '../dead-letter/model.ts'
import type {ClusterReader, IsolationLevel, ReadNotice, RecordBlock} from '../kafka/ports.ts'
import {recordsIn} from '../kafka/records/records-in.ts'
import type {RecordBatchView, RecordCursor} from '../kafka/records/types.ts'
import type {CompiledFilters} from '../select/compile.ts'
import type {OffsetSet} from './offset-set.ts'

/** One frozen range with its time bounds. */
export interface SelectedRange {
  readonly topic: string
  readonly partition: number
  readonly from: bigint
  readonly to: bigint
  readonly fromTimeMs: bigint | null
  readonly toTimeMs: bigint | null
}

/** What to read: the same request reads the same dead letters whenever it is made (but for retention). */
export interface SelectedRequest {
  readonly ranges: readonly SelectedRange[]
  readonly isolationLevel: IsolationLevel
  readonly filters: CompiledFilters
  /** Only these; null = all. */
  readonly include: OffsetSet | null
  readonly order: 'partition' | 'arrival'
  readonly readRate?: number | undefined
}

/** One selected dead letter. Cursor and dead letter are valid until the next one is asked for. */
export interface Selected {
  readonly cursor: RecordCursor
  readonly letter: DeadLetter
}

/** Reads what a request selects, block by block, and counts what it saw of each range. */
export class SelectedReader {
  readonly #request: SelectedRequest
  readonly #scans: MutableScan[]

  constructor(request: SelectedRequest) {
    this.#request = request
    this.#scans = request.ranges.map(range => new MutableScan(range))
  }

  /**
   * The selected dead letters of one block after the other, with the index of the range they lie in.
   * @throws the signal's reason
   */
  async *blocks(
    reader: ClusterReader,
    options: {readonly signal?: AbortSignal | undefined} = {},
  ): AsyncGenerator<{readonly range: number; readonly records: Iterable<Selected>}> {
    const {ranges, isolationLevel, order, readRate} = this.#request
    if (ranges.length === 0) return
    const byKey = new Map(ranges.map((range, index) => [keyOf(range), index]))
    for await (const block of reader.read({ranges, isolationLevel, order, readRate}, options)) {
      const index = byKey.get(keyOf(block))
      const scan = index === undefined ? undefined : this.#scans[index]
      const range = index === undefined ? undefined : ranges[index]
      if (index === undefined || scan === undefined || range === undefined) continue
      scan.block(block)
      yield {range: index, records: this.#select(block, range, scan)}
    }
  }

  /** How far each range was read, in the order of the ranges. */
  scanned(): readonly PartitionScan[] {
    return this.#scans.map(scan => scan.toScan())
  }

  *#select(block: RecordBlock, range: SelectedRange, scan: MutableScan): Generator<Selected, void, undefined> {
    const {filters, include} = this.#request
    for (const cursor of recordsIn(block, batch => scan.undecodable(batch))) {
      scan.records++
      if (range.fromTimeMs !== null && cursor.timestamp < range.fromTimeMs) continue
      if (range.toTimeMs !== null && cursor.timestamp >= range.toTimeMs) continue
      if (include !== null && !include.has(block.topic, block.partition, cursor.offset)) continue
      if (!filters.prefilter(cursor)) continue
      const letter = createDeadLetter(cursor.toRecord(block.topic, block.partition))
      const errorsBefore = filters.whereErrors
      const matches = filters.matches(letter)
      scan.whereErrors += filters.whereErrors - errorsBefore
      if (matches) yield {cursor, letter}
    }
  }
}

class MutableScan {
  readonly #range: SelectedRange
  records = 0
  whereErrors = 0
  #bytes = 0
  #control = 0
  #aborted = 0
  #undecodable = 0
  #done = false
  #reason: string | null = null

  constructor(range: SelectedRange) {
    this.#range = range
    this.#done = range.from >= range.to
  }

  block(block: RecordBlock): void {
    this.#bytes += block.bytes
    this.#control += block.controlRecords
    this.#aborted += block.abortedRecords
    for (const notice of block.notices) this.#notice(notice)
    if (block.done) this.#done = true
  }

  /** A batch whose records section could not be read; its header says how many records it had. */
  undecodable(batch: RecordBatchView): void {
    this.#undecodable += Math.max(1, Number(batch.lastOffset - batch.baseOffset) + 1)
    this.#reason ??= 'undecodable'
  }

  toScan(): PartitionScan {
    const reason = this.#reason ?? (this.#done ? null : 'stopped')
    return {
      topic: this.#range.topic,
      partition: this.#range.partition,
      from: String(this.#range.from),
      to: String(this.#range.to),
      records: this.records,
      bytes: this.#bytes,
      control: this.#control,
      aborted: this.#aborted,
      undecodable: this.#undecodable,
      complete: reason === null,
      ...(reason === null ? {} : {reason}),
      ...(this.whereErrors === 0 ? {} : {whereErrors: this.whereErrors}),
    }
  }

  #notice(notice: ReadNotice): void {
    if (notice.kind === 'incomplete') this.#reason ??= notice.reason
    if (notice.kind !== 'undecodable') return
    this.#undecodable += Number(notice.to - notice.from)
    this.#reason ??= 'undecodable'
  }
}

function keyOf({topic, partition, from}: {topic: string; partition: number; from: bigint}): string {
  return `${topic}:${partition}:${from}`
}
