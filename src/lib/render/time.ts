const MAX_DATE_MS = 8_640_000_000_000_000n

/**
 * RFC 3339 in UTC with milliseconds.
 * @param epochMs decimal string or bigint; what no calendar can hold comes back as its digits
 */
export function formatTimestamp(epochMs: bigint | string): string {
  const ms = BigInt(epochMs)
  if (ms > MAX_DATE_MS || ms < -MAX_DATE_MS) return `${ms}`
  return new Date(Number(ms)).toISOString()
}

const STEPS: readonly (readonly [limitMs: number, unitMs: number, unit: string])[] = [
  [60_000, 1000, 's'],
  [3_600_000, 60_000, 'min'],
  [172_800_000, 3_600_000, 'h'],
  [Infinity, 86_400_000, 'd'],
]

/** Age in one unit, for a person: `2 h ago`, `in 3 min`, `just now`. */
export function formatAge(epochMs: bigint | string, nowMs: number): string {
  const difference = nowMs - Number(BigInt(epochMs))
  const distance = Math.abs(difference)
  if (distance < 1000) return 'just now'
  for (const [limitMs, unitMs, unit] of STEPS) {
    if (distance >= limitMs) continue
    const amount = `${Math.floor(distance / unitMs)} ${unit}`
    return difference < 0 ? `in ${amount}` : `${amount} ago`
  }
  return formatTimestamp(epochMs)
}

/** Length of a span of time for a person: `850 ms`, `12.3 s`, `4 min 5 s`, `3 h 20 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return joinUnits(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  const minutes = Math.round(seconds / 60)
  if (minutes < 2880) return joinUnits(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
  return joinUnits(Math.floor(minutes / 1440), 'd', Math.floor((minutes % 1440) / 60), 'h')
}

function joinUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}
