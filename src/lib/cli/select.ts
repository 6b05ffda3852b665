import {existsSync} from 'node:fs'
import {UsageError} from '../errors.ts'
import type {IsolationLevel} from '../kafka/ports.ts'
import {toFilterSpec} from '../select/filter-spec.ts'
import {parsePartitions} from '../select/partitions.ts'
import {parsePosition, parseSince, type Position} from '../select/position.ts'
import type {Selection} from '../select/selection.ts'
import {type ArchiveSource, isArchiveSource, parseSource, type Source, type TopicSource} from '../select/source.ts'

/** Values of `selectionFlags` and `filterFlags`; absent flags are undefined. */
export interface SelectionFlags {
  readonly partition?: readonly string[] | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly limit?: number | undefined
  readonly tail?: number | undefined
  readonly 'isolation-level'?: IsolationLevel | undefined
  readonly 'skip-bad-lines'?: boolean | undefined
  readonly follow?: boolean | undefined
}

/** Where the records are, and which of them. */
export interface Request {
  /** Archives to open; empty = a cluster. */
  readonly archives: readonly ArchiveSource[]
  readonly selection: Selection
  /** Zone that was taken for times without one; null when every time named its own. */
  readonly assumedZone: string | null
  readonly skipBadLines: boolean
}

export interface SelectDeps {
  /** Epoch ms. */
  readonly now: number
  readonly timeZone?: string
  readonly exists?: (path: string) => boolean
}

/**
 * Sources and flags as a selection; pure but for looking whether a file exists.
 * @throws UsageError for a source or value that is none, and for topics mixed with archives
 */
export function toRequest(
  sources: readonly string[],
  flags: SelectionFlags & Readonly<Record<string, unknown>>,
  deps: SelectDeps,
): Request {
  const parsed = sources.map(text => parseSource(text, {exists: deps.exists ?? existsSync}))
  const archives = parsed.filter(isArchiveSource)
  const topics = parsed.filter(isTopicSource)
  if (archives.length > 0 && topics.length > 0) {
    throw new UsageError('topics and archives cannot be read together', {
      hints: ['run the command once for each, or export the topic first'],
    })
  }
  const time = {
    now: deps.now,
    // Asked for only when a time is given: loading the zones takes 15 ms.
    get timeZone(): string {
      return deps.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
    },
  }
  const from = bound(flags.from, flags.since, {kind: 'start'}, 'from', 'since', time)
  const to = bound(flags.to, flags.until, {kind: 'end'}, 'to', 'until', time)
  const zones = [from, to].flatMap(position =>
    position.kind === 'time' && position.assumedZone !== null ? [position.assumedZone] : [],
  )
  return {
    archives,
    assumedZone: zones[0] ?? null,
    skipBadLines: flags['skip-bad-lines'] === true,
    selection: {
      sources: archives.length > 0 ? [{kind: 'all'}] : topics,
      partitions:
        flags.partition === undefined || flags.partition.length === 0 ? null : parsePartitions(flags.partition),
      from,
      to,
      limit: flags.limit === undefined || flags.limit === 0 ? null : flags.limit,
      tail: flags.tail ?? null,
      isolationLevel: flags['isolation-level'] ?? 'read_committed',
      filters: toFilterSpec(flags),
      follow: flags.follow === true,
    },
  }
}

function isTopicSource(source: Source): source is TopicSource {
  return !isArchiveSource(source)
}

function bound(
  position: string | undefined,
  age: string | undefined,
  fallback: Position,
  positionFlag: string,
  ageFlag: string,
  time: {readonly now: number; readonly timeZone: string},
): Position {
  if (position !== undefined) return parsePosition(position, `--${positionFlag}`, time)
  if (age !== undefined) return parseSince(age, `--${ageFlag}`, time)
  return fallback
}
