import type {FailureGroup} from '../dead-letter/group.ts'
import type {GroupKey} from '../dead-letter/group-keys.ts'
import {simpleName} from './dead-letter-view.ts'
import {formatBytes, formatCount, formatShare} from './numbers.ts'
import {formatAge, formatTimestamp} from './time.ts'
import type {Column, RenderContext, View} from './view.ts'

/** A group, compared with a baseline if one was given. */
export interface GroupRow extends FailureGroup {
  /** Against the baseline: a group that was not there, has more records, as many or fewer, or has none any more. */
  readonly change?: 'new' | 'grown' | 'same' | 'gone'
}

/** Root cause if one is known, else the exception. */
const causeOf = ({sample: {cause, exception}}: GroupRow): string | null => cause ?? exception

const CLASS_WORDS: readonly string[] = ['exception', 'cause', 'component']

function seen(epochMs: string | null, {width, nowMs}: RenderContext): string | null {
  if (epochMs === null) return null
  return width === null ? formatTimestamp(epochMs) : formatAge(epochMs, nowMs)
}

function byColumn(word: GroupKey): Column<GroupRow> {
  const value = ({by}: GroupRow): string | null => (by[word] === undefined || by[word] === null ? null : `${by[word]}`)
  return {
    name: word,
    header: word.toUpperCase(),
    text: value,
    display: (group, {width}) => {
      const text = value(group)
      if (text === null) return 'unknown'
      return width !== null && CLASS_WORDS.includes(word) ? simpleName(text) : text
    },
    tone: () => 'name',
    minWidth: word === 'fingerprint' ? 11 : 10,
  }
}

/** Groups of `stats`, with one column per word of `--by`. */
export function createGroupView(by: readonly GroupKey[], options: {readonly compared: boolean}): View<GroupRow> {
  const sample: readonly Column<GroupRow>[] = [
    {name: 'sample-stage', header: 'STAGE', text: ({sample: {stage}}) => stage, minWidth: 8, priority: 5},
    {
      name: 'sample-exception',
      header: 'EXCEPTION',
      text: causeOf,
      display: (group, {width}) => {
        const name = causeOf(group)
        return name === null || width === null ? name : simpleName(name)
      },
      tone: () => 'bad',
      minWidth: 14,
      priority: 7,
    },
    {
      name: 'sample-message',
      header: 'MESSAGE',
      text: ({sample: {message, causeMessage}}) => causeMessage ?? message,
      minWidth: 16,
      priority: 6,
    },
  ]
  const columns: readonly Column<GroupRow>[] = [
    {
      name: 'count',
      header: 'COUNT',
      align: 'right',
      text: ({count}) => `${count}`,
      display: ({count}) => formatCount(count),
    },
    {
      name: 'share',
      header: 'SHARE',
      align: 'right',
      text: ({share}) => share.toFixed(4),
      display: ({share}) => formatShare(share),
      priority: 4,
    },
    {
      name: 'change',
      header: 'CHANGE',
      text: ({change}) => change ?? null,
      tone: ({change}) => (change === 'new' || change === 'grown' ? 'bad' : 'good'),
    },
    ...by.map(byColumn),
    ...sample,
    {
      name: 'first',
      header: 'FIRST',
      text: ({firstSeen}) => (firstSeen === null ? null : formatTimestamp(firstSeen)),
      display: ({firstSeen}, context) => seen(firstSeen, context),
      priority: 1,
    },
    {
      name: 'last',
      header: 'LAST',
      text: ({lastSeen}) => (lastSeen === null ? null : formatTimestamp(lastSeen)),
      display: ({lastSeen}, context) => seen(lastSeen, context),
      priority: 3,
    },
    {name: 'example', header: 'EXAMPLE', text: ({example}) => example, priority: 8},
    {
      name: 'payload-bytes',
      header: 'PAYLOAD',
      align: 'right',
      text: ({bytes}) => `${bytes.key + bytes.value}`,
      display: ({bytes}) => formatBytes(bytes.key + bytes.value),
      priority: 0,
    },
    {
      name: 'header-bytes',
      header: 'HEADERS',
      align: 'right',
      text: ({bytes}) => `${bytes.headers}`,
      display: ({bytes}) => formatBytes(bytes.headers),
      priority: 0,
    },
  ]
  const change = options.compared ? ['change'] : []
  const explained = by.includes('fingerprint') ? sample.map(({name}) => name) : []
  const defaultColumns = ['count', 'share', ...change, ...by, ...explained, 'last', 'example']
  return {
    list: 'groups',
    toJson: group => group,
    columns,
    defaultColumns,
    wideColumns: [
      'count',
      'share',
      ...change,
      ...by,
      ...sample.map(({name}) => name),
      'first',
      'last',
      'example',
      'payload-bytes',
      'header-bytes',
    ],
  }
}
