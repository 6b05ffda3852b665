import {gunzipSync, zstdDecompressSync} from 'node:zlib'

import {RecordFormatError} from '../records/errors.ts'
import type {CompressionType} from '../records/types.ts'
import {decodeLz4} from './lz4.ts'
import {DecompressionScratch} from './scratch.ts'
import {decodeSnappy} from './snappy.ts'

export {DecompressionScratch} from './scratch.ts'

/** Fewer, larger pieces while node:zlib grows its output. */
const ZLIB_CHUNK_BYTES = 65_536

/**
 * Decompress the records section of a batch. The bound holds before memory is taken, for every codec.
 * @param maxBytes largest output
 * @param scratch where lz4 and snappy write to; without it into memory of their own
 * @returns the input itself for `none`
 * @throws RecordFormatError if the data is malformed, cut off or larger than maxBytes
 */
export function decompress(
  type: CompressionType,
  bytes: Buffer,
  maxBytes: number,
  scratch: DecompressionScratch = new DecompressionScratch(),
): Buffer {
  if (type === 'none') return bytes
  scratch.begin()
  if (type === 'lz4') return decodeLz4(bytes, maxBytes, scratch)
  if (type === 'snappy') return decodeSnappy(bytes, maxBytes, scratch)
  return inflate(type, bytes, maxBytes)
}

function inflate(type: 'gzip' | 'zstd', bytes: Buffer, maxBytes: number): Buffer {
  const options = {maxOutputLength: maxBytes, chunkSize: ZLIB_CHUNK_BYTES}
  try {
    return type === 'gzip' ? gunzipSync(bytes, options) : zstdDecompressSync(bytes, options)
  } catch (cause) {
    const isTooLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE'
    const message = isTooLarge
      ? `${type} data is larger than ${maxBytes} bytes when decompressed`
      : `malformed ${type} data`
    throw new RecordFormatError(message, {cause})
  }
}
