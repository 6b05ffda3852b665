import type {Clock} from '../clock.ts'
import type {PartitionScan} from '../dead-letter/model.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {CompressionType} from '../kafka/records/types.ts'
import type {FrozenSelection} from '../select/selection.ts'
import type {Decoders} from '../serde/index.ts'
import type {HeaderPolicy} from './header-policy.ts'
import type {LedgerView} from './ledger-judge.ts'
import type {PartitionOffsets} from './offset-set.ts'
import type {TimestampRule} from './outgoing.ts'
import type {DecodeRule, PlanErrors, ReplayPlan} from './plan.ts'
import type {TargetRule} from './target.ts'

/** What a replay is planned with. Source and target may be the same cluster. */
export interface PlanDeps {
  readonly source: Cluster
  readonly target: Cluster
  readonly clock: Clock
  /** What the ledger says; null = there is none. Left out counts as null. */
  readonly ledger?: LedgerView | null | undefined
  /** What was found out about the ledger topic itself, by check. */
  readonly ledgerFindings?: readonly LedgerFinding[] | undefined
  /** Read keys and values; needed with `PlanInput.decode`. */
  readonly decoders?: Decoders | null | undefined
  /** Told now and then how many dead letters were looked at. */
  readonly onProgress?: ((read: number) => void) | undefined
}

/** Something about the ledger that a person has to know before a run. */
export interface LedgerFinding {
  readonly check: 'handled' | 'claimed' | 'ledger-retention'
  /** What it is about: a partition, or the ledger topic. */
  readonly address: string
  readonly detail: string
  /** The check could not be made. */
  readonly unknown?: boolean | undefined
}

/** What is asked for. */
export interface PlanInput {
  readonly selection: FrozenSelection
  readonly target: TargetRule
  readonly headers: HeaderPolicy
  readonly timestamp: TimestampRule
  /** Records a second; null = no bound. */
  readonly rate: number | null
  readonly bytesRate: number | null
  readonly compression: CompressionType
  readonly order: ReplayPlan['order']
  readonly delivery: ReplayPlan['delivery']
  readonly ledger: ReplayPlan['ledger']
  readonly handled: ReplayPlan['handled']
  /** Send again what an earlier run may have sent. Left out counts as false. */
  readonly resendUnknown?: boolean | undefined
  /** Send the record at the origin in place of the dead letter's copy. Left out counts as false. */
  readonly fromOrigin?: boolean | undefined
  /** Decode keys and values, for filters and before they are sent. Left out = filters read JSON and text. */
  readonly decode?: DecodeRule | undefined
  readonly maxAttempts: number
  /** Left out counts as `DEFAULT_ERRORS`. */
  readonly errors?: PlanErrors | undefined
  /** A legal topic name, beside the target; null (or left out) = there is none. */
  readonly parkingTopic?: string | null | undefined
  readonly allow: readonly string[]
  readonly skip: readonly string[]
  readonly exclude?: readonly PartitionOffsets[]
  readonly readRate?: number | undefined
}

/** A plan, and how far the dead letters were read for it. */
export interface PlannedReplay {
  readonly plan: ReplayPlan
  readonly scanned: readonly PartitionScan[]
}
