import type {TopicDescription} from '../../kafka/ports.ts'
import type {DeadLetter} from '../model.ts'
import type {Expiry} from './expiry.ts'
import type {Owner, OwnerWarning} from './owners.ts'
import type {PartitionBounds} from './peek.ts'
import type {TopicName} from './topic-names.ts'

/** How a topic was found. */
export type DiscoverySource = 'name' | 'headers' | 'connect' | 'share-group'

/** What is wrong with a dead letter topic, or will be. */
export type TopicWarning =
  | OwnerWarning
  /** A configuration names it, and it is not there. */
  | 'missing'
  /** Dead letters of one key overwrite each other. */
  | 'compacted'
  /** Retention may delete dead letters at any time. */
  | 'expiring'
  /** Retention has deleted, or may delete at any time, records that dead letters point to. */
  | 'origins-expiring'
  /** It is named like one, and its newest records carry no error headers that kdlq knows. */
  | 'no-error-headers'
  /** A share group names it, and the switch `errors.deadletterqueue.group.enable` of the topic is off: its records are lost. */
  | 'share-group-switch-off'
  /** The cluster did not say how it is configured. */
  | 'configuration-unknown'

/** One topic of `kdlq topics`. JSON as it is. */
export interface DiscoveredTopic {
  readonly topic: string
  readonly kind: 'dead-letter' | 'retry'
  readonly sources: readonly DiscoverySource[]
  readonly owners: readonly string[]
  /** Topics where its dead letters failed first: as records, configurations and its name tell. */
  readonly origins: readonly string[]
  /** Header families of the records looked at. */
  readonly dialects: readonly string[]
  readonly partitions: number
  /** Offsets between its beginnings and its ends: an upper bound of its records. */
  readonly depth: number
  /** Record times, epoch ms; null = empty or not looked at. */
  readonly oldest: string | null
  readonly newest: string | null
  /** Offsets behind the first record of the last hour and of the last day, by record time. */
  readonly growth?: {readonly lastHour: number; readonly lastDay: number}
  readonly expiry?: Expiry
  readonly warnings: readonly TopicWarning[]
}

/** A topic that was found, before more is asked about it. */
export interface Candidate {
  readonly topic: string
  readonly description: TopicDescription | null
  readonly name: TopicName | null
  readonly owners: readonly Owner[]
  readonly bounds: readonly PartitionBounds[]
  /** Newest records. */
  readonly letters: readonly DeadLetter[]
}

/** A weak signature finds nothing by itself. */
export function isTold({failure}: DeadLetter): boolean {
  return failure.dialect !== 'none' && failure.warnings?.includes('weak_signature') !== true
}
