import {gzipSync, zstdCompressSync} from 'node:zlib'

import {lz4Compress, snappyCompress} from '@platformatic/wasm-utils/bundled'
import {describe, expect, test} from 'vitest'

import {compress} from '../../../../src/lib/kafka/compression/compress.ts'
import {decompress, DecompressionScratch} from '../../../../src/lib/kafka/compression/decompress.ts'
import {RecordFormatError} from '../../../../src/lib/kafka/records/errors.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
const LIMIT = 10_000_000
const samples: readonly Buffer[] = [
  Buffer.alloc(0),
  Buffer.from('a'),
  Buffer.from('abcabcabcabcabcabcabcabcabcabcabcabcabc'),
  Buffer.alloc(300_000, 'x'),
  Buffer.from(Array.from({length: 200_000}, (_, index) => (index * 7919 + (index >> 3)) & 0xff)),
  Buffer.from('{"order":1,"total":"12.50"}\n'.repeat(20_000)),
]

describe.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('%s', type => {
  test('gives back what was compressed, also into a buffer that is used again', () => {
    const scratch = new DecompressionScratch()
    for (const sample of samples) {
      const packed = compress(type, sample)
      expect(decompress(type, packed, LIMIT).equals(sample)).toBe(true)
      expect(decompress(type, packed, LIMIT, scratch).equals(sample)).toBe(true)
    }
  })

  test('holds the limit exactly', () => {
    const packed = compress(type, Buffer.alloc(100_000, 'y'))
    expect(decompress(type, packed, 100_000)).toHaveLength(100_000)
    expect(() => decompress(type, packed, 99_999)).toThrow(RecordFormatError)
    expect(() => decompress(type, packed, 99_999)).toThrow('larger than 99999 bytes')
  })

  test('a cut at any place is an error of the format, never another one', () => {
    const packed = compress(type, Buffer.from('{"order":1}\n'.repeat(30)))
    const outcomes = Array.from({length: packed.length}, (_, cut) => {
      try {
        return decompress(type, packed.subarray(0, cut), LIMIT).length
      } catch (error) {
        return error instanceof RecordFormatError ? 'refused' : error
      }
    })
    // Framed snappy that ends between its header and the first block is empty, as for the Java library.
    const empty = type === 'snappy' ? 16 : -1
    expect(outcomes).toEqual(outcomes.map((_, cut) => (cut === empty ? 0 : 'refused')))
  })
})

describe('snappy', () => {
  test('reads raw blocks and the framing of the Java library', () => {
    const text = Buffer.from('hello hello hello hello')
    const raw = snappyCompress(text)
    expect(decompress('snappy', raw, LIMIT).equals(text)).toBe(true)
    const size = Buffer.alloc(4)
    size.writeInt32BE(raw.length)
    const framed = Buffer.concat([hex('82534e4150505900 00000001 00000001'), size, raw, size, raw])
    expect(decompress('snappy', framed, LIMIT).toString()).toBe('hello hello hello hello'.repeat(2))
  })

  test('writes the framing of the Java library', () => {
    expect(compress('snappy', Buffer.alloc(70_000)).subarray(0, 16).toString('hex')).toBe(
      '82534e41505059000000000100000001',
    )
  })

  // Vectors by hand from the format description.
  test.each([
    ['literal', '03 08 616263', 'abc'],
    ['literal with a one-byte length', '03 f0 02 616263', 'abc'],
    ['literal with a four-byte length', '03 fc 02000000 616263', 'abc'],
    ['copy with a one-byte distance, overlapping', '09 08 616263 09 03', 'abcabcabc'],
    ['copy with a two-byte distance', '06 08 616263 0a 0300', 'abcabc'],
    ['copy with a four-byte distance', '06 08 616263 0b 03000000', 'abcabc'],
  ])('decodes a %s', (_, bytes, expected) => {
    expect(decompress('snappy', hex(bytes), LIMIT).toString()).toBe(expected)
  })

  test.each([
    ['a length of 4 GiB', 'ff ff ff ff 0f 00 61'],
    ['a length that never ends', 'ff ff ff ff ff ff 01'],
    ['a distance of 0', '06 08 616263 0a 0000'],
    ['a distance before the beginning', '06 08 616263 0a 0400'],
    ['a literal behind the input', '05 10 616263'],
    ['a four-byte literal length near 2^32', '05 fc ffffffff 616263'],
    ['more data than its length says', '02 08 616263'],
    ['less data than its length says', '09 08 616263'],
    ['a negative block length', '82534e4150505900 00000001 00000001 ffffffff'],
    ['a block behind the input', '82534e4150505900 00000001 00000001 00000010 0308'],
  ])('refuses %s', (_, bytes) => {
    expect(() => decompress('snappy', hex(bytes), LIMIT)).toThrow(RecordFormatError)
  })

  test('a match does not reach into the block before', () => {
    const framed = '82534e4150505900 00000001 00000001 00000005 0308616263 00000004 03 0a 0300'
    expect(() => decompress('snappy', hex(framed), LIMIT)).toThrow('a distance of 3')
  })
})

describe('lz4', () => {
  // Magic, flags (version 1), block descriptor (64 KiB), header checksum (not checked).
  const independent = '04224d18 60 40 00'
  const linked = '04224d18 40 40 00'
  const end = '00000000'

  test.each([
    ['an uncompressed block', `${independent} 03000080 616263 ${end}`, 'abc'],
    ['literals', `${independent} 04000000 30616263 ${end}`, 'abc'],
    ['an overlapping match', `${independent} 0a000000 35616263 0300 30 646566 ${end}`, 'abcabcabcabcdef'],
    ['a run of one byte', `${independent} 06000000 1f61 0100 32 00 ${end}`, 'a'.repeat(70)],
    ['linked blocks', `${linked} 03000080 616263 03000000 00 0300 ${end}`, 'abcabca'],
    ['block checksums', `04224d18 70 40 00 03000080 616263 deadbeef ${end}`, 'abc'],
    ['a content size', `04224d18 68 40 0300000000000000 00 03000080 616263 ${end}`, 'abc'],
    ['a content checksum', `04224d18 64 40 00 03000080 616263 ${end} deadbeef`, 'abc'],
    ['two frames', `${independent} 03000080 616263 ${end} ${independent} 01000080 64 ${end}`, 'abcd'],
  ])('decodes %s', (_, bytes, expected) => {
    expect(decompress('lz4', hex(bytes), LIMIT).toString()).toBe(expected)
  })

  test.each([
    ['no frame', '00 00 00 00 00 00 00'],
    ['another version', `04224d18 a0 40 00 ${end}`],
    ['a dictionary', `04224d18 61 40 00 00000000 00 ${end}`],
    ['a block size below 64 KiB', `04224d18 60 30 00 ${end}`],
    ['a block behind the input', `${independent} ff000000 30616263 ${end}`],
    ['a distance of 0', `${independent} 06000000 30616263 0000 ${end}`],
    ['a distance before the beginning', `${independent} 06000000 30616263 0400 ${end}`],
    ['a distance into an independent block', `${independent} 03000080 616263 03000000 00 0300 ${end}`],
    ['literals behind the block', `${independent} 04000000 f0616263 ${end}`],
    ['a length that never ends', `${independent} 04000000 f0ffffff ${end}`],
    ['no end mark', `${independent} 03000080 616263`],
    ['a missing content checksum', `04224d18 64 40 00 03000080 616263 ${end} dead`],
    ['bytes behind the frame', `${independent} 03000080 616263 ${end} 00`],
  ])('refuses %s', (_, bytes) => {
    expect(() => decompress('lz4', hex(bytes), LIMIT)).toThrow(RecordFormatError)
  })

  test('a block larger than its frame allows is refused', () => {
    const run = Buffer.concat([hex('1f61 0100'), Buffer.alloc(400, 255), hex('00')])
    const size = Buffer.alloc(4)
    size.writeUInt32LE(run.length)
    const bytes = Buffer.concat([hex(independent), size, run, hex(end)])
    expect(() => decompress('lz4', bytes, LIMIT)).toThrow('larger than its frame allows')
  })

  test('a bomb stops at the limit and takes no more memory than that', () => {
    const bomb = lz4Compress(Buffer.alloc(16 * 1024 * 1024))
    const scratch = new DecompressionScratch()
    expect(() => decompress('lz4', bomb, 1_000_000, scratch)).toThrow('larger than 1000000 bytes')
    expect(scratch.ensure(0, 0, 0).length).toBeLessThanOrEqual(1_000_000)
  })
})

test('bombs of node:zlib stop at the limit', () => {
  const bytes = Buffer.alloc(16 * 1024 * 1024)
  expect(() => decompress('gzip', gzipSync(bytes), 1_000_000)).toThrow('larger than 1000000 bytes')
  expect(() => decompress('zstd', zstdCompressSync(bytes), 1_000_000)).toThrow('larger than 1000000 bytes')
})

test('a giant output buffer is given back with the next batch', () => {
  const scratch = new DecompressionScratch()
  decompress('lz4', lz4Compress(Buffer.alloc(20 * 1024 * 1024)), 100_000_000, scratch)
  expect(scratch.ensure(0, 0, 0).length).toBeGreaterThan(16 * 1024 * 1024)
  decompress('lz4', lz4Compress(Buffer.from('a')), 100_000_000, scratch)
  expect(scratch.ensure(0, 0, 0).length).toBeLessThan(1024 * 1024)
})
