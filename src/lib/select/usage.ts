import {UsageError} from '../errors.ts'

/** Longest piece of a caller's text that an error message repeats. */
const SHOWN = 80

/**
 * The error of every parser here: names the flag (or argument), the value, and what is allowed.
 * @param flag as typed, e.g. `--from`
 */
export function badValue(flag: string, text: string, allowed: string, hints: readonly string[] = []): UsageError {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text
  return new UsageError(`${flag} does not take '${shown}': ${allowed}`, {hints, context: {flag, value: shown}})
}

const INT64_MAX = 9_223_372_036_854_775_807n
const INT32_MAX = 2_147_483_647

/** Decimal digits as an int64 that is not negative; null for anything else. Leading zeros are fine. */
export function parseUint63(text: string): bigint | null {
  if (!/^[0-9]{1,40}$/.test(text)) return null
  const value = BigInt(text)
  return value <= INT64_MAX ? value : null
}

/** Decimal digits as an int32 that is not negative; null for anything else. */
export function parseUint31(text: string): number | null {
  const value = parseUint63(text)
  return value === null || value > BigInt(INT32_MAX) ? null : Number(value)
}
