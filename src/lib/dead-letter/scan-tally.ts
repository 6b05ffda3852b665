import type {RecordBlock} from '../kafka/ports.ts'
import type {Offset} from '../kafka/record.ts'
import type {RecordBatchView} from '../kafka/records/types.ts'
import type {FrozenRange} from '../select/selection.ts'
import type {PartitionScan} from './model.ts'

/** `reason` of a partition that was not read to its end because `--limit` was reached. */
export const LIMIT_REASON = 'limit'

/** Reasons of a scan that was ended on purpose: it is not complete, and nothing is wrong. */
const ON_PURPOSE = new Set<string>([LIMIT_REASON])

/**
 * True for a scan whose answer may lack something that was asked for (exit 3). One that `--limit` ended says
 * `complete: false` and reason `limit`, and is not such a scan.
 */
export function isScanIncomplete({complete, reason}: PartitionScan): boolean {
  return !complete && (reason === undefined || !ON_PURPOSE.has(reason))
}

/** What was read of one range so far. */
export class RangeTally {
  readonly range: FrozenRange
  records = 0
  whereErrors = 0
  /** Where the reader stands. */
  position: Offset
  #bytes = 0
  #control = 0
  #aborted = 0
  #undecodable = 0
  #done: boolean
  #reason: string | null

  constructor(range: FrozenRange) {
    this.range = range
    this.position = range.from
    this.#reason = range.incomplete
    this.#done = range.to !== null && range.to <= range.from
  }

  /** True when nothing is left to read of it. */
  get done(): boolean {
    return this.#done
  }

  /** Offsets of this range that lie behind the reader, for progress. */
  get offsetsPassed(): number {
    return Number(this.position - this.range.from)
  }

  /** Count what the block says of itself; its records count as they are walked. */
  add(block: RecordBlock): void {
    this.#bytes += block.bytes
    this.#control += block.controlRecords
    this.#aborted += block.abortedRecords
    for (const notice of block.notices) {
      if (notice.kind === 'undecodable') this.#lose(Number(notice.to - notice.from))
      else if (notice.kind === 'incomplete') this.#reason ??= notice.reason
    }
    this.position = block.nextOffset
    this.#done = block.done
  }

  /** Count a batch that could not be read (further). @param readOf its records that could */
  addUndecodable(batch: RecordBatchView, readOf: number): void {
    // The header's count is hostile too: never more than the offsets that the batch covers.
    const covered = Number(batch.lastOffset - batch.baseOffset) + 1
    const records = batch.recordCount > 0 ? Math.min(batch.recordCount, covered) : covered
    this.#lose(records - readOf)
  }

  /** Records of the last block stay unread: the range is not done, whatever the block says. */
  leave(): void {
    this.#done = false
  }

  #lose(records: number): void {
    this.#undecodable += Math.max(1, records)
    this.#reason ??= 'undecodable'
  }

  /** @param whyNot reason for a range that is not done although nothing went wrong with it */
  toScan(whyNot: typeof LIMIT_REASON | 'interrupted'): PartitionScan {
    const {topic, partition, from, to} = this.range
    const reason = this.#reason ?? (this.#done ? null : whyNot)
    return {
      topic,
      partition,
      from: String(from),
      to: String(to ?? this.position),
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
}
