import {describe, expect, test} from 'vitest'
import {mergeByOrigin} from '../../../src/lib/replay/order.ts'
import {type Drawn, scanOf} from './order-support.ts'

const merged = async (
  streams: readonly (readonly Drawn[])[],
  lookAhead?: {records: number; bytes: number},
): Promise<{order: string[]; late: string[]}> => {
  const late: string[] = []
  const order: string[] = []
  const scans = streams.map((letters, index) => scanOf(index, letters))
  const onDisorder = ({address}: {address: string}): void => void late.push(address)
  for await (const {failure} of mergeByOrigin(scans, {lookAhead, accepts: () => true, onDisorder})) {
    order.push(`${failure.origin?.partition ?? '-'}:${failure.origin?.offset ?? '-'}`)
  }
  return {order, late}
}

describe('the order by origin', () => {
  test('merges partitions of the dead letter topic by origin offset', async () => {
    const {order, late} = await merged([
      [
        [0, 1],
        [0, 4],
        [0, 5],
      ],
      [
        [0, 2],
        [0, 3],
        [0, 6],
      ],
    ])
    expect(order).toEqual(['0:1', '0:2', '0:3', '0:4', '0:5', '0:6'])
    expect(late).toEqual([])
  })

  test('a partition that holds only later offsets waits for a long one, whatever the look-ahead', async () => {
    const early = Array.from({length: 100}, (_, offset): Drawn => [0, offset])
    const after = Array.from({length: 100}, (_, offset): Drawn => [0, 100 + offset])
    const {order, late} = await merged([after, early], {records: 4, bytes: 1_000_000})
    expect(order).toEqual(Array.from({length: 200}, (_, offset) => `0:${offset}`))
    expect(late).toEqual([])
  })

  test('puts one partition in order too, and counts what lay beyond the look-ahead', async () => {
    const {order, late} = await merged(
      [
        [
          [0, 2],
          [0, 1],
          [0, 3],
          [0, 4],
          [0, 0],
        ],
      ],
      {records: 2, bytes: 1_000_000},
    )
    expect(order).toEqual(['0:1', '0:2', '0:3', '0:0', '0:4'])
    expect(late).toEqual(['dlq:0:4'])
  })

  test('a look-ahead in bytes holds at least one record', async () => {
    const {order, late} = await merged(
      [
        [
          [0, 2],
          [0, 1],
        ],
      ],
      {records: 100, bytes: 1},
    )
    expect(order).toEqual(['0:2', '0:1'])
    expect(late).toEqual(['dlq:0:1'])
  })

  test('dead letters without a full origin keep the order of their partition', async () => {
    const {order, late} = await merged([[null, [1, 9], null, [1, 8]]])
    expect(order).toEqual(['-:-', '1:8', '1:9', '-:-'])
    expect(late).toEqual([])
  })

  test('nothing in, nothing out', async () => {
    expect(await merged([])).toEqual({order: [], late: []})
    expect(await merged([[], []])).toEqual({order: [], late: []})
  })

  test('closes its scans when it is left early', async () => {
    const closed: number[] = []
    const scans = [0, 1].map(index =>
      scanOf(
        index,
        [
          [0, 1],
          [0, 2],
        ],
        () => closed.push(index),
      ),
    )
    for await (const _ of mergeByOrigin(scans, {
      lookAhead: {records: 2, bytes: 9},
      accepts: () => true,
      onDisorder: () => undefined,
    })) {
      break
    }
    expect(closed).toEqual([0, 1])
  })
})
