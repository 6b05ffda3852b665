import type {CompressionType} from '../kafka/records/types.ts'
import type {IsolationLevel} from '../kafka/ports.ts'
import type {FilterSpec} from '../select/filter-spec.ts'
import type {HeaderPolicy} from './header-policy.ts'
import type {HeaderPreview} from './header-preview.ts'
import type {OriginTopic} from './from-origin.ts'
import type {PartitionOffsets} from './offset-set.ts'
import type {TimestampRule} from './outgoing.ts'
import type {TargetFacts, TargetRule} from './target.ts'

/** Version of the plan's shape; a plan of another version is refused. */
export const PLAN_VERSION = 3

/** `exactly-once`: records and their ledger entries in one transaction. */
export type Delivery = 'exactly-once' | 'at-least-once'

/** `hide` leaves handled dead letters out, `show` sends them again, `only` sends nothing else. */
export type HandledRule = 'hide' | 'show' | 'only'

/** Where a run writes down what it did. */
export type PlanLedger =
  /** A compacted topic on the target's cluster. */
  | {readonly kind: 'topic'; readonly name: string}
  | {readonly kind: 'file'; readonly path: string}
  /** The ledger file of the archive that is written to. */
  | {readonly kind: 'archive'}
  | {readonly kind: 'none'}

/** How a run handles failures: `errors.*` of a connector, under Connect's meaning (KIP-298). Times are int64 as text. */
export interface PlanErrors {
  /** `none`: the run stops at the first record that failed. */
  readonly tolerance: 'none' | 'all'
  /** How long an operation that fails with a retriable error is repeated, ms; 0 = not at all, negative = without end. */
  readonly retryTimeoutMs: string
  /** Longest pause between two attempts, ms. */
  readonly retryDelayMaxMs: string
  readonly log: boolean
  /** Log the address of the dead letter too. */
  readonly logIncludeMessages: boolean
}

/** What a run does when nothing is said. */
export const DEFAULT_ERRORS: PlanErrors = {
  tolerance: 'all',
  retryTimeoutMs: '0',
  retryDelayMaxMs: '60000',
  log: false,
  logIncludeMessages: false,
}

/** What a record has to be readable as to be sent, as `--decode` takes it; absent = nothing is asked. */
export interface DecodeRule {
  readonly key?: string
  readonly value?: string
}

/** How a plan reads keys and values. What a registry says is no part of it, nor its address: whoever executes it has one. */
export interface PlanDecode extends DecodeRule {
  /** The plan was made with schemas of a registry: it is executed with one, else without. */
  readonly registry: boolean
}

/** One frozen range of a plan: from <= offset < to. */
export interface PlanRange {
  readonly topic: string
  /** Null for archives, and for brokers without topic ids. */
  readonly topicId: string | null
  readonly partition: number
  readonly from: string
  readonly to: string
  /** Epoch ms: earlier records are not meant; null = no bound. */
  readonly fromTime: string | null
  /** Epoch ms: records of this time or later are not meant; null = no bound. */
  readonly toTime: string | null
  /** Records of this range that the plan selected. */
  readonly selected: number
}

/** A cluster or archive as a plan remembers it. */
export interface PlanCluster {
  readonly kind: 'kafka' | 'archive'
  readonly clusterId: string | null
  readonly name: string
}

/** Result of one check, as it stands in plan and result. */
export interface CheckResult {
  readonly id: string
  /** `ok` = nothing found, `unknown` = could not be made (detail says why), `left-out` = found and left out. */
  readonly level: 'ok' | 'warn' | 'refuse' | 'allowed' | 'skipped' | 'left-out' | 'unknown'
  /** Dead letters it found something on. */
  readonly count: number
  /** About the first one; empty when there is nothing to say. */
  readonly detail: string
  /** Addresses, at most 20. */
  readonly addresses: readonly string[]
  /** What a person can do about it; for refusals, and warnings of records that will fail. */
  readonly hint?: string
}

/** What one record of each kind of failure looks like before and after, so that a person sees what the header policy does. */
export type PlanSample = HeaderPreview

/** What is left to do when everything that is not sent was taken away. */
export interface PlanCounts {
  readonly selected: number
  /** Will be sent. */
  readonly toReplay: number
  /** Left out by `--skip`, by exclusion, as handled, or as an older copy of one origin. */
  readonly skipped: number
  /** Left out because they were replayed as often as `maxAttempts` allows, and there is no parking topic. */
  readonly held: number
  /** As `held`, with a parking topic: they go there. */
  readonly parked: number
  /** Stop the run: found by a check that was neither allowed nor skipped. */
  readonly refused: number
}

/** What a replay would do: data, printable, a file. Offsets, times and int64 are decimal strings. */
export interface ReplayPlan {
  readonly planVersion: typeof PLAN_VERSION
  /** Epoch ms. */
  readonly createdAt: string
  readonly source: PlanCluster & {
    readonly isolationLevel: IsolationLevel
    readonly ranges: readonly PlanRange[]
    readonly filters: FilterSpec
    /** Only these of the ranges; null = all that the filters let through. */
    readonly include: readonly PartitionOffsets[] | null
    readonly exclude: readonly PartitionOffsets[]
    /** Replayed too often: they are parked where there is a parking topic, else left out. */
    readonly held: readonly PartitionOffsets[]
  }
  readonly target: PlanCluster & TargetRule & {readonly topics: readonly TargetFacts[]}
  readonly headers: HeaderPolicy
  readonly timestamp: TimestampRule
  /** `origin`: each origin partition by its offsets; `dlq`: each partition of the dead letter topic by its own. */
  readonly order: 'origin' | 'dlq'
  readonly delivery: Delivery
  readonly ledger: PlanLedger
  /** What happens to dead letters that the ledger knows as handled. */
  readonly handled: HandledRule
  /** Dead letters that an earlier run announced and did not settle are sent again; absent = they are left out as handled. */
  readonly resendUnknown?: true
  /** What is sent is the record at the origin, as it stands in these topics; absent = the dead letter's own copy. */
  readonly fromOrigin?: {readonly topics: readonly OriginTopic[]}
  /** Keys and values are decoded, for filters and before they are sent; absent = filters read JSON and text. */
  readonly decode?: PlanDecode
  /** Replays of one chain of dead letters; what was replayed that often is parked or held. */
  readonly maxAttempts: number
  readonly errors: PlanErrors
  /** The topic, beside the targets, for what cannot be replayed; null = there is none. */
  readonly parking: TargetFacts | null
  /** Records a second; null = no bound. */
  readonly rate: number | null
  /** Bytes a second; null = no bound. */
  readonly bytesRate: number | null
  readonly compression: CompressionType
  readonly allow: readonly string[]
  readonly skip: readonly string[]
  readonly checks: readonly CheckResult[]
  readonly counts: PlanCounts
  /** What goes where, by topic and partition. */
  readonly targets: readonly {
    readonly topic: string
    readonly partition: number
    readonly count: number
    readonly bytes: number
  }[]
  /** By count, most first; at most 1000, the rest is in none of them. */
  readonly fingerprints: readonly {readonly fingerprint: string | null; readonly count: number}[]
  /** One for each kind of failure, the first record of it that is sent; at most 20. */
  readonly samples: readonly PlanSample[]
}
