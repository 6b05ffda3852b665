/** Points in time as flags take them. */

/** What a time is read against: injected, so that the same text means the same in a test. */
export interface TimeContext {
  /** Epoch ms that `@-2h` counts from. */
  readonly now: number
  /** IANA zone of times without a zone, e.g. `America/Sao_Paulo`. */
  readonly timeZone: string
}

export interface ParsedTime {
  /** Epoch ms. */
  readonly ms: bigint
  /** The zone that was taken because the text names none; null when it did. */
  readonly assumedZone: string | null
}

const RFC_3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?)?$/

/**
 * RFC 3339, also without zone, seconds or time of day (midnight): what is not said is taken from the context's zone.
 * A local time that a clock change skips means the moment that much later; one that happens twice means the first.
 * @returns null when the text is no such time or no such day exists
 */
export function parseRfc3339(text: string, context: Pick<TimeContext, 'timeZone'>): ParsedTime | null {
  const match = RFC_3339.exec(text)
  if (match === null) return null
  const field = (index: number): number => Number(match[index] ?? '0')
  const [hour, minute, second] = [field(4), field(5), field(6)]
  // Digits behind the millisecond are cut: a Kafka timestamp has none.
  const ms = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  // RFC 3339 knows the leap second 23:59:60; Kafka's clock does not.
  if (hour > 23 || minute > 59 || second > 60) return null
  const date = new Date(0)
  date.setUTCFullYear(field(1), field(2) - 1, field(3))
  if (date.getUTCMonth() !== field(2) - 1 || date.getUTCDate() !== field(3)) return null
  const wall = date.getTime() + hour * 3_600_000 + minute * 60_000 + Math.min(second, 59) * 1000 + ms
  const zone = match[8]
  if (zone === undefined) return {ms: BigInt(fromWallClock(wall, context.timeZone)), assumedZone: context.timeZone}
  if (zone === 'Z' || zone === 'z') return {ms: BigInt(wall), assumedZone: null}
  const [zoneHour, zoneMinute] = [Number(zone.slice(1, 3)), Number(zone.slice(4, 6))]
  if (zoneHour > 23 || zoneMinute > 59) return null
  const ahead = (zoneHour * 60 + zoneMinute) * 60_000
  return {ms: BigInt(zone.startsWith('-') ? wall + ahead : wall - ahead), assumedZone: null}
}

/** @param wall the clock on the wall, as if it were UTC ms */
function fromWallClock(wall: number, timeZone: string): number {
  const day = 86_400_000
  const before = zoneOffset(wall - day, timeZone)
  const after = zoneOffset(wall + day, timeZone)
  // The earlier of two readings is the one with the larger offset; a skipped time keeps the offset from before the change.
  const candidates = [wall - Math.max(before, after), wall - Math.min(before, after)]
  return candidates.find(ms => ms + zoneOffset(ms, timeZone) === wall) ?? wall - before
}

/** Milliseconds that the zone is ahead of UTC at a moment. */
function zoneOffset(ms: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  const parts = new Map(format.formatToParts(ms).map(part => [part.type, part.value]))
  const field = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type) ?? '0')
  const there = new Date(0)
  there.setUTCFullYear(field('year'), field('month') - 1, field('day'))
  there.setUTCHours(field('hour'), field('minute'), field('second'))
  return there.getTime() - Math.floor(ms / 1000) * 1000
}
