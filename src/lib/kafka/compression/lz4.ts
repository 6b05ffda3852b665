/**
 * LZ4 frames, decoded with bounds: the WASM package has none (a 4 MB frame became 1 GB) and is slower.
 * @see LZ4 frame format 1.6 and block format, as Kafka's KafkaLZ4BlockInputStream reads them
 */
import {RecordFormatError} from '../records/errors.ts'
import type {DecompressionScratch} from './scratch.ts'

const FRAME_MAGIC = 0x184d2204
const FLAG_INDEPENDENT = 0x20
const FLAG_BLOCK_CHECKSUM = 0x10
const FLAG_CONTENT_SIZE = 0x08
const FLAG_CONTENT_CHECKSUM = 0x04
const FLAG_DICTIONARY = 0x01
const UNCOMPRESSED = 0x8000_0000
/** Up to here a loop is faster than a call into the runtime. */
const LOOP_BYTES = 48

/**
 * Decode one or more frames.
 *
 * Frame and block checksums are skipped: the batch's own CRC-32C covers the same bytes.
 * @returns a part of the scratch buffer
 * @throws RecordFormatError if a length points outside, or the output would be larger than maxBytes
 */
export function decodeLz4(input: Buffer, maxBytes: number, scratch: DecompressionScratch): Buffer {
  let position = 0
  let length = 0
  let output = scratch.ensure(Math.min(maxBytes, Math.max(65_536, input.length * 4)), 0, maxBytes)
  do {
    if (input.length - position < 7 || input.readUInt32LE(position) !== FRAME_MAGIC) throw broken('no frame')
    const flags = input.readUInt8(position + 4)
    if (flags >>> 6 !== 1 || (flags & FLAG_DICTIONARY) !== 0) throw broken(`frame flags ${flags}`)
    const sizeId = (input.readUInt8(position + 5) >>> 4) & 7
    if (sizeId < 4) throw broken(`block size ${sizeId}`)
    const blockMax = 1 << (8 + 2 * sizeId)
    const frameStart = length
    // Magic, flags, block descriptor, optional content size, header checksum.
    position += (flags & FLAG_CONTENT_SIZE) === 0 ? 7 : 15
    for (;;) {
      if (input.length - position < 4) throw broken('the frame is cut off')
      const header = input.readUInt32LE(position)
      position += 4
      if (header === 0) break
      const size = header >= UNCOMPRESSED ? header - UNCOMPRESSED : header
      if (size > input.length - position) throw broken('a block is cut off')
      const blockEnd = position + size
      // A block that claims more than the limit fails in the decoder, at the limit.
      const room = Math.min(maxBytes, length + (header >= UNCOMPRESSED ? size : Math.min(blockMax, size * 255)))
      output = scratch.ensure(room, length, maxBytes)
      if (header >= UNCOMPRESSED) {
        if (size > blockMax || size > maxBytes - length) throw tooLarge(maxBytes)
        length += input.copy(output, length, position, blockEnd)
      } else {
        const from = (flags & FLAG_INDEPENDENT) === 0 ? frameStart : length
        length = decodeLz4Block(input, position, blockEnd, output, length, room, from)
        if (length < 0) throw room === maxBytes ? tooLarge(maxBytes) : broken('a block is larger than its frame allows')
      }
      position = blockEnd + ((flags & FLAG_BLOCK_CHECKSUM) === 0 ? 0 : 4)
    }
    position += (flags & FLAG_CONTENT_CHECKSUM) === 0 ? 0 : 4
    if (position > input.length) throw broken('the frame is cut off')
  } while (position < input.length)
  return output.subarray(0, length)
}

/**
 * Decode one block.
 * @param oldest lowest output position that a match may refer to
 * @returns the end of the output, or -1 if it would pass `limit`
 * @throws RecordFormatError if a length or distance points outside
 */
export function decodeLz4Block(
  input: Buffer,
  start: number,
  end: number,
  output: Buffer,
  outputStart: number,
  limit: number,
  oldest: number,
): number {
  let from = start
  let to = outputStart
  while (from < end) {
    const token = input[from++]!
    let literals = token >>> 4
    if (literals === 15) {
      let more: number
      do {
        if (from >= end) throw broken('a length is cut off')
        more = input[from++]!
        literals += more
      } while (more === 255)
    }
    if (literals > end - from) throw broken('literals are cut off')
    if (literals > limit - to) return -1
    if (literals > LOOP_BYTES) {
      input.copy(output, to, from, from + literals)
      from += literals
      to += literals
    } else {
      for (const stop = from + literals; from < stop;) output[to++] = input[from++]!
    }
    if (from === end) break
    if (end - from < 2) throw broken('a distance is cut off')
    const distance = input[from]! | (input[from + 1]! << 8)
    from += 2
    let length = token & 15
    if (length === 15) {
      let more: number
      do {
        if (from >= end) throw broken('a length is cut off')
        more = input[from++]!
        length += more
      } while (more === 255)
    }
    length += 4
    if (distance === 0 || distance > to - oldest) throw broken(`a distance of ${distance}`)
    if (length > limit - to) return -1
    to = copyMatch(output, to, distance, length)
  }
  return to
}

/** Repeat `length` bytes from `distance` before `to`; they may overlap. @returns the position behind them */
export function copyMatch(output: Buffer, to: number, distance: number, length: number): number {
  const stop = to + length
  let from = to - distance
  if (length <= LOOP_BYTES) {
    while (to < stop) output[to++] = output[from++]!
    return stop
  }
  if (distance >= length) {
    output.copyWithin(to, from, from + length)
    return stop
  }
  // Overlapping: each round doubles the piece that repeats.
  while (to < stop) {
    const piece = Math.min(to - from, stop - to)
    output.copyWithin(to, from, from + piece)
    to += piece
  }
  return stop
}

function broken(what: string): RecordFormatError {
  return new RecordFormatError(`malformed lz4 data: ${what}`)
}

function tooLarge(maxBytes: number): RecordFormatError {
  return new RecordFormatError(`lz4 data is larger than ${maxBytes} bytes when decompressed`)
}
