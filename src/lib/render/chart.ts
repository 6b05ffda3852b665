import type {HistogramBucket} from '../dead-letter/histogram.ts'
import {formatCount} from './numbers.ts'
import {formatTimestamp} from './time.ts'
import type {RenderContext} from './view.ts'

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const

/**
 * A bar of at most `width` columns for value out of most; whole `#` without Unicode, eighths of a block with it. A value
 * above zero always shows.
 */
export function bar(value: number, most: number, width: number, unicode: boolean): string {
  if (value <= 0 || most <= 0) return ''
  const share = Math.min(1, value / most)
  if (!unicode) return '#'.repeat(Math.max(1, Math.round(share * width)))
  const eighths = Math.max(1, Math.round(share * width * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '')
}

/** Most lines of a histogram on a terminal. */
const CHART_LINES = 24

/** Counts over time, one line a bucket: start of the bucket in UTC, bar, count. */
export function* renderHistogram(buckets: readonly HistogramBucket[], context: RenderContext): Generator<string> {
  const rows = joinBuckets(buckets, CHART_LINES)
  const [first] = rows
  if (first === undefined) return
  const most = Math.max(...rows.map(({count}) => count))
  const countWidth = formatCount(most).length
  const labels = rows.map(({from}) => shortTime(from, BigInt(first.to) - BigInt(first.from)))
  const labelWidth = Math.max(...labels.map(({length}) => length))
  const room = Math.max(10, Math.min(60, (context.width ?? 80) - labelWidth - countWidth - 4))
  for (const [index, {count}] of rows.entries()) {
    const drawn = bar(count, most, room, context.unicode)
    yield (
      `${(labels[index] ?? '').padEnd(labelWidth)}  ${formatCount(count).padStart(countWidth)}  ${context.paint('bar', drawn)}`.trimEnd() +
      '\n'
    )
  }
}

/** Joins neighbours until at most `most` are left; counts are kept. */
export function joinBuckets(buckets: readonly HistogramBucket[], most: number): readonly HistogramBucket[] {
  const size = Math.ceil(buckets.length / most)
  if (size <= 1) return buckets
  const joined: HistogramBucket[] = []
  for (let start = 0; start < buckets.length; start += size) {
    const part = buckets.slice(start, start + size)
    const [first, last] = [part[0], part.at(-1)]
    if (first === undefined || last === undefined) continue
    joined.push({from: first.from, to: last.to, count: part.reduce((sum, {count}) => sum + count, 0)})
  }
  return joined
}

/** As much of the time as the width of the buckets needs. */
function shortTime(epochMs: string, widthMs: bigint): string {
  const text = formatTimestamp(epochMs)
  if (!text.endsWith('Z')) return text
  const [date = '', clock = ''] = text.split('T')
  if (widthMs >= 86_400_000n) return date
  if (widthMs >= 60_000n) return `${date} ${clock.slice(0, 5)}`
  return widthMs >= 1000n ? `${date} ${clock.slice(0, 8)}` : `${date} ${clock.slice(0, 12)}`
}
