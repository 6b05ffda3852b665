import type {Clock} from '../clock.ts'
import type {RandomSource} from '../connect-engine/backoff.ts'
import type {MetricsSnapshot} from '../connect-engine/metrics.ts'
import type {LogSink} from '../connect-engine/reporter.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {Decoders} from '../serde/index.ts'
import type {OpenDelivery} from './delivery.ts'
import type {ReplayPlan} from './plan.ts'

/** What a run works with. */
export interface RunDeps {
  readonly source: Cluster
  readonly target: Cluster
  readonly clock: Clock
  readonly onProgress?: ((progress: RunProgress) => void) | undefined
  /** Where failures are logged, if the plan says so. */
  readonly onErrorLogged?: LogSink | undefined
  /** Jitter of retries; absent = the runtime's random numbers. */
  readonly random?: RandomSource | undefined
  /** Read keys and values as the plan's `decode` says; only a plan with that needs them. */
  readonly decoders?: Decoders | null | undefined
  /** Opens the run's delivery once it is sure to write; default: an idempotent producer without a ledger. */
  readonly openDelivery?: OpenDelivery | undefined
}

/** Told after each chunk. */
export interface RunProgress {
  /** Dead letters whose outcome is known. */
  readonly done: number
  readonly total: number
  readonly replayed: number
  readonly parked: number
  readonly failed: number
}

/** How one plan is executed. */
export interface RunInput {
  readonly run: string
  readonly plan: ReplayPlan
  /** Stop after more than this many failed records, parked ones included; 0 = at the first one, null = never. */
  readonly maxFailed: number | null
  /** What earlier processes of this run counted; left out = nothing. */
  readonly earlierMetrics?: MetricsSnapshot | undefined
  readonly maxDurationMs: number | null
  /** Limit for the outcome of one batch, its repetitions included, ms. */
  readonly deliveryTimeoutMs: number
  readonly readRate?: number | undefined
  /** Send again what an earlier process of this run may have written. */
  readonly resendUnknown?: boolean | undefined
}
