/**
 * Snappy, raw and in the framing of the Java library (xerial), decoded with bounds.
 *
 * Not by the WASM package: what is malformed traps there and leaks its output buffer.
 * @see Snappy format description; org.xerial.snappy.SnappyInputStream
 */
import {RecordFormatError} from '../records/errors.ts'
import {copyMatch} from './lz4.ts'
import type {DecompressionScratch} from './scratch.ts'

/** 0x82 "SNAPPY" 0x00, version 1, lowest compatible version 1. */
export const XERIAL_HEADER = Buffer.from('82534e41505059000000000100000001', 'hex')
const XERIAL_MAGIC_BYTES = 8
const LOOP_BYTES = 48

/**
 * Decode a raw block, or framed ones one after the other.
 * @returns a part of the scratch buffer
 * @throws RecordFormatError if a length points outside, or the output would be larger than maxBytes
 */
export function decodeSnappy(input: Buffer, maxBytes: number, scratch: DecompressionScratch): Buffer {
  if (input.compare(XERIAL_HEADER, 0, XERIAL_MAGIC_BYTES, 0, Math.min(XERIAL_MAGIC_BYTES, input.length)) !== 0) {
    return decodeBlocks(input, [0, input.length], maxBytes, scratch)
  }
  const blocks: number[] = []
  let position = XERIAL_HEADER.length
  while (position < input.length) {
    if (input.length - position < 4) throw broken('a block length is cut off')
    const size = input.readInt32BE(position)
    position += 4
    if (size <= 0 || size > input.length - position) throw broken(`a block length of ${size}`)
    blocks.push(position, position + size)
    position += size
  }
  if (position !== input.length) throw broken('the header is cut off')
  return decodeBlocks(input, blocks, maxBytes, scratch)
}

/** Sizes first: the output is allocated once, and only when all of it is within the limit. */
function decodeBlocks(
  input: Buffer,
  blocks: readonly number[],
  maxBytes: number,
  scratch: DecompressionScratch,
): Buffer {
  let total = 0
  for (let index = 0; index < blocks.length; index += 2) {
    total += readLength(input, blocks[index]!, blocks[index + 1]!).length
    if (total > maxBytes) {
      throw new RecordFormatError(`snappy data is larger than ${maxBytes} bytes when decompressed`)
    }
  }
  const output = scratch.ensure(total, 0, maxBytes)
  let length = 0
  for (let index = 0; index < blocks.length; index += 2) {
    length = decodeBlock(input, blocks[index]!, blocks[index + 1]!, output, length)
  }
  return output.subarray(0, length)
}

function readLength(input: Buffer, start: number, end: number): {length: number; next: number} {
  let length = 0
  let scale = 1
  let position = start
  for (;;) {
    if (position >= end || position - start === 5) throw broken('the length is cut off')
    const byte = input[position++]!
    length += (byte & 0x7f) * scale
    if (byte < 0x80) break
    scale *= 128
  }
  return {length, next: position}
}

function decodeBlock(input: Buffer, start: number, end: number, output: Buffer, outputStart: number): number {
  const {length, next} = readLength(input, start, end)
  const limit = outputStart + length
  let from = next
  let to = outputStart
  while (from < end) {
    const tag = input[from++]!
    const kind = tag & 3
    if (kind === 0) {
      let size = (tag >>> 2) + 1
      if (size > 60) {
        const extra = size - 60
        if (extra > end - from) throw broken('a literal length is cut off')
        size = input.readUIntLE(from, extra) + 1
        from += extra
      }
      if (size > end - from || size > limit - to) throw broken(`a literal of ${size} bytes`)
      if (size > LOOP_BYTES) {
        input.copy(output, to, from, from + size)
        from += size
        to += size
      } else {
        for (const stop = from + size; from < stop;) output[to++] = input[from++]!
      }
      continue
    }
    const distanceBytes = kind === 3 ? 4 : kind
    if (distanceBytes > end - from) throw broken('a distance is cut off')
    const size = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
    const distance = kind === 1 ? ((tag >>> 5) << 8) | input[from]! : input.readUIntLE(from, distanceBytes)
    from += distanceBytes
    if (distance === 0 || distance > to - outputStart) throw broken(`a distance of ${distance}`)
    if (size > limit - to) throw broken('more data than its length says')
    to = copyMatch(output, to, distance, size)
  }
  if (to !== limit) throw broken('less data than its length says')
  return to
}

function broken(what: string): RecordFormatError {
  return new RecordFormatError(`malformed snappy data: ${what}`)
}
