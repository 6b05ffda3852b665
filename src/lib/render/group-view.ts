import type {Change} from '../dead-letter/baseline.ts'
import type {FailureGroup} from '../dead-letter/group.ts'
import type {GroupKey} from '../dead-letter/group-keys.ts'
import {simpleName} from './dead-letter-view.ts'
import {formatBytes, formatCount, formatShare} from './numbers.ts'
import {formatAge, formatTimestamp} from './time.ts'
import type {Tone} from './paint.ts'
import type {Column, RenderContext, View} from './view.ts'

/** A group, compared with a baseline if one was given. */
export interface GroupRow extends FailureGroup {
  /** Against the baseline. */
  readonly change?: Change
  /** Records at the baseline. */
  readonly before?: number
}

/** Root cause if one is known, else the exception. */
const causeOf = ({sample: {cause, exception}}: GroupRow): string | null => cause ?? exception

/** The exception around the root cause; null when there is none. */
const wrapperOf = ({sample: {cause, exception}}: GroupRow): string | null =>
  cause === null || cause === exception ? null : exception

const TONES: Readonly<Record<string, Tone>> = {transient: 'good', 'needs-fix': 'warn', never: 'bad', mixed: 'warn'}

const CLASS_WORDS: readonly string[] = ['exception', 'cause', 'class', 'wrapper', 'component']

/** What a group has under a word of `--by`, as text; null where unknown. */
export function byValue({by}: Pick<GroupRow, 'by'>, word: GroupKey): string | null {
  const value = by[word]
  return value === undefined || value === null ? null : `${value}`
}

/** Short name of a group: its values, and what it is about when they are ids. */
export function groupLabel(group: GroupRow, by: readonly GroupKey[]): string {
  const values = by.map(word => {
    const value = byValue(group, word) ?? 'unknown'
    return CLASS_WORDS.includes(word) ? simpleName(value) : value
  })
  const cause = causeOf(group)
  const isId = by.includes('fingerprint') || by.includes('kind')
  return [...values, ...(isId && cause !== null ? [simpleName(cause)] : [])].join(' ')
}

function seen(epochMs: string | null, {width, nowMs}: RenderContext): string | null {
  if (epochMs === null) return null
  return width === null ? formatTimestamp(epochMs) : formatAge(epochMs, nowMs)
}

function byColumn(word: GroupKey): Column<GroupRow> {
  const value = (group: GroupRow): string | null => byValue(group, word)
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

const VERDICT: Column<GroupRow> = {
  name: 'verdict',
  header: 'VERDICT',
  text: ({verdict}) => verdict ?? null,
  tone: ({verdict}) => TONES[verdict ?? ''] ?? 'plain',
  priority: 5,
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
    {
      name: 'before',
      header: 'BEFORE',
      align: 'right',
      text: ({before}) => (before === undefined ? null : `${before}`),
      display: ({before}) => (before === undefined ? null : formatCount(before)),
      priority: 2,
    },
    ...(by.includes('verdict') ? [] : [VERDICT]),
    {
      name: 'verdict-reason',
      header: 'WHY',
      text: ({verdictReason}) => verdictReason ?? null,
      minWidth: 16,
      priority: 2,
    },
    {
      name: 'sample-wrapper',
      header: 'WRAPPED IN',
      text: wrapperOf,
      display: (group, {width}) => {
        const wrapper = wrapperOf(group)
        return wrapper === null || width === null ? wrapper : simpleName(wrapper)
      },
      minWidth: 14,
      priority: 1,
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
  const verdict = by.includes('verdict') ? [] : ['verdict']
  const explained = by.includes('fingerprint') ? sample.map(({name}) => name) : []
  const defaultColumns = ['count', 'share', ...change, ...by, ...verdict, ...explained, 'last', 'example']
  return {
    list: 'groups',
    toJson: group => group,
    columns,
    defaultColumns,
    wideColumns: [
      'count',
      'share',
      ...change,
      ...(options.compared ? ['before'] : []),
      ...by,
      ...verdict,
      'verdict-reason',
      ...sample.map(({name}) => name),
      'sample-wrapper',
      'first',
      'last',
      'example',
      'payload-bytes',
      'header-bytes',
    ],
  }
}
