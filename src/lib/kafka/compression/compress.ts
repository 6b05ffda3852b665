import {gzipSync, zstdCompressSync} from 'node:zlib'

import {lz4Compress, snappyCompress} from '@platformatic/wasm-utils/bundled'

import type {CompressionType} from '../records/types.ts'
import {XERIAL_HEADER} from './snappy.ts'

/** Block size of the Java library's writer. */
const SNAPPY_BLOCK_BYTES = 32_768

const COMPRESSORS: Readonly<Record<CompressionType, (bytes: Buffer) => Buffer>> = {
  none: bytes => bytes,
  gzip: bytes => gzipSync(bytes),
  snappy: snappyFrames,
  lz4: lz4Compress,
  zstd: bytes => zstdCompressSync(bytes),
}

/**
 * Compress the records section of a batch, in the framing that Kafka's Java client reads.
 * @returns the input itself for `none`
 */
export function compress(type: CompressionType, bytes: Buffer): Buffer {
  return COMPRESSORS[type](bytes)
}

function snappyFrames(bytes: Buffer): Buffer {
  const parts: Buffer[] = [XERIAL_HEADER]
  for (let start = 0; start < bytes.length; start += SNAPPY_BLOCK_BYTES) {
    const block = snappyCompress(bytes.subarray(start, start + SNAPPY_BLOCK_BYTES))
    const size = Buffer.allocUnsafe(4)
    size.writeInt32BE(block.length)
    parts.push(size, block)
  }
  return Buffer.concat(parts)
}
