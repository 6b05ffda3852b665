/** Digits in groups of three: `1,234,567`. */
export function formatCount(count: number | bigint): string {
  return `${count}`.replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** Bytes for a person: `0 B`, `1.5 KiB`, `3 MiB`. */
export function formatBytes(bytes: number): string {
  let amount = bytes
  let unit = 0
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024
    unit += 1
  }
  const digits = unit === 0 || amount >= 100 || Number.isInteger(amount) ? amount.toFixed(0) : amount.toFixed(1)
  return `${digits} ${UNITS[unit] ?? ''}`
}

/** A share of 0 to 1 in percent with one decimal. */
export function formatShare(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

/** `1 record`, `2 records`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}
