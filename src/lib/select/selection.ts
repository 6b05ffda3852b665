import type {IsolationLevel} from '../kafka/ports.ts'
import type {Offset, TopicName} from '../kafka/record.ts'
import type {FilterSpec} from './filter-spec.ts'
import type {PartitionSet} from './partitions.ts'
import type {Position} from './position.ts'
import type {TopicSource} from './source.ts'

/** What was asked for in one cluster or archive, before any offset is known. */
export interface Selection {
  readonly sources: readonly TopicSource[]
  /** Null = all. Applies to topics and patterns; an address names its own. */
  readonly partitions: PartitionSet | null
  /** For each partition; does not apply to addresses. */
  readonly from: Position
  readonly to: Position
  /** Most matching records over all partitions; null = all. */
  readonly limit: number | null
  /** Only the last so many matching records; null = all. */
  readonly tail: number | null
  readonly isolationLevel: IsolationLevel
  readonly filters: FilterSpec
  /** Go on behind the end and never stop: ranges have no end then, unless `to` gives one. */
  readonly follow: boolean
}

/** A selection of everything in these sources; callers override what their flags say. */
export function selectAll(sources: readonly TopicSource[]): Selection {
  return {
    sources,
    partitions: null,
    from: {kind: 'start'},
    to: {kind: 'end'},
    limit: null,
    tail: null,
    isolationLevel: 'read_committed',
    filters: {include: {}, exclude: {}},
    follow: false,
  }
}

/** One partition's share of a selection, with offsets. Ranges of one partition do not overlap. */
export interface FrozenRange {
  readonly topic: TopicName
  /** Null for archives and brokers without topic ids. */
  readonly topicId: string | null
  readonly partition: number
  readonly from: Offset
  /** Exclusive; null = follow. */
  readonly to: Offset | null
  /** Records with an earlier timestamp are dropped; -1 (none) is earlier than every time. Null = no bound. */
  readonly fromTimeMs: bigint | null
  /** Records with this or a later timestamp are dropped. Null = no bound. */
  readonly toTimeMs: bigint | null
  /** Why this range ends before what was asked for; null when it does not. */
  readonly incomplete: 'open-transaction' | 'unavailable' | null
}

/** A selection with its sources and positions resolved: reads the same records whenever it is read (but for retention). */
export interface FrozenSelection {
  /** By topic, partition, offset. */
  readonly ranges: readonly FrozenRange[]
  readonly limit: number | null
  readonly tail: number | null
  readonly isolationLevel: IsolationLevel
  readonly filters: FilterSpec
  readonly follow: boolean
}
