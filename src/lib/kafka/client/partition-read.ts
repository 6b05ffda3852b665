import type {NodeId} from '../protocol/types.ts'
import type {Offset} from '../record.ts'
import type {ReadNotice, ReadRange, RecordBlock} from '../ports.ts'
import {backoffMs} from './retry.ts'

/** One partition's state in a read; `FetchSession` moves it. Times are monotonic ms. */
export class PartitionRead {
  readonly range: ReadRange
  /** Records below are not shown: the range's start, or the log's start when it moved into a batch. */
  from: Offset
  /** The next offset to ask for: one behind the last batch that came. */
  position: Offset
  leader: {readonly node: NodeId; readonly epoch: number} | null = null
  /** Topic id at the first look; null where the broker has none. */
  topicId: string | null = null
  /** Leader epoch of the last batch, for the broker's truncation check (Fetch v12+); -1 = none read yet. */
  lastEpoch = -1
  /** A request for it is out, or its position is being looked up. */
  busy = false
  /** Its leader has to be looked up again. */
  stale = true
  done = false
  notBefore = 0
  failures = 0
  failingSince: number | null = null
  missingSince: number | null = null
  emptySince: number | null = null
  /** The last answer brought nothing. */
  idle = false
  /** Answers without a batch although this partition was the first that was asked for. */
  emptyFirst = 0
  /** Order of the last progress; the one that waits longest is asked for first, so that none starves. */
  served = 0
  readonly blocks: RecordBlock[] = []
  readonly notices: ReadNotice[] = []

  constructor(range: ReadRange) {
    this.range = range
    this.from = range.from
    this.position = range.from
  }

  get ended(): boolean {
    return this.range.to !== null && this.position >= this.range.to
  }

  succeeded(): void {
    this.failures = 0
    this.failingSince = null
    this.missingSince = null
  }

  /** The position moved: whatever looked like the end is not. */
  progressed(): void {
    this.idle = false
    this.emptyFirst = 0
    this.emptySince = null
  }

  /** Count one failure and put the next attempt off. @returns ms since the first failure in a row */
  failed(now: number): number {
    this.failures++
    this.failingSince ??= now
    this.notBefore = now + backoffMs(this.failures)
    this.stale = true
    return now - this.failingSince
  }
}
