/** Crockford's base 32: no I, L, O, U. Position = value, so ids sort as their bytes do. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Fills the array with random bytes, as `crypto.getRandomValues` does. */
export type RandomBytes = (into: Uint8Array) => void

/**
 * The id of one run: `r-` and a ULID (48 bits of time, 80 random bits), so that runs sort by their start.
 * @param nowMs epoch ms, 0 to 2^48 - 1
 * @see https://github.com/ulid/spec
 */
export function createRunId(nowMs: number, random: RandomBytes): string {
  let time = ''
  let rest = Math.trunc(nowMs)
  for (let digit = 0; digit < 10; digit++) {
    time = ALPHABET.charAt(rest % 32) + time
    rest = Math.floor(rest / 32)
  }
  const bytes = new Uint8Array(16)
  random(bytes)
  let tail = ''
  for (const byte of bytes) tail += ALPHABET.charAt(byte & 31)
  return `r-${time}${tail}`
}

/** True for what `createRunId` makes. */
export function isRunId(text: string): boolean {
  return /^r-[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)
}
