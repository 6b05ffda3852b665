import {describe, expect, test} from 'vitest'
import {payloadSha256} from '../../../../src/lib/replay/ledger/checksum.ts'
import {LedgerContents} from '../../../../src/lib/replay/ledger/contents.ts'
import type {ContentsOptions} from '../../../../src/lib/replay/ledger/contents.ts'
import {
  claimEndRecord,
  claimRecord,
  entryRecord,
  layoutRecord,
  statusRecord,
} from '../../../../src/lib/replay/ledger/records.ts'
import {payloadChecksum} from '../../../../src/lib/replay/origins.ts'
import type {LedgerRecord} from '../../../../src/lib/replay/ledger/types.ts'
import {addressOf, entryOf, partitionOf, recordOf, REF, RUN_A, RUN_B} from './support.ts'

function contentsOf(records: readonly LedgerRecord[], options: ContentsOptions = {}): LedgerContents {
  const contents = new LedgerContents(options)
  records.forEach(({key, value}, index) => {
    contents.add(Buffer.from(key), value === null ? null : Buffer.from(value), BigInt(index))
  })
  return contents
}

const CLAIM = {source: partitionOf(), run: RUN_A, by: 'ada', at: 5n}

describe('payload checksum', () => {
  test('null, empty and a shifted boundary differ', () => {
    const all = [
      payloadSha256(null, null),
      payloadSha256(Buffer.alloc(0), null),
      payloadSha256(null, Buffer.alloc(0)),
      payloadSha256(Buffer.from('a'), Buffer.from('bc')),
      payloadSha256(Buffer.from('ab'), Buffer.from('c')),
    ]
    expect(new Set(all.map(sum => sum.toString('hex'))).size).toBe(all.length)
  })

  test('is SHA-256 over two lengths, key and value', () => {
    // printf '\x00\x00\x00\x01\x00\x00\x00\x02abc' | sha256sum; and with lengths -1 and -1
    expect(payloadSha256(Buffer.from('a'), Buffer.from('bc')).toString('hex')).toBe(
      'd12f198554075bc29c9a3ebc4ebf5327fdefa86ab89f580167a806e7c9af2cec',
    )
    expect(payloadSha256(null, null).toString('hex')).toBe(
      '12a3ae445661ce5dee78d0650d33362dec29c4f82af05e7e57fb595bbbacf0ca',
    )
  })

  test('begins with the checksum that tells copies of one origin apart', () => {
    const record = recordOf(1n)
    expect(payloadSha256(record.key, record.value).readBigUInt64BE(0)).toBe(payloadChecksum(record))
  })
})

describe('contents', () => {
  test('holds entries, claims, runs and layout', () => {
    const status = {run: RUN_A, state: 'stopped' as const, at: 9n, by: 'ada', reason: 'signal', counts: {replayed: 2}}
    const contents = contentsOf([layoutRecord(12), entryRecord(entryOf(1n)), claimRecord(CLAIM), statusRecord(status)])
    expect([...contents.layouts]).toEqual([12])
    expect(contents.index.handled(recordOf(1n), REF)).toMatchObject({state: 'replayed', run: RUN_A, stale: false})
    expect(contents.claims).toEqual([{...CLAIM, offset: 2n}])
    expect(contents.runs).toEqual([{run: RUN_A, head: null, status}])
    expect([contents.records, contents.unreadable]).toEqual([4, 0])
  })

  test('a tombstone ends a claim and forgets an entry', () => {
    const entry = entryRecord(entryOf(1n))
    const contents = contentsOf([claimRecord(CLAIM), entry, claimEndRecord(CLAIM), {...entry, value: null}])
    expect(contents.claims).toEqual([])
    expect(contents.index.handled(recordOf(1n), REF)).toBeNull()
    expect(contents.index.size).toBe(0)
  })

  test('claims come in the order of their offsets', () => {
    const contents = contentsOf([claimRecord({...CLAIM, run: RUN_B}), claimRecord(CLAIM)])
    expect(contents.claims.map(({run}) => run)).toEqual([RUN_B, RUN_A])
  })

  test('an entry of a later state replaces the earlier one of its run', () => {
    const contents = contentsOf([
      entryRecord(entryOf(1n, {state: 'sending', target: null, scanFrom: 17n})),
      entryRecord(entryOf(1n)),
    ])
    expect(contents.index.size).toBe(1)
    expect(contents.index.stateInRun(RUN_A, addressOf(1n))).toBe('replayed')
    expect(contents.index.scanFrom(RUN_A, addressOf(1n))).toBeNull()
  })

  test('a list of runs needs no entries', () => {
    expect(contentsOf([entryRecord(entryOf(1n))], {entries: false}).index.size).toBe(0)
  })

  const good = entryRecord(entryOf(1n))
  const change = (over: object): string => JSON.stringify({...(JSON.parse(good.value as string) as object), ...over})
  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
    ['another version', change({v: 2})],
    ['an unknown state', change({state: 'done'})],
    ['the run of another key', change({run: RUN_B})],
    ['a checksum that is none', change({sha256: 'x'})],
    ['an attempt of a half', change({attempt: 1.5})],
    ['an attempt beyond bounds', change({attempt: 65_536})],
    ['a time as number', change({at: 5})],
    ['a time beyond int64', change({at: '99999999999999999999'})],
    ['a negative target offset', change({target: {topic: 'orders', partition: 0, offset: '-1'}})],
    ['a target without partition', change({target: {topic: 'orders', offset: '1'}})],
    ['an origin that is a text', change({origin: 'orders:3:1'})],
    ['a reason that is a list', change({reason: []})],
    ['an operator that is a number', change({by: 7})],
    ['a value of 70 kB', change({reason: 'x'.repeat(70_000)})],
  ])('an entry with %s is counted, not thrown', (_, value) => {
    const contents = contentsOf([{...good, value}])
    expect([contents.records, contents.unreadable, contents.index.size]).toEqual([1, 1, 0])
  })

  test('records of somebody else are counted, not thrown', () => {
    const contents = new LedgerContents()
    contents.add(null, Buffer.from('x'), 0n)
    contents.add(Buffer.from([0xff, 0xfe]), null, 1n)
    contents.add(Buffer.alloc(100_000, 'k'), null, 2n)
    contents.add(Buffer.from('meta|layout'), Buffer.from('{"v":1,"partitions":0}'), 3n)
    contents.add(Buffer.from(`claim|AAAA|t:0|${RUN_A}`), Buffer.from('{"v":1}'), 4n)
    contents.add(Buffer.from(`run|${RUN_A}|0`), Buffer.from('{}'), 5n)
    contents.add(Buffer.from(`run|${RUN_A}|status`), Buffer.from('{"v":1}'), 6n)
    expect([contents.records, contents.unreadable, contents.claims, contents.runs]).toEqual([7, 7, [], []])
  })

  test('a long reason and operator are cut when written', () => {
    const contents = contentsOf([entryRecord(entryOf(1n, {reason: 'r'.repeat(5000), by: 'b'.repeat(5000)}))])
    const fact = contents.index.handled(recordOf(1n), REF)
    expect([fact?.reason?.length, fact?.by?.length]).toEqual([500, 200])
  })
})
