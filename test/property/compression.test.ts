import {lz4Compress, lz4Decompress, snappyCompress, snappyDecompress} from '@platformatic/wasm-utils/bundled'
import fc from 'fast-check'
import {expect, test} from 'vitest'

import {compress} from '../../src/lib/kafka/compression/compress.ts'
import {decompress, DecompressionScratch} from '../../src/lib/kafka/compression/decompress.ts'
import {RecordFormatError} from '../../src/lib/kafka/records/errors.ts'
import {runs} from '../support/runs.ts'

const LIMIT = 1_000_000
const codecs = fc.constantFrom('gzip', 'snappy', 'lz4', 'zstd' as const)

/** Bytes with repeats near and far, so that every kind of match occurs. */
const compressible = fc
  .array(
    fc.oneof(
      fc.uint8Array({maxLength: 100}),
      fc.tuple(fc.uint8Array({minLength: 1, maxLength: 20}), fc.integer({min: 1, max: 200})).map(([piece, times]) => {
        const bytes = new Uint8Array(piece.length * times)
        for (let index = 0; index < times; index++) bytes.set(piece, index * piece.length)
        return bytes
      }),
    ),
    {maxLength: 12},
  )
  .map(pieces => Buffer.concat([...pieces, ...pieces.slice(0, 5)]))

/** What comes out, nothing for data that is refused; every error but RecordFormatError goes through. */
function outcome(type: 'gzip' | 'snappy' | 'lz4' | 'zstd', bytes: Buffer, limit: number): Buffer {
  try {
    return decompress(type, bytes, limit)
  } catch (error) {
    if (error instanceof RecordFormatError) return Buffer.alloc(0)
    throw error
  }
}

test('lz4 gives what the WASM package compressed, and what it decompresses', () => {
  const scratch = new DecompressionScratch()
  fc.assert(
    fc.property(compressible, bytes => {
      const packed = lz4Compress(bytes)
      expect(decompress('lz4', packed, LIMIT, scratch).equals(bytes)).toBe(true)
      expect(lz4Decompress(packed).equals(bytes)).toBe(true)
    }),
    {numRuns: runs(150)},
  )
})

test('snappy gives what the WASM package compressed, and ours is what it decompresses', () => {
  fc.assert(
    fc.property(compressible, bytes => {
      expect(decompress('snappy', snappyCompress(bytes), LIMIT).equals(bytes)).toBe(true)
      const framed = compress('snappy', bytes)
      const blocks: Buffer[] = []
      for (let at = 16; at < framed.length; at += 4 + framed.readInt32BE(at)) {
        blocks.push(snappyDecompress(framed.subarray(at + 4, at + 4 + framed.readInt32BE(at))))
      }
      expect(Buffer.concat(blocks).equals(bytes)).toBe(true)
    }),
    {numRuns: runs(150)},
  )
})

test('every codec gives back what was compressed', () => {
  fc.assert(
    fc.property(codecs, compressible, (type, bytes) => {
      expect(decompress(type, compress(type, bytes), LIMIT).equals(bytes)).toBe(true)
    }),
  )
})

test('changed data gives bytes within the limit or a RecordFormatError, nothing else', () => {
  const change = fc.record({at: fc.nat(), byte: fc.integer({min: 0, max: 255})})
  fc.assert(
    fc.property(codecs, compressible, fc.array(change, {minLength: 1, maxLength: 4}), (type, bytes, changes) => {
      const packed = Buffer.from(compress(type, bytes))
      for (const {at, byte} of changes) if (packed.length > 0) packed.writeUInt8(byte, at % packed.length)
      const limit = 100_000
      expect(outcome(type, packed, limit).length).toBeLessThanOrEqual(limit)
    }),
    {numRuns: runs(500)},
  )
})

test('any bytes behind a right frame header give bytes or a RecordFormatError', () => {
  const heads = {
    lz4: Buffer.from('04224d18604000', 'hex'),
    snappy: Buffer.from('82534e41505059000000000100000001', 'hex'),
    gzip: Buffer.from('1f8b0800000000000003', 'hex'),
    zstd: Buffer.from('28b52ffd', 'hex'),
  }
  fc.assert(
    fc.property(codecs, fc.boolean(), fc.uint8Array({maxLength: 300}), (type, withHead, tail) => {
      const input = Buffer.concat(withHead ? [heads[type], tail] : [tail])
      expect(outcome(type, input, 100_000).length).toBeLessThanOrEqual(100_000)
    }),
    {numRuns: runs(1000)},
  )
})

test('any lz4 block of any claimed size stays within bounds', () => {
  fc.assert(
    fc.property(fc.uint8Array({minLength: 1, maxLength: 200}), fc.boolean(), (block, linked) => {
      const size = Buffer.alloc(4)
      size.writeUInt32LE(block.length)
      const head = Buffer.from(linked ? '04224d18404000' : '04224d18604000', 'hex')
      const frame = Buffer.concat([
        head,
        Buffer.from([3, 0, 0, 0x80]),
        Buffer.from('abc'),
        size,
        block,
        Buffer.alloc(4),
      ])
      const result = outcome('lz4', frame, 70_000)
      expect(['', 'abc']).toContain(result.subarray(0, 3).toString())
      expect(result.length).toBeLessThanOrEqual(70_000)
    }),
    {numRuns: runs(1500)},
  )
})
