import type {Offset} from '../kafka/record.ts'
import {parseRfc3339, type TimeContext} from './time.ts'
import {badValue, parseUint63} from './usage.ts'
import {parseDuration} from './values.ts'

/** Where a scan begins or ends, before it is resolved for each partition. */
export type Position =
  | {readonly kind: 'start'}
  | {readonly kind: 'end'}
  /** This many offsets before the end, not below the start. */
  | {readonly kind: 'before-end'; readonly offsets: bigint}
  | {readonly kind: 'offset'; readonly offset: Offset}
  /** Epoch ms; `assumedZone` is the zone of a text that named none (say it to the user), else null. */
  | {readonly kind: 'time'; readonly ms: bigint; readonly assumedZone: string | null}
  /** The group's committed offset. */
  | {readonly kind: 'group'; readonly group: string}
  /** End offsets that `stats --save-baseline` wrote. */
  | {readonly kind: 'baseline'; readonly file: string}

const ALLOWED = 'give start, end, end-N, an offset, @TIME (RFC 3339, epoch ms, or @-2h), group:ID or baseline:FILE'

/**
 * The value of `--from` and `--to`.
 * @throws UsageError naming the flag
 */
export function parsePosition(text: string, flag: string, context: TimeContext): Position {
  if (text === 'start' || text === 'end') return {kind: text}
  if (text.startsWith('@')) return parseTime(text.slice(1), text, flag, context)
  if (text.startsWith('group:') && text.length > 6) return {kind: 'group', group: text.slice(6)}
  if (text.startsWith('baseline:') && text.length > 9) return {kind: 'baseline', file: text.slice(9)}
  const offsets = text.startsWith('end-') ? parseUint63(text.slice(4)) : null
  if (offsets !== null) return {kind: 'before-end', offsets}
  const offset = parseUint63(text)
  if (offset !== null) return {kind: 'offset', offset}
  const time = parseRfc3339(text, context) === null ? [] : [`a time begins with @: @${text}`]
  throw badValue(flag, text, ALLOWED, time)
}

/**
 * The value of `--since` and `--until`: a duration before now, or a time with or without `@`.
 * @throws UsageError naming the flag
 */
export function parseSince(text: string, flag: string, context: TimeContext): Position {
  if (text.startsWith('@')) return parseTime(text.slice(1), text, flag, context)
  const time = parseRfc3339(text, context)
  if (time !== null) return {kind: 'time', ...time}
  return ago(text, flag, context)
}

/** Not before the epoch: no record is older. */
function ago(duration: string, flag: string, {now}: TimeContext): Position {
  return {kind: 'time', ms: BigInt(Math.max(0, now - parseDuration(duration, flag))), assumedZone: null}
}

function parseTime(time: string, text: string, flag: string, context: TimeContext): Position {
  if (time.startsWith('-')) return ago(time.slice(1), flag, context)
  const ms = parseUint63(time)
  if (ms !== null) return {kind: 'time', ms, assumedZone: null}
  const parsed = parseRfc3339(time, context)
  if (parsed === null) throw badValue(flag, text, 'give @2026-03-09T14:00:00Z, @1773064800000 (epoch ms) or @-2h')
  return {kind: 'time', ...parsed}
}

/** Text that `parsePosition` reads as the same place, whatever the clock and zone then say. */
export function formatPosition(position: Position): string {
  switch (position.kind) {
    case 'start':
    case 'end':
      return position.kind
    case 'before-end':
      return `end-${position.offsets}`
    case 'offset':
      return String(position.offset)
    case 'time':
      return position.ms >= 0n ? `@${position.ms}` : `@${new Date(Number(position.ms)).toISOString()}`
    case 'group':
      return `group:${position.group}`
    case 'baseline':
    default:
      return `baseline:${position.file}`
  }
}
