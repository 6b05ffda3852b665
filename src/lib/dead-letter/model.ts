import type {Dialect} from '../dialects/dialect.ts'
import type {Failure} from '../dialects/model.ts'
import type {KafkaRecord} from '../kafka/record.ts'

/** A record of a dead letter topic with what its headers say, decoded when first asked for. */
export interface DeadLetter {
  readonly record: KafkaRecord
  /** `topic:partition:offset` */
  readonly address: string
  readonly failure: Failure
  /** `f-` and 8 hex digits; null when nothing is known about the failure. */
  readonly fingerprint: string | null
  /** The newest entry of a ledger about it; null = there is none; absent = no ledger was read. */
  readonly handled?: Handled | null
  /** Header families that it was decoded with; absent = the built-in ones. */
  readonly dialects?: readonly Dialect[]
  /** The real one, where this is what may be shown of it; absent = nothing is hidden. */
  readonly unredacted?: DeadLetter
}

/** What a ledger says that was done to a dead letter. JSON as it is. */
export interface Handled {
  readonly state: string
  readonly run: string
  /** Epoch ms, decimal. */
  readonly at: string
  /** Operator; null = not said. */
  readonly by: string | null
  /** Replays of its chain so far. */
  readonly attempt: number
  /** Null when nothing was written anywhere; offset null where the target does not number records. */
  readonly target: {readonly topic: string; readonly partition: number; readonly offset: string | null} | null
  readonly reason: string | null
  /** Present when the entry is about another record that stood at the address: it counts for nothing. */
  readonly stale?: true
}

/** How far one partition was read; offsets as decimal strings. JSON as it is (`scanned[]`). */
export interface PartitionScan {
  readonly topic: string
  readonly partition: number
  readonly from: string
  /** Exclusive, frozen at the start; for --follow where it stands. */
  readonly to: string
  readonly records: number
  readonly bytes: number
  readonly control: number
  readonly aborted: number
  readonly undecodable: number
  readonly complete: boolean
  readonly reason?: string
  /** Records on which a --where expression could not be evaluated. */
  readonly whereErrors?: number
}
