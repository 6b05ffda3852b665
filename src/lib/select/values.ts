/** Durations, sizes and rates as flags take them: text to a number with its unit, and back. */
import {badValue} from './usage.ts'

const DURATION_UNITS: Readonly<Record<string, number>> = {ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000}
const DURATIONS = 'a duration such as 500ms, 30s, 5m, 2h or 7d'

export interface DurationOptions {
  /** A number without a unit is ms, as Connect's `errors.*` settings take it. */
  readonly bareMs?: boolean
  /** `-1` is taken too (Connect: no end). */
  readonly minusOne?: boolean
}

/**
 * `500ms`, `30s`, `5m`, `2h`, `7d`.
 * @returns ms
 * @throws UsageError naming the flag
 */
export function parseDuration(text: string, flag: string, options: DurationOptions = {}): number {
  const bare = options.bareMs === true
  const allowed = bare ? `${DURATIONS}, or a number of milliseconds` : `give ${DURATIONS}`
  if (options.minusOne === true && text === '-1') return -1
  const match = /^([0-9]{1,15})(ms|s|m|h|d)?$/.exec(text)
  if (match === null) throw badValue(flag, text, allowed)
  const [, digits, unit] = match
  if (unit === undefined && !bare) throw badValue(flag, text, allowed, [`a unit is missing; ${text}ms or ${text}s?`])
  const ms = Number(digits) * (DURATION_UNITS[unit ?? 'ms'] ?? 1)
  if (!Number.isSafeInteger(ms)) throw badValue(flag, text, `${allowed}; this one is too long`)
  return ms
}

/** The shortest text that `parseDuration` reads as the same number of ms; `-1` stays `-1`. */
export function formatDuration(ms: number): string {
  if (ms === -1) return '-1'
  return inLargestUnit(ms, Object.entries(DURATION_UNITS))
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1000,
  kB: 1000,
  KiB: 1024,
  MB: 1_000_000,
  MiB: 1_048_576,
  GB: 1_000_000_000,
  GiB: 1_073_741_824,
}
const SIZES = 'a size such as 512KiB, 5MiB, 1MB or a number of bytes'

function sizeOf(text: string): number | null {
  const match = /^([0-9]{1,15})(B|kB|KB|MB|GB|KiB|MiB|GiB)?$/.exec(text)
  if (match === null) return null
  const bytes = Number(match[1]) * (SIZE_UNITS[match[2] ?? 'B'] ?? 1)
  return Number.isSafeInteger(bytes) ? bytes : null
}

/**
 * `512KiB`, `5MiB`, `1MB`, `1000`: KiB is 1024 bytes, KB and kB are 1000.
 * @returns bytes
 * @throws UsageError naming the flag
 */
export function parseSize(text: string, flag: string): number {
  const bytes = sizeOf(text)
  if (bytes === null) throw badValue(flag, text, `give ${SIZES}`)
  return bytes
}

/** The shortest exact text that `parseSize` reads as the same number of bytes. */
export function formatSize(bytes: number): string {
  return inLargestUnit(bytes, Object.entries(SIZE_UNITS))
}

function inLargestUnit(value: number, units: readonly (readonly [name: string, size: number])[]): string {
  const [name, size] = units.findLast(unit => value % unit[1] === 0 && value !== 0) ?? units[0] ?? ['', 1]
  return `${value / size}${name}`
}

const RATE_UNITS = {s: 1000, m: 60_000, h: 3_600_000} as const

function isRateUnit(unit: string | undefined): unit is keyof typeof RATE_UNITS {
  return unit !== undefined && Object.hasOwn(RATE_UNITS, unit)
}

/** Records in a unit of time; JSON as it is. Null stands for `none`: no bound. */
export type RecordRate = {readonly records: number; readonly per: keyof typeof RATE_UNITS} | null

/**
 * `500/s`, `30/m`, `10/h`, `none`.
 * @throws UsageError naming the flag, also for 0 (nothing would ever go out)
 */
export function parseRate(text: string, flag: string): RecordRate {
  if (text === 'none') return null
  const match = /^([0-9]{1,9})\/([smh])$/.exec(text)
  const records = Number(match?.[1] ?? 0)
  const per = match?.[2]
  if (!isRateUnit(per) || records === 0) {
    const hints = /^[0-9]+$/.test(text) ? [`a unit is missing; ${text}/s?`] : []
    throw badValue(flag, text, 'give a rate above 0 such as 500/s, 30/m or 10/h, or none', hints)
  }
  return {records, per}
}

/** Text that `parseRate` reads as the same rate. */
export function formatRate(rate: RecordRate): string {
  return rate === null ? 'none' : `${rate.records}/${rate.per}`
}

/** Records a second, for a throttle; null = no bound. */
export function ratePerSecond(rate: RecordRate): number | null {
  return rate === null ? null : (rate.records * 1000) / RATE_UNITS[rate.per]
}

/**
 * `5MiB/s`, `1000000/s`, `none`; without `/s` it means the same.
 * @returns bytes a second; null = no bound
 * @throws UsageError naming the flag, also for 0
 */
export function parseByteRate(text: string, flag: string): number | null {
  if (text === 'none') return null
  const bytes = sizeOf(text.endsWith('/s') ? text.slice(0, -2) : text)
  if (bytes === null || bytes === 0) throw badValue(flag, text, 'give bytes a second above 0 such as 5MiB/s, or none')
  return bytes
}

/** Text that `parseByteRate` reads as the same rate. */
export function formatByteRate(bytesPerSecond: number | null): string {
  return bytesPerSecond === null ? 'none' : `${formatSize(bytesPerSecond)}/s`
}

/**
 * A count: decimal digits.
 * @param most largest value allowed
 * @throws UsageError naming the flag
 */
export function parseCount(text: string, flag: string, most = Number.MAX_SAFE_INTEGER): number {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(value <= most)) throw badValue(flag, text, `give a whole number from 0 to ${most}`)
  return value
}
