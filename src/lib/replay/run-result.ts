import type {MetricsSnapshot} from '../connect-engine/metrics.ts'
import type {RecordScan} from '../dead-letter/scan-records.ts'
import {scannedOf} from './plan-scans.ts'
import type {ReplayResult, StopReason} from './result.ts'
import type {RunInput} from './run-input.ts'
import type {RunState} from './run-state.ts'

/** How a run ended. */
export interface RunEnd {
  /** Null = it came to its end. */
  readonly stop: StopReason | null
  /** False when the fate of a chunk is not known. */
  readonly settled: boolean
  readonly durationMs: number
  /** Of the engine, earlier processes of the run included. */
  readonly metrics: MetricsSnapshot
  readonly scans: readonly RecordScan[]
}

/** What a run answers; records that the plan counted and a run that was not stopped did not meet are counted as gone. */
export function runResult({plan, run}: RunInput, state: RunState, end: RunEnd): ReplayResult {
  const {stop, settled, durationMs, metrics, scans} = end
  const missing = Math.max(0, plan.counts.selected - state.counts().selected)
  if (stop === null) state.gone(missing)
  const {replayed} = state
  return {
    run,
    plan,
    checks: plan.checks,
    counts: state.counts(),
    targets: state.targets(),
    failures: state.failures,
    failuresOmitted: state.failuresOmitted,
    parking: plan.parking === null ? null : {topic: plan.parking.topic, ...state.parked},
    metrics: {
      ...metrics,
      recordsReplayed: replayed,
      bytesReplayed: Math.round(state.bytesReplayed),
      chunks: state.chunks,
      throttledMs: Math.round(state.throttledMs),
      disorder: state.disorder,
      replayedBefore: state.before,
      recordsPerSecond: durationMs > 0 ? Math.round((replayed / durationMs) * 1e6) / 1e3 : 0,
    },
    stopped: stop === null ? null : {reason: stop, remaining: missing, settled},
    scanned: scannedOf(scans),
    durationMs: Math.round(durationMs),
  }
}
