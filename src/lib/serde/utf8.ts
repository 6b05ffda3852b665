import {isUtf8} from 'node:buffer'

/** Position of the first byte in `[start, end)` that is not valid UTF-8 (Unicode 15, table 3-7); -1 = all are. */
export function firstInvalidUtf8(bytes: Buffer, start = 0, end = bytes.length): number {
  if (isUtf8(bytes.subarray(start, end))) return -1
  let at = start
  while (at < end) {
    const length = sequenceLength(bytes, at, end)
    if (length === 0) return at
    at += length
  }
  return -1
}

function sequenceLength(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at] ?? 0
  if (first < 0x80) return 1
  if (first < 0xc2 || first > 0xf4) return 0
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  if (at + length > end) return 0
  const second = bytes[at + 1] ?? 0
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
  if (second < lowest || second > highest) return 0
  for (let next = at + 2; next < at + length; next++) if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0
  return length
}
