import {NO_METRICS} from './run-metrics.ts'
import type {MetricsSnapshot} from '../connect-engine/metrics.ts'
import type {PartitionScan} from '../dead-letter/model.ts'
import type {CheckResult, ReplayPlan} from './plan.ts'

/**
 * What became of the dead letters that a run looked at: `selected` is the sum of all others but `cameBack`, which is part
 * of `replayed`. Dead letters that a stopped run did not reach are in `stopped.remaining`, not here.
 */
export interface ReplayCounts {
  readonly selected: number
  /** Acknowledged by the target. */
  readonly replayed: number
  /** Acknowledged by the parking topic; `parking` says why. */
  readonly parked: number
  readonly discarded: number
  /** Left out by the plan: `--skip`, excluded, an older copy of one origin. */
  readonly skipped: number
  readonly held: number
  readonly delayed: number
  /** Refused by the target; not written. */
  readonly failed: number
  /** Sent, but whether it was written is not known. */
  readonly unknown: number
  /** In the plan, but no longer in the dead letter topic; with `--from-origin` also: no longer at the origin. */
  readonly gone: number
  readonly cameBack: number
}

/** One record that was not replayed, and why. */
export interface RecordFailure {
  readonly address: string
  /** `parked`: its replay failed, and it went to the parking topic. `gone`: the record at its origin is no longer there. */
  readonly state: 'failed' | 'unknown' | 'parked' | 'gone'
  readonly code: string
  readonly message: string
}

/** Why a run ended before its plan did. */
export type StopReason = 'signal' | 'max-duration' | 'max-failed' | 'errors-tolerance' | 'target-unreachable' | 'error'

/** Result of `replay`: JSON as it is. */
export interface ReplayResult {
  /** Null when nothing was run: a dry run, a refusal, an empty selection. */
  readonly run: string | null
  readonly plan: ReplayPlan
  readonly checks: readonly CheckResult[]
  readonly counts: ReplayCounts
  /** What was acknowledged, by target partition. */
  readonly targets: readonly {readonly topic: string; readonly partition: number; readonly count: number}[]
  /** At most 1000, in the order in which they became known; `failuresOmitted` says how many more there are. */
  readonly failures: readonly RecordFailure[]
  readonly failuresOmitted: number
  /** Null without a parking topic. */
  readonly parking: {
    readonly topic: string
    /** Part of `parked`: their replay failed. */
    readonly failed: number
    /** Part of `parked`: they were replayed too often. */
    readonly policy: number
  } | null
  /** With those of error handling, under the names of KIP-298; of all processes of the run that came to their end. */
  readonly metrics: MetricsSnapshot & {
    readonly recordsReplayed: number
    /** Bytes of the acknowledged records before compression. */
    readonly bytesReplayed: number
    readonly chunks: number
    readonly throttledMs: number
    /** Dead letters that went out behind one of a later origin offset of the same partition. */
    readonly disorder: number
    /** Part of `replayed` that earlier processes of the run had done. */
    readonly replayedBefore: number
    readonly recordsPerSecond: number
  }
  /** Null when the plan was worked through. */
  readonly stopped: {
    readonly reason: StopReason
    readonly remaining: number
    /** False: the target did not answer in time, the chunk in flight is among `unknown`. */
    readonly settled: boolean
  } | null
  readonly scanned: readonly PartitionScan[]
  readonly durationMs: number
}

/** A run's result, and what ended it early: told to the person, and the source of the exit code. */
export interface ReplayOutcome {
  readonly result: ReplayResult
  /** The signal's reason, the error that reading or writing ended with; null for every other end. */
  readonly error: unknown
}

/** The result of a plan that was not executed: a dry run, a refusal, an empty selection. */
export function unexecuted(plan: ReplayPlan, scanned: readonly PartitionScan[], durationMs: number): ReplayResult {
  return {
    run: null,
    plan,
    checks: plan.checks,
    counts: ZERO_COUNTS,
    targets: [],
    failures: [],
    failuresOmitted: 0,
    parking: plan.parking === null ? null : {topic: plan.parking.topic, failed: 0, policy: 0},
    metrics: {
      ...NO_METRICS,
      recordsReplayed: 0,
      bytesReplayed: 0,
      chunks: 0,
      throttledMs: 0,
      disorder: 0,
      replayedBefore: 0,
      recordsPerSecond: 0,
    },
    stopped: null,
    scanned,
    durationMs: Math.round(durationMs),
  }
}

/** Nothing was looked at. */
export const ZERO_COUNTS: ReplayCounts = {
  selected: 0,
  replayed: 0,
  parked: 0,
  discarded: 0,
  skipped: 0,
  held: 0,
  delayed: 0,
  failed: 0,
  unknown: 0,
  gone: 0,
  cameBack: 0,
}
