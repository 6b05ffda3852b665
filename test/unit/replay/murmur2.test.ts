import {describe, expect, test} from 'vitest'
import {murmur2, partitionForKey} from '../../../src/lib/replay/murmur2.ts'

describe('murmur2', () => {
  // Values of Kafka's own UtilsTest.
  test.each([
    ['21', -973_932_308],
    ['foobar', -790_332_482],
    ['a-little-bit-long-string', -985_981_536],
    ['a-little-bit-longer-string', -1_486_304_829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58_897_971],
    ['abc', 479_470_107],
  ])('hashes %s as the Java client does', (text, expected) => {
    expect(murmur2(Buffer.from(text))).toBe(expected)
  })

  test('a negative hash gives a partition as the Java client masks the sign', () => {
    // (-973932308 & 0x7fffffff) % 12
    expect(partitionForKey(Buffer.from('21'), 12)).toBe(1_173_551_340 % 12)
  })

  test('an empty key has a partition too', () => {
    expect(partitionForKey(Buffer.alloc(0), 3)).toBeGreaterThanOrEqual(0)
    expect(partitionForKey(Buffer.alloc(0), 1)).toBe(0)
  })
})
