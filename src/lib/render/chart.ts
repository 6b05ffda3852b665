import type {HistogramBucket} from '../dead-letter/histogram.ts'
import {formatCount, formatShare} from './numbers.ts'
import {sanitize} from './sanitize.ts'
import {formatTimestamp} from './time.ts'
import type {RenderContext} from './view.ts'
import {cutToWidth, displayWidth} from './width.ts'

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
/** Columns where the output has no width. */
const DEFAULT_WIDTH = 80

/** Counts over time, one line a bucket: start of the bucket in UTC, bar, count. */
export function* renderHistogram(buckets: readonly HistogramBucket[], context: RenderContext): Generator<string> {
  const rows = joinBuckets(buckets, CHART_LINES)
  const [first] = rows
  if (first === undefined) return
  const most = Math.max(...rows.map(({count}) => count))
  const countWidth = formatCount(most).length
  const labels = rows.map(({from}) => shortTime(from, BigInt(first.to) - BigInt(first.from)))
  const labelWidth = Math.max(...labels.map(({length}) => length))
  const room = Math.max(10, Math.min(60, (context.width ?? DEFAULT_WIDTH) - labelWidth - countWidth - 4))
  for (const [index, {count}] of rows.entries()) {
    const drawn = bar(count, most, room, context.unicode)
    yield (
      `${(labels[index] ?? '').padEnd(labelWidth)}  ${formatCount(count).padStart(countWidth)}  ${context.paint('bar', drawn)}`.trimEnd() +
      '\n'
    )
  }
}

/** One bar of a chart of groups. */
export interface Bar {
  /** Hostile text. */
  readonly label: string
  readonly count: number
  /** 0 to 1 */
  readonly share: number
}

/** Most bars on a terminal. */
const MOST_BARS = 10

/** The largest of some counts, one line each: label, count, share, bar. Nothing for one alone. */
export function* renderBars(bars: readonly Bar[], context: RenderContext): Generator<string> {
  const rows = bars.slice(0, MOST_BARS)
  if (rows.length < 2) return
  const width = context.width ?? DEFAULT_WIDTH
  const most = Math.max(...rows.map(({count}) => count))
  const marker = context.unicode ? '…' : '~'
  const labels = rows.map(({label}) =>
    cutToWidth(sanitize(label, {ascii: !context.unicode}), Math.max(10, Math.floor(width * 0.4)), marker),
  )
  const labelWidth = Math.max(...labels.map(displayWidth))
  const countWidth = formatCount(most).length
  const shares = rows.map(({share}) => formatShare(share))
  const shareWidth = Math.max(...shares.map(({length}) => length))
  const room = Math.max(4, Math.min(60, width - labelWidth - countWidth - shareWidth - 6))
  for (const [index, {count}] of rows.entries()) {
    const label = labels[index] ?? ''
    const padding = ' '.repeat(labelWidth - displayWidth(label))
    const numbers = `${formatCount(count).padStart(countWidth)}  ${(shares[index] ?? '').padStart(shareWidth)}`
    const drawn = context.paint('bar', bar(count, most, room, context.unicode))
    yield `${context.paint('name', label)}${padding}  ${numbers}  ${drawn}`.trimEnd() + '\n'
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
