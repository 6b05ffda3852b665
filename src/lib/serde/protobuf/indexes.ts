import {DecodeFault} from '../fault.ts'

/** Deepest nesting of message types that is taken. */
const MAX_INDEXES = 64

/**
 * Message indexes as Confluent's serializers write them: a zigzag count, then each index; a single byte 0 is [0].
 * @returns the indexes, and the first byte behind them
 * @throws DecodeFault when there are none
 */
export function readMessageIndexes(
  bytes: Buffer,
  start: number,
): {readonly indexes: readonly number[]; readonly end: number} {
  let at = start
  const next = (): number => {
    let value = 0
    for (let shift = 0; shift < 32; shift += 7) {
      const byte = bytes[at]
      if (byte === undefined) throw new DecodeFault('framing', 'the bytes end inside the message indexes', {at})
      at += 1
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    }
    throw new DecodeFault('framing', 'a message index has more than 32 bits', {at: start})
  }
  const count = next()
  if (count === 0) return {indexes: [0], end: at}
  if (count < 0 || count > MAX_INDEXES) {
    throw new DecodeFault('framing', `${count} message indexes are announced, at most ${MAX_INDEXES} are taken`, {
      at: start,
    })
  }
  const indexes: number[] = []
  for (let index = 0; index < count; index++) {
    const value = next()
    if (value < 0) throw new DecodeFault('framing', `message index ${value} is negative`, {at: start})
    indexes.push(value)
  }
  return {indexes, end: at}
}
