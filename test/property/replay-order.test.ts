import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {mergeByOrigin} from '../../src/lib/replay/order.ts'
import {type Drawn, scanOf} from '../unit/replay/order-support.ts'

const letters = fc.array(fc.option(fc.tuple(fc.integer({min: 0, max: 2}), fc.integer({min: 0, max: 40})), {freq: 6}), {
  maxLength: 25,
})
const streams = fc.array(letters, {maxLength: 4})

const out = async (
  drawn: readonly (readonly Drawn[])[],
  records: number,
): Promise<{addresses: string[]; origins: {partition: number; offset: number}[]; late: number}> => {
  const addresses: string[] = []
  const origins: {partition: number; offset: number}[] = []
  let late = 0
  const scans = drawn.map((stream, index) => scanOf(index, stream))
  const onDisorder = (): void => void late++
  const lookAhead = {records, bytes: 1_000_000}
  for await (const {address, failure} of mergeByOrigin(scans, {lookAhead, accepts: () => true, onDisorder})) {
    addresses.push(address)
    const {partition, offset} = failure.origin ?? {}
    if (partition !== undefined && offset !== undefined) origins.push({partition, offset: Number(offset)})
  }
  return {addresses, origins, late}
}

describe('the merge by origin', () => {
  test('gives every record once; disorder is exactly what it counts', async () => {
    await fc.assert(
      fc.asyncProperty(streams, fc.integer({min: 1, max: 12}), async (drawn, records) => {
        const {addresses, origins, late} = await out(drawn, records)
        const all = drawn.flatMap((stream, index) => stream.map((_, offset) => `dlq:${index}:${offset}`))
        expect(addresses.toSorted()).toEqual(all.toSorted())
        const highest = new Map<number, number>()
        let seen = 0
        for (const {partition, offset} of origins) {
          const last = highest.get(partition) ?? -1
          if (offset < last) seen++
          highest.set(partition, Math.max(last, offset))
        }
        expect(late).toBe(seen)
      }),
    )
  })

  test('has no disorder when everything fits, and none over streams that are in order themselves', async () => {
    await fc.assert(
      fc.asyncProperty(streams, async drawn => {
        expect((await out(drawn, 1000)).late).toBe(0)
        const one = drawn.map(stream =>
          stream
            .flatMap((letter): Drawn[] => (letter === null ? [] : [[0, letter[1]]]))
            .toSorted((a, b) => (a?.[1] ?? 0) - (b?.[1] ?? 0)),
        )
        expect((await out(one, 1)).late).toBe(0)
      }),
    )
  })
})
