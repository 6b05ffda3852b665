import {describe, expect, test} from 'vitest'
import {LedgerIndex} from '../../../../src/lib/replay/ledger/index-table.ts'
import {LEFT_OUT_STATES, PURGEABLE_STATES} from '../../../../src/lib/replay/ledger/types.ts'
import type {LedgerEntry, LedgerState} from '../../../../src/lib/replay/ledger/types.ts'
import {payloadSha256} from '../../../../src/lib/replay/ledger/checksum.ts'
import {addressOf, entryOf, partitionOf, recordOf, REF, RUN_A, RUN_B} from './support.ts'

function indexOf(...entries: readonly LedgerEntry[]): LedgerIndex {
  const index = new LedgerIndex()
  for (const entry of entries) index.add(entry)
  return index
}

describe('handled', () => {
  test('[BR-76] a second run sees what the first one did', () => {
    expect(indexOf(entryOf(7n, {reason: 'fixed in 4.2'})).handled(recordOf(7n), REF)).toEqual({
      state: 'replayed',
      run: RUN_A,
      at: '1764500000000',
      by: 'ada',
      attempt: 1,
      target: {topic: 'orders', partition: 3, offset: '2007'},
      reason: 'fixed in 4.2',
      stale: false,
    })
    expect(indexOf(entryOf(7n)).handled(recordOf(8n), REF)).toBeNull()
  })

  test('the newest entry over runs is told, whatever the clocks said', () => {
    const index = indexOf(entryOf(7n, {run: RUN_B, at: 99n}), entryOf(7n, {state: 'failed', at: 5n}))
    expect(index.handled(recordOf(7n), REF)).toMatchObject({run: RUN_A, state: 'failed'})
    index.add(entryOf(7n, {run: RUN_B, at: 1n}))
    expect(index.handled(recordOf(7n), REF)).toMatchObject({run: RUN_B, state: 'replayed'})
  })

  test('an entry of a recreated topic is stale', () => {
    const fact = indexOf(entryOf(7n)).handled(recordOf(7n), {...REF, topicId: 'BBBBBBBBBBBBBBBBBBBBBB'})
    expect(fact).toMatchObject({run: RUN_A, stale: true})
  })

  test('an entry about other bytes is stale', () => {
    expect(indexOf(entryOf(7n)).handled(recordOf(7n, {value: null}), REF)).toMatchObject({stale: true})
  })

  test('an entry about this very record goes before a newer stale one', () => {
    const old = addressOf(7n, partitionOf('orders-dlq', 0, {...REF, topicId: 'BBBBBBBBBBBBBBBBBBBBBB'}))
    const index = indexOf(entryOf(7n), entryOf(7n, {source: old, run: RUN_B}))
    expect(index.handled(recordOf(7n), REF)).toMatchObject({run: RUN_A, stale: false})
  })

  test('the history is one entry a run, as the ledger has them, stale ones told as such', () => {
    const old = addressOf(7n, partitionOf('orders-dlq', 0, {...REF, topicId: 'BBBBBBBBBBBBBBBBBBBBBB'}))
    const index = indexOf(
      entryOf(7n, {run: RUN_B, state: 'failed', at: 9n}),
      entryOf(7n, {source: old, at: 1n}),
      entryOf(7n, {at: 5n}),
      entryOf(8n),
    )
    const told = index.history(recordOf(7n), REF).map(({run, state, at, stale}) => [run, state, at, stale])
    expect(told).toEqual([
      [RUN_B, 'failed', '9', false],
      [RUN_A, 'replayed', '1', true],
      [RUN_A, 'replayed', '5', false],
    ])
    index.add(entryOf(7n, {run: RUN_B, at: 10n}))
    expect(index.history(recordOf(7n), REF).at(-1)).toMatchObject({run: RUN_B, state: 'replayed'})
    expect(index.history(recordOf(9n), REF)).toEqual([])
  })

  test('the same topic of another cluster is another topic', () => {
    const source = {...addressOf(7n), clusterId: 'elsewhere'}
    expect(indexOf(entryOf(7n, {source})).handled(recordOf(7n), REF)).toBeNull()
    expect(indexOf(entryOf(7n, {source})).handled(recordOf(7n), {...REF, clusterId: 'elsewhere'})).not.toBeNull()
  })

  test('offsets beyond 2^53 are kept apart', () => {
    const offset = 2n ** 53n
    const index = indexOf(entryOf(offset))
    expect(index.handled(recordOf(offset), REF)).not.toBeNull()
    expect(index.handled(recordOf(offset + 1n), REF)).toBeNull()
  })

  test('[CR-07] a failed record is offered again; [CR-09] its failure stays in the ledger', () => {
    const index = indexOf(entryOf(7n, {state: 'failed', target: null, attempt: 0, reason: 'E_MESSAGE_TOO_LARGE'}))
    const fact = index.handled(recordOf(7n), REF)
    expect(fact).toMatchObject({state: 'failed', reason: 'E_MESSAGE_TOO_LARGE', target: null})
    expect(LEFT_OUT_STATES.has(fact?.state ?? 'replayed')).toBe(false)
    expect(index.attemptsOf(recordOf(7n), {origin: {topic: 'orders', partition: 3, offset: '1007'}}, REF)).toBe(0)
  })

  test('[BR-68] 500 records at the cap are held, and are not offered to the second run', () => {
    const index = new LedgerIndex()
    for (let offset = 0n; offset < 500n; offset++) index.add(entryOf(offset, {state: 'held', target: null, attempt: 3}))
    const offered: bigint[] = []
    for (let offset = 0n; offset < 503n; offset++) {
      const fact = index.handled(recordOf(offset), REF)
      if (fact === null || !LEFT_OUT_STATES.has(fact.state)) offered.push(offset)
    }
    expect(offered).toEqual([500n, 501n, 502n])
    expect(PURGEABLE_STATES.has('held')).toBe(false)
  })

  test('[CR-12] what was announced and not completed is told as such', () => {
    const index = indexOf(
      entryOf(7n, {
        state: 'sending',
        scanFrom: 1990n,
        target: {topic: 'orders', partition: 3, offset: null, clusterId: null},
      }),
    )
    expect(index.handled(recordOf(7n), REF)).toMatchObject({state: 'sending', target: {offset: null}})
    expect(index.scanFrom(RUN_A, addressOf(7n))).toBe(1990n)
    expect(LEFT_OUT_STATES.has('sending')).toBe(true)
  })
})

describe('a run', () => {
  test('its entries and states are found, those of others are not', () => {
    const index = indexOf(entryOf(1n), entryOf(2n, {state: 'skipped'}), entryOf(1n, {run: RUN_B, state: 'parked'}))
    const states = [...index.entriesOfRun(RUN_A)].map(({source, state}): [bigint, LedgerState] => [
      source.offset,
      state,
    ])
    expect(states).toEqual([
      [1n, 'replayed'],
      [2n, 'skipped'],
    ])
    expect(index.stateInRun(RUN_B, addressOf(1n))).toBe('parked')
    expect(index.stateInRun(RUN_B, addressOf(2n))).toBeNull()
    expect([...index.entriesOfRun('r-other')]).toEqual([])
    expect([...index.entriesOfRun(RUN_B)][0]).toEqual({
      source: addressOf(1n),
      state: 'parked',
      target: {topic: 'orders', partition: 3, offset: 2001n, clusterId: null},
      attempt: 1,
      reason: null,
    })
  })
})

describe('attempts', () => {
  const first = entryOf(7n)
  const at = (offset: string) => ({topic: 'orders', partition: 3, offset})

  test('[BR-35] the chain goes on where the last failure is our target, whatever became of the headers', () => {
    const again = recordOf(90n, {value: Buffer.from('changed by the framework')})
    expect(indexOf(first).attemptsOf(again, {origin: at('2007')}, REF)).toBe(1)
    expect(indexOf(first).attemptsOf(again, {origin: at('1'), last: at('2007')}, REF)).toBe(1)
  })

  test('[BR-35] else by the same origin', () => {
    const again = recordOf(90n)
    expect(indexOf(first).attemptsOf(again, {origin: at('1007'), last: at('5')}, REF)).toBe(1)
  })

  test('[BR-35] else by key and checksum when nothing says where it came from', () => {
    const {key, value} = recordOf(7n)
    expect(indexOf(first).attemptsOf({key, value}, {}, REF)).toBe(1)
    expect(indexOf(first).attemptsOf({key, value: null}, {}, REF)).toBe(0)
  })

  test('[BR-13] dead letters that are only pointers are no chain because they look alike', () => {
    const empty = {key: null, value: null}
    const index = indexOf(entryOf(7n, {sha256: payloadSha256(null, null), attempt: 3}))
    expect(index.attemptsOf(empty, {origin: {topic: 'other', partition: 0, offset: '1'}}, REF)).toBe(0)
    expect(index.attemptsOf(empty, {origin: at('2007')}, REF)).toBe(3)
  })

  test('equal bytes from another offset of the target partition are another record', () => {
    const {key, value} = recordOf(7n)
    expect(indexOf(first).attemptsOf({key, value}, {origin: at('2500')}, REF)).toBe(0)
    expect(indexOf(first).attemptsOf({key, value}, {origin: {topic: 'other', partition: 0, offset: '1'}}, REF)).toBe(1)
  })

  test('of several entries the highest attempt counts', () => {
    const index = indexOf(entryOf(7n, {attempt: 2}), entryOf(8n, {origin: first.origin, attempt: 1}))
    expect(index.attemptsOf(recordOf(90n), {origin: at('1007')}, REF)).toBe(2)
  })

  test('a replay onto another cluster is no chain here', () => {
    const target = {topic: 'orders', partition: 3, offset: 2007n, clusterId: 'elsewhere'}
    const index = indexOf(entryOf(7n, {target, origin: null}))
    expect(index.attemptsOf(recordOf(90n), {origin: at('2007')}, REF)).toBe(0)
  })

  test('offsets that are none, and whole origins that are not, match nothing', () => {
    const index = indexOf(first)
    for (const offset of ['-1', '', '0x7', '99999999999999999999']) {
      expect(index.attemptsOf(recordOf(90n), {origin: {topic: 'orders', partition: 3, offset}}, REF)).toBe(0)
    }
    expect(index.attemptsOf(recordOf(90n), {origin: {topic: 'orders', offset: '2007'}}, REF)).toBe(0)
  })
})

describe('same origin', () => {
  const failure = {origin: {topic: 'orders', partition: 3, offset: '1007'}}

  test('a second copy of a replayed origin is found, the record itself is not', () => {
    const index = indexOf(entryOf(7n))
    expect(index.sameOrigin(recordOf(9n), failure, REF)).toEqual({
      address: addressOf(7n),
      state: 'replayed',
      run: RUN_A,
      sameChecksum: false,
    })
    const {key, value} = recordOf(7n)
    expect(index.sameOrigin(recordOf(9n, {key, value}), failure, REF)?.sameChecksum).toBe(true)
    expect(index.sameOrigin(recordOf(7n), failure, REF)).toBeNull()
    expect(index.sameOrigin(recordOf(9n), {}, REF)).toBeNull()
  })

  test('a copy that was not sent is no reason', () => {
    expect(indexOf(entryOf(7n, {state: 'discarded'})).sameOrigin(recordOf(9n), failure, REF)).toBeNull()
  })
})

test('removed rows are used again', () => {
  const index = new LedgerIndex()
  for (let round = 0; round < 5; round++) {
    for (let offset = 0n; offset < 800n; offset++) index.add(entryOf(offset))
    for (let offset = 0n; offset < 800n; offset++) index.remove(addressOf(offset), RUN_A)
  }
  expect(index.size).toBe(0)
  const {bytes} = index
  for (let offset = 0n; offset < 1000n; offset++) index.add(entryOf(offset))
  expect(index.bytes).toBe(bytes)
  expect(index.handled(recordOf(999n), REF)).toMatchObject({stale: false})
})

test('an entry takes at most 160 bytes of tables', () => {
  const index = new LedgerIndex()
  const entry = entryOf(1n, {sha256: payloadSha256(null, null)})
  for (let offset = 0n; offset < 8192n; offset++) index.add({...entry, source: addressOf(offset)})
  expect(index.size).toBe(8192)
  expect(index.bytes / index.size).toBeLessThan(160)
  expect(index.handled(recordOf(8191n, {key: null, value: null}), REF)).toMatchObject({stale: false})
})
