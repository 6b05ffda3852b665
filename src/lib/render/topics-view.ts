import type {DiscoveredTopic} from '../dead-letter/discover/model.ts'
import {formatCount} from './numbers.ts'
import {formatAge, formatDuration, formatTimestamp} from './time.ts'
import type {Column, RenderContext, View} from './view.ts'

function time(epochMs: string | null, {width, nowMs}: RenderContext): string | null {
  if (epochMs === null) return null
  return width === null ? formatTimestamp(epochMs) : formatAge(epochMs, nowMs)
}

/** The tightest limit of a topic: its own, or that of the records it points to. */
function headroomOf({expiry}: DiscoveredTopic): {readonly ms: number; readonly of: string} | null {
  if (expiry === undefined) return null
  const origins = expiry.origins.map(({topic, headroomMs}) => ({ms: headroomMs, of: topic}))
  const known = [{ms: expiry.headroomMs, of: ''}, ...origins].flatMap(({ms, of}) => (ms === null ? [] : [{ms, of}]))
  return known.toSorted((a, b) => a.ms - b.ms)[0] ?? null
}

function headroomText(topic: DiscoveredTopic): string | null {
  const tightest = headroomOf(topic)
  if (tightest === null) return topic.expiry === undefined ? null : 'never'
  const text = tightest.ms < 0 ? 'any time' : formatDuration(tightest.ms)
  return tightest.of === '' ? text : `${text} (${tightest.of})`
}

const listed = (values: readonly string[]): string | null => (values.length === 0 ? null : values.join(', '))

const columns: readonly Column<DiscoveredTopic>[] = [
  {name: 'topic', header: 'TOPIC', text: ({topic}) => topic, tone: () => 'name'},
  {name: 'kind', header: 'KIND', text: ({kind}) => kind, priority: 6},
  {name: 'origin', header: 'ORIGIN', text: ({origins}) => listed(origins), minWidth: 8, priority: 9},
  {name: 'owner', header: 'OWNER', text: ({owners}) => listed(owners), minWidth: 12, priority: 8},
  {name: 'dialect', header: 'DIALECT', text: ({dialects}) => listed(dialects), minWidth: 8, priority: 5},
  {name: 'partitions', header: 'PARTITIONS', align: 'right', text: ({partitions}) => `${partitions}`, priority: 1},
  {
    name: 'depth',
    header: 'DEPTH',
    align: 'right',
    text: ({depth}) => `${depth}`,
    display: ({depth}) => formatCount(depth),
  },
  {
    name: 'last-hour',
    header: 'LAST HOUR',
    align: 'right',
    text: ({growth}) => (growth === undefined ? null : `${growth.lastHour}`),
    display: ({growth}) => (growth === undefined ? null : formatCount(growth.lastHour)),
    tone: ({growth}) => ((growth?.lastHour ?? 0) > 0 ? 'bad' : 'good'),
    priority: 4,
  },
  {
    name: 'last-day',
    header: 'LAST DAY',
    align: 'right',
    text: ({growth}) => (growth === undefined ? null : `${growth.lastDay}`),
    display: ({growth}) => (growth === undefined ? null : formatCount(growth.lastDay)),
    priority: 2,
  },
  {
    name: 'oldest',
    header: 'OLDEST',
    text: ({oldest}) => (oldest === null ? null : formatTimestamp(oldest)),
    display: ({oldest}, context) => time(oldest, context),
    priority: 3,
  },
  {
    name: 'newest',
    header: 'NEWEST',
    text: ({newest}) => (newest === null ? null : formatTimestamp(newest)),
    display: ({newest}, context) => time(newest, context),
    priority: 7,
  },
  {
    name: 'headroom',
    header: 'HEADROOM',
    text: headroomText,
    tone: topic => ((headroomOf(topic)?.ms ?? 0) < 0 ? 'bad' : 'good'),
    minWidth: 10,
    priority: 7,
  },
  {name: 'found-by', header: 'FOUND BY', text: ({sources}) => listed(sources), priority: 0},
  {
    name: 'warnings',
    header: 'WARNINGS',
    text: ({warnings}) => listed(warnings),
    tone: () => 'warn',
    minWidth: 12,
    priority: 10,
  },
]

/** Topics of `kdlq topics`. */
export const topicsView: View<DiscoveredTopic> = {
  list: 'topics',
  toJson: topic => topic,
  columns,
  defaultColumns: [
    'topic',
    'kind',
    'origin',
    'owner',
    'dialect',
    'depth',
    'last-hour',
    'newest',
    'headroom',
    'warnings',
  ],
  wideColumns: columns.map(({name}) => name),
}
