import {describe, expect, test} from 'vitest'

import {RecordFormatError} from '../../../../src/lib/kafka/records/errors.ts'
import {
  VarintReader,
  varintSize,
  varlongSize,
  writeVarint,
  writeVarlong,
} from '../../../../src/lib/kafka/records/varint.ts'

/** From the encoding of Protocol Buffers and Kafka's ByteUtilsTest. */
const VARINTS: readonly (readonly [number, string])[] = [
  [0, '00'],
  [-1, '01'],
  [1, '02'],
  [63, '7e'],
  [-64, '7f'],
  [64, '8001'],
  [-65, '8101'],
  [8191, 'fe7f'],
  [-8192, 'ff7f'],
  [8192, '808001'],
  [2147483647, 'feffffff0f'],
  [-2147483648, 'ffffffff0f'],
]

const VARLONGS: readonly (readonly [bigint, string])[] = [
  [0n, '00'],
  [-1n, '01'],
  [-2147483648n, 'ffffffff0f'],
  [2147483648n, '8080808010'],
  [17179869184n, '808080808001'],
  [281474976710655n, 'feffffffffff7f'],
  [-281474976710656n, 'ffffffffffff7f'],
  [281474976710656n, '8080808080808001'],
  [9223372036854775807n, 'feffffffffffffffff01'],
  [-9223372036854775808n, 'ffffffffffffffffff01'],
]

describe('varint', () => {
  test.each(VARINTS)('%d is %s in both directions', (value, hex) => {
    const bytes = Buffer.alloc(5)
    const end = writeVarint(bytes, 0, value)
    expect(bytes.subarray(0, end).toString('hex')).toBe(hex)
    expect(varintSize(value)).toBe(end)
    const reader = new VarintReader(bytes, 0, end)
    expect(reader.readVarint()).toBe(value)
    expect(reader.position).toBe(end)
  })

  test.each(['', '80', 'ffffffff', 'ffffffff80'])('is refused when cut off: %s', hex => {
    expect(() => new VarintReader(Buffer.from(hex, 'hex')).readVarint()).toThrow(RecordFormatError)
  })

  test.each(['ffffffff10', '808080808000', 'ffffffffff0f'])('is refused when longer than 32 bits: %s', hex => {
    expect(() => new VarintReader(Buffer.from(hex, 'hex')).readVarint()).toThrow('longer than 32 bits')
  })

  test('does not read past its end although the buffer goes on', () => {
    const reader = new VarintReader(Buffer.from('8001', 'hex'), 0, 1)
    expect(() => reader.readVarint()).toThrow('ends inside a number')
  })
})

describe('varlong', () => {
  test.each(VARLONGS)('%s is %s in both directions', (value, hex) => {
    const bytes = Buffer.alloc(10)
    const end = writeVarlong(bytes, 0, value)
    expect(bytes.subarray(0, end).toString('hex')).toBe(hex)
    expect(varlongSize(value)).toBe(end)
    expect(BigInt(new VarintReader(bytes, 0, end).readVarlong())).toBe(value)
    const number = Number(value)
    if (!Number.isSafeInteger(number)) return
    const again = Buffer.alloc(10)
    expect(writeVarlong(again, 0, number)).toBe(end)
    expect(again.equals(bytes)).toBe(true)
    expect(varlongSize(number)).toBe(end)
  })

  test.each(['', 'ffffffffffffffffff', '80'])('is refused when cut off: %s', hex => {
    expect(() => new VarintReader(Buffer.from(hex, 'hex')).readVarlong()).toThrow(RecordFormatError)
  })

  test.each(['ffffffffffffffffff02', 'ffffffffffffffffffff01'])('is refused when longer than 64 bits: %s', hex => {
    expect(() => new VarintReader(Buffer.from(hex, 'hex')).readVarlong()).toThrow('longer than 64 bits')
  })
})
