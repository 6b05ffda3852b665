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
