import {formatAddress} from '../kafka/record.ts'
import type {ChunkEntry, ParkingReason, RecordOutcome} from './chunk.ts'
import type {RecordFailure, ReplayCounts, ReplayResult} from './result.ts'
import {ZERO_COUNTS} from './result.ts'

/** Most failures that a result names one by one. */
const MAX_FAILURES = 1000

/** Counts of a running replay. Every record enters once, by its outcome. */
export class RunState {
  #replayed = 0
  #skipped = 0
  #held = 0
  #parkedFailed = 0
  #parkedByPolicy = 0
  #failed = 0
  #unknown = 0
  #gone = 0
  bytesReplayed = 0
  chunks = 0
  throttledMs = 0
  /** Dead letters that went out behind one of a later origin offset. */
  disorder = 0
  /** Replayed by earlier processes of the run. */
  before = 0
  readonly failures: RecordFailure[] = []
  #omitted = 0
  readonly #targets = new Map<string, {topic: string; partition: number; count: number}>()

  get replayed(): number {
    return this.#replayed
  }

  get failed(): number {
    return this.#failed
  }

  /** Records whose replay failed, parked or not: what `--max-failed` counts. */
  get refused(): number {
    return this.#failed + this.#parkedFailed
  }

  /** Parked records, by why. */
  get parked(): {readonly failed: number; readonly policy: number} {
    return {failed: this.#parkedFailed, policy: this.#parkedByPolicy}
  }

  get failuresOmitted(): number {
    return this.#omitted
  }

  skip(): void {
    this.#skipped++
  }

  hold(): void {
    this.#held++
  }

  /** An earlier process of the run did it. */
  replayedBefore(target: {readonly topic: string; readonly partition: number}): void {
    this.before++
    this.#replayed++
    this.#countTarget(target)
  }

  gone(records: number): void {
    this.#gone += records
  }

  fail(
    entry: Pick<ChunkEntry, 'topic' | 'partition' | 'offset'>,
    state: 'failed' | 'unknown',
    error: {readonly code: string; readonly message: string},
  ): void {
    if (state === 'failed') this.#failed++
    else this.#unknown++
    this.#name(entry, state, error)
  }

  /** What it points to is no longer there. */
  lost(entry: Pick<ChunkEntry, 'topic' | 'partition' | 'offset'>, reason: string): void {
    this.#gone++
    this.#name(entry, 'gone', {code: 'E_ORIGIN_GONE', message: reason})
  }

  /** In the parking topic: acknowledged, or found there. */
  park(entry: Pick<ChunkEntry, 'topic' | 'partition' | 'offset'>, reason: ParkingReason): void {
    if (reason.byPolicy) this.#parkedByPolicy++
    else this.#parkedFailed++
    if (!reason.byPolicy) this.#name(entry, 'parked', reason)
  }

  #name(
    entry: Pick<ChunkEntry, 'topic' | 'partition' | 'offset'>,
    state: RecordFailure['state'],
    error: {readonly code: string; readonly message: string},
  ): void {
    if (this.failures.length >= MAX_FAILURES) this.#omitted++
    else this.failures.push({address: formatAddress(entry), state, code: error.code, message: error.message})
  }

  outcome(outcome: RecordOutcome): void {
    if (outcome.state === 'parked') {
      this.park(outcome.entry, outcome.reason)
      return
    }
    if (outcome.state !== 'replayed') {
      this.fail(outcome.entry, outcome.state, outcome.error)
      return
    }
    this.#replayed++
    this.#countTarget(outcome.target)
  }

  #countTarget({topic, partition}: {readonly topic: string; readonly partition: number}): void {
    const key = `${partition} ${topic}`
    const target = this.#targets.get(key) ?? {topic, partition, count: 0}
    target.count++
    this.#targets.set(key, target)
  }

  counts(): ReplayCounts {
    const parts = {
      replayed: this.#replayed,
      parked: this.#parkedFailed + this.#parkedByPolicy,
      skipped: this.#skipped,
      held: this.#held,
      failed: this.#failed,
      unknown: this.#unknown,
      gone: this.#gone,
    }
    const selected = Object.values(parts).reduce((sum, count) => sum + count, 0)
    return {...ZERO_COUNTS, ...parts, selected}
  }

  targets(): ReplayResult['targets'] {
    return [...this.#targets.values()].toSorted((a, b) =>
      a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1,
    )
  }
}
