import {letterBytes} from './dead-letter.ts'
import type {RecordBytes} from './dead-letter.ts'
import {createGrouper} from './group.ts'
import type {FailureGroup, GrouperOptions} from './group.ts'
import type {GroupKey} from './group-keys.ts'
import {createHistogram} from './histogram.ts'
import type {HistogramBucket} from './histogram.ts'
import type {DeadLetter} from './model.ts'

/** What `stats` tells about a stream of dead letters; JSON as it is. */
export interface DeadLetterStatistics {
  readonly groups: readonly FailureGroup[]
  readonly total: number
  /** Records of groups beyond the bound of groups; part of total. */
  readonly ungrouped: number
  readonly histogram: readonly HistogramBucket[]
  /** Records without a timestamp: in no bucket. */
  readonly withoutTimestamp: number
  /** Records of which no header family is known: no origin, no reason. */
  readonly undescribed: number
  /** Payload (key, value) apart from headers, which errors inflate. */
  readonly bytes: RecordBytes
}

export interface StatisticsCollector {
  add(deadLetter: DeadLetter): void
  report(): DeadLetterStatistics
}

export interface StatisticsOptions extends GrouperOptions {
  readonly by: readonly GroupKey[]
  /** Bound of histogram buckets, at least 2; default 48. */
  readonly maxBuckets?: number
}

/**
 * Collects groups, a histogram over record time and byte totals in one pass and bounded memory.
 * @throws RangeError without a word to group by, or with a bound below its minimum
 */
export function createStatistics({by, maxBuckets, ...options}: StatisticsOptions): StatisticsCollector {
  const grouper = createGrouper(by, options)
  const histogram = createHistogram(maxBuckets)
  let withoutTimestamp = 0
  let undescribed = 0
  let key = 0
  let value = 0
  let headers = 0
  return {
    add(deadLetter) {
      const {record} = deadLetter
      grouper.add(deadLetter)
      if (record.timestamp === null) withoutTimestamp++
      else histogram.add(record.timestamp)
      if (deadLetter.failure.dialect === 'none') undescribed++
      const bytes = letterBytes(deadLetter)
      key += bytes.key
      value += bytes.value
      headers += bytes.headers
    },
    report: () => ({
      ...grouper.report(),
      histogram: histogram.buckets(),
      withoutTimestamp,
      undescribed,
      bytes: {key, value, headers},
    }),
  }
}
