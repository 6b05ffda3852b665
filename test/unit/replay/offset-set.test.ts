import {describe, expect, test} from 'vitest'
import {OffsetSet} from '../../../src/lib/replay/offset-set.ts'
import {OriginTable, payloadChecksum} from '../../../src/lib/replay/origins.ts'

describe('OffsetSet', () => {
  test('joins neighbours, sorts, and comes back from its data', () => {
    const set = new OffsetSet()
    for (const offset of [5n, 3n, 4n, 9_007_199_254_740_993n, 7n]) set.add('b', 1, offset)
    set.add('a', 2, 0n)
    const data = set.toJSON()
    expect(data).toEqual([
      {topic: 'a', partition: 2, offsets: ['0']},
      {topic: 'b', partition: 1, offsets: ['3-5', '7', '9007199254740993']},
    ])
    const again = OffsetSet.from(data)
    expect(again.toJSON()).toEqual(data)
    for (const offset of [3n, 4n, 5n, 7n, 9_007_199_254_740_993n]) expect(again.has('b', 1, offset)).toBe(true)
    for (const offset of [2n, 6n, 8n, 9_007_199_254_740_992n]) expect(again.has('b', 1, offset)).toBe(false)
    expect(again.has('a', 1, 0n)).toBe(false)
  })

  test('what is added to a set from data joins it', () => {
    const set = OffsetSet.from([{topic: 'a', partition: 0, offsets: ['1-3', '6']}])
    set.add('a', 0, 4n)
    set.add('a', 0, 2n)
    expect(set.toJSON()).toEqual([{topic: 'a', partition: 0, offsets: ['1-4', '6']}])
  })
})

describe('OriginTable', () => {
  const entry = (origin: bigint, source: bigint, over: {timestamp?: bigint; checksum?: bigint} = {}) => ({
    origin: {topic: 'orders', partition: 3, offset: origin},
    checksum: over.checksum ?? 1n,
    timestamp: over.timestamp ?? 10n,
    source: {topic: 'orders-dlq', partition: 0, offset: source},
    targetPartition: 3,
    targetBytes: 100,
  })

  test('finds each of many thousand origins again while it grows', () => {
    const table = new OriginTable()
    const count = 20_000n
    for (let n = 0n; n < count; n++) expect(table.add(entry(n * 4_294_967_296n, n)).kind).toBe('first')
    for (let n = 0n; n < count; n += 997n) {
      expect(table.add(entry(n * 4_294_967_296n, count + n))).toMatchObject({
        kind: 'repeated',
        older: {source: {topic: 'orders-dlq', partition: 0, offset: n}},
        differs: false,
      })
    }
  })

  test('the copy with the lower time is the older one, with equal times the one read first', () => {
    const table = new OriginTable()
    table.add(entry(1n, 0n, {timestamp: 10n}))
    expect(table.add(entry(1n, 1n, {timestamp: 9n}))).toMatchObject({older: {source: {offset: 1n}}})
    expect(table.add(entry(1n, 2n, {timestamp: 10n}))).toMatchObject({older: {source: {offset: 0n}}})
    expect(table.add(entry(1n, 3n, {timestamp: 10n, checksum: 2n}))).toMatchObject({
      older: {source: {offset: 2n}},
      differs: true,
    })
  })

  test('is bounded and says so', () => {
    const table = new OriginTable(2)
    table.add(entry(1n, 1n))
    table.add(entry(2n, 2n))
    expect(table.add(entry(3n, 3n))).toEqual({kind: 'full'})
    expect(table.add(entry(1n, 4n)).kind).toBe('repeated')
  })

  test('a null, an empty and a moved byte give other checksums', () => {
    const of = (key: string | null, value: string | null) =>
      payloadChecksum({key: key === null ? null : Buffer.from(key), value: value === null ? null : Buffer.from(value)})
    const all = [of(null, null), of('', null), of(null, ''), of('', ''), of('ab', 'c'), of('a', 'bc'), of('abc', '')]
    expect(new Set(all).size).toBe(all.length)
  })
})
