import type {HistogramBucket} from '../dead-letter/histogram.ts'
import type {PartitionScan} from '../dead-letter/model.ts'
import type {RecordBytes} from '../dead-letter/dead-letter.ts'
import type {GroupKey} from '../dead-letter/group-keys.ts'
import {byValue, groupLabel, type GroupRow} from './group-view.ts'
import {escapeHtml, htmlPage, htmlTable} from './html.ts'
import {formatBytes, formatCount, formatShare, plural} from './numbers.ts'
import {formatTimestamp} from './time.ts'

/** What the page of `stats --html` shows. */
export interface StatsPage {
  readonly sources: readonly string[]
  readonly by: readonly GroupKey[]
  readonly groups: readonly GroupRow[]
  /** Groups that are not on the page. */
  readonly hiddenGroups: number
  readonly total: number
  readonly ungrouped: number
  readonly undescribed: number
  readonly withoutTimestamp: number
  readonly histogram: readonly HistogramBucket[]
  readonly bytes: RecordBytes
  readonly scanned: readonly PartitionScan[]
  readonly warnings: readonly string[]
  /** Epoch ms. */
  readonly nowMs: number
}

/** The answer of `stats` as one page: chart over time, groups with their bars, what was read. Pure. */
export function renderStatsPage(page: StatsPage): string {
  const names = page.sources.join(', ')
  return htmlPage(`Dead letters of ${names}`, [
    `<h1>Dead letters of ${escapeHtml(names)}</h1>`,
    `<p class="facts">${escapeHtml(facts(page).join(' · '))}</p>`,
    ...page.warnings.map(warning => `<p class="warn">Warning: ${escapeHtml(warning)}</p>`),
    ...timeSection(page.histogram),
    '<h2>Groups</h2>',
    page.groups.length === 0 ? '<p>No dead letter matches.</p>' : groupTable(page),
    '<h2>What was read</h2>',
    scanTable(page.scanned),
  ])
}

function facts(page: StatsPage): readonly string[] {
  const {total, bytes, ungrouped, undescribed, withoutTimestamp, hiddenGroups, nowMs} = page
  return [
    `written ${formatTimestamp(`${nowMs}`)}`,
    plural(total, 'record'),
    plural(page.groups.length + hiddenGroups, 'group'),
    `payload ${formatBytes(bytes.key + bytes.value)}`,
    `headers ${formatBytes(bytes.headers)}`,
    ...(hiddenGroups > 0 ? [`${plural(hiddenGroups, 'group')} not shown`] : []),
    ...(ungrouped > 0 ? [`${plural(ungrouped, 'record')} in no group`] : []),
    ...(undescribed > 0 ? [`${plural(undescribed, 'record')} without known error headers`] : []),
    ...(withoutTimestamp > 0 ? [`${plural(withoutTimestamp, 'record')} without a time`] : []),
  ]
}

/** Columns of one bucket in the picture, the gap included. */
const STEP = 10
const HEIGHT = 100

function timeSection(histogram: readonly HistogramBucket[]): readonly string[] {
  const [first, last] = [histogram[0], histogram.at(-1)]
  if (first === undefined || last === undefined) return []
  const most = Math.max(...histogram.map(({count}) => count))
  const bars = histogram.map(({from, to, count}, index) => {
    const height = count === 0 ? 0 : Math.max(1, (count / most) * HEIGHT)
    const title = `${formatTimestamp(from)} to ${formatTimestamp(to)}: ${plural(count, 'record')}`
    const place = `x="${index * STEP}" y="${(HEIGHT - height).toFixed(2)}" width="${STEP - 1}" height="${height.toFixed(2)}"`
    return `<rect class="bucket" ${place}><title>${escapeHtml(title)}</title></rect>`
  })
  const span = `${formatTimestamp(first.from)} to ${formatTimestamp(last.to)}`
  return [
    '<h2>Over time</h2>',
    `<p class="facts">At most ${escapeHtml(plural(most, 'record'))} in one bar; record time, UTC.</p>`,
    `<svg class="time" role="img" aria-labelledby="time-title" viewBox="0 0 ${histogram.length * STEP} ${HEIGHT}" preserveAspectRatio="none">`,
    `<title id="time-title">${escapeHtml(`Dead letters over time, ${span}`)}</title>`,
    ...bars,
    '</svg>',
    `<div class="ends"><span>${escapeHtml(formatTimestamp(first.from))}</span><span>${escapeHtml(formatTimestamp(last.to))}</span></div>`,
    '<details><summary>The same as numbers</summary>',
    htmlTable({
      caption: 'Records by time',
      headers: ['From', 'To', 'Records'],
      numeric: [2],
      rows: histogram.map(({from, to, count}) =>
        [formatTimestamp(from), formatTimestamp(to), formatCount(count)].map(escapeHtml),
      ),
    }),
    '</details>',
  ]
}

function groupTable({by, groups}: StatsPage): string {
  const isCompared = groups.some(({change}) => change !== undefined)
  const most = Math.max(1, ...groups.map(({count}) => count))
  return htmlTable({
    caption: 'Largest first',
    headers: [
      'Records',
      'Share',
      'Bar',
      ...(isCompared ? ['Change'] : []),
      'Verdict',
      ...by,
      'Stage',
      'Exception',
      'Message',
      'First and last',
      'Example',
    ],
    numeric: [0, 1],
    rows: groups.map(group => {
      const {sample} = group
      return [
        escapeHtml(formatCount(group.count)),
        escapeHtml(formatShare(group.share)),
        shareBar(group, by, most),
        ...(isCompared ? [changeCell(group)] : []),
        verdictCell(group),
        ...by.map(word => escapeHtml(byValue(group, word) ?? 'unknown')),
        escapeHtml(sample.stage ?? ''),
        // A long name breaks at its dots first.
        escapeHtml(sample.cause ?? sample.exception ?? '').replaceAll('.', '.<wbr>'),
        escapeHtml(sample.causeMessage ?? sample.message ?? ''),
        [group.firstSeen, group.lastSeen].map(time).join(''),
        group.example === '' ? '' : `<code>${escapeHtml(group.example)}</code>`,
      ]
    }),
  })
}

function time(epochMs: string | null): string {
  return epochMs === null ? '' : `<time>${escapeHtml(formatTimestamp(epochMs))}</time>`
}

function shareBar(group: GroupRow, by: readonly GroupKey[], most: number): string {
  const width = ((group.count / most) * 100).toFixed(2)
  const title = `${groupLabel(group, by)}: ${plural(group.count, 'record')}, ${formatShare(group.share)}`
  return `<svg class="share" role="img" viewBox="0 0 100 10" preserveAspectRatio="none"><title>${escapeHtml(title)}</title><rect class="group" width="${width}" height="10"></rect></svg>`
}

function changeCell({change, before}: GroupRow): string {
  if (change === undefined) return ''
  const tone = change === 'new' || change === 'grown' ? 'bad' : 'good'
  const count = before === undefined ? '' : `, was ${formatCount(before)}`
  return `<span class="${tone}">${escapeHtml(change + count)}</span>`
}

const TONES: Readonly<Record<string, string>> = {transient: 'good', 'needs-fix': 'warn', never: 'bad'}

function verdictCell({verdict, verdictReason}: GroupRow): string {
  if (verdict === undefined) return ''
  const reason = verdictReason === undefined ? '' : `: ${verdictReason}`
  return `<span class="${TONES[verdict] ?? 'warn'}">${escapeHtml(verdict)}</span>${escapeHtml(reason)}`
}

function scanTable(scanned: readonly PartitionScan[]): string {
  return htmlTable({
    caption: 'Partitions and offsets; the end is not included',
    headers: ['Topic', 'Partition', 'From', 'To', 'Records', 'Read'],
    numeric: [1, 2, 3, 4],
    rows: scanned.map(({topic, partition, from, to, records, complete, reason}) =>
      [topic, `${partition}`, from, to, formatCount(records), complete ? 'whole' : (reason ?? 'not whole')].map(
        escapeHtml,
      ),
    ),
  })
}
