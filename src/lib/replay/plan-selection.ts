import type {FrozenRange, FrozenSelection} from '../select/selection.ts'
import type {PlanRange, ReplayPlan} from './plan.ts'

/** A frozen range as a plan holds it. @param selected dead letters of it that the plan means */
export function toPlanRange(range: FrozenRange, selected: number): PlanRange {
  return {
    topic: range.topic,
    topicId: range.topicId,
    partition: range.partition,
    from: String(range.from),
    to: String(range.to ?? range.from),
    fromTime: range.fromTimeMs === null ? null : String(range.fromTimeMs),
    toTime: range.toTimeMs === null ? null : String(range.toTimeMs),
    selected,
  }
}

/** What a plan selects, to be read again; its own includes and excludes are not part of it. */
export function toFrozenSelection({isolationLevel, ranges, filters}: ReplayPlan['source']): FrozenSelection {
  return {
    ranges: ranges.map(range => ({
      topic: range.topic,
      topicId: range.topicId,
      partition: range.partition,
      from: BigInt(range.from),
      to: BigInt(range.to),
      fromTimeMs: range.fromTime === null ? null : BigInt(range.fromTime),
      toTimeMs: range.toTime === null ? null : BigInt(range.toTime),
      incomplete: null,
    })),
    limit: null,
    tail: null,
    isolationLevel,
    filters,
    follow: false,
  }
}

/** Names one range of a selection: a partition may have several. */
export function rangeKey({topic, partition, from}: {topic: string; partition: number; from: bigint | string}): string {
  return `${topic}:${partition}:${from}`
}

/** End the ranges where the limit was reached, so that the plan means exactly these records. */
export function cutRanges(
  ranges: readonly PlanRange[],
  last: {readonly range: string; readonly offset: bigint},
): readonly PlanRange[] {
  const index = ranges.findIndex(range => rangeKey(range) === last.range)
  return ranges
    .slice(0, index + 1)
    .map(range => (rangeKey(range) === last.range ? {...range, to: String(last.offset + 1n)} : range))
}
