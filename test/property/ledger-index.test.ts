import fc from 'fast-check'
import {expect, test} from 'vitest'
import {payloadSha256} from '../../src/lib/replay/ledger/checksum.ts'
import {LedgerIndex} from '../../src/lib/replay/ledger/index-table.ts'
import type {RecordOrigins} from '../../src/lib/replay/ledger/index-table.ts'
import {entryKey} from '../../src/lib/replay/ledger/names.ts'
import type {IndexedRecord, LedgerEntry, SourceRef} from '../../src/lib/replay/ledger/types.ts'
import {LEDGER_STATES} from '../../src/lib/replay/ledger/types.ts'
import {runs} from '../support/runs.ts'

/** Few different values, so that everything meets everything. */
const offset = fc.bigInt({min: 0n, max: 3n})
const ref: fc.Arbitrary<SourceRef> = fc.record({
  clusterId: fc.constantFrom(null, 'other'),
  topicId: fc.constantFrom('AAAA', 'BBBB', null),
})
const payload = fc.constantFrom(null, Buffer.alloc(0), Buffer.from('a'), Buffer.from('b'))
const place = fc.record({topic: fc.constantFrom('orders', 'payments'), partition: fc.constantFrom(0, 1), offset})
const run = fc.constantFrom('r-1', 'r-2', 'r-3')
const record: fc.Arbitrary<IndexedRecord> = fc.record({
  topic: fc.constantFrom('orders-dlq', 'x-dlq'),
  partition: fc.constantFrom(0, 1),
  offset,
  key: payload,
  value: payload,
})
const entry: fc.Arbitrary<LedgerEntry> = fc
  .record({
    record,
    ref,
    run,
    state: fc.constantFrom(...LEDGER_STATES),
    origin: fc.option(place),
    target: fc.option(place),
    isNumbered: fc.boolean(),
    targetCluster: fc.constantFrom(null, null, 'other'),
    attempt: fc.integer({min: 0, max: 4}),
  })
  .map(({record, ref, target, isNumbered, targetCluster, ...rest}) => ({
    ...rest,
    source: {...ref, topic: record.topic, partition: record.partition, offset: record.offset},
    target: target === null ? null : {...target, offset: isNumbered ? target.offset : null, clusterId: targetCluster},
    sha256: payloadSha256(record.key, record.value),
    by: 'ada',
    at: 5n,
    reason: null,
    scanFrom: null,
  }))
const origins: fc.Arbitrary<RecordOrigins> = fc.record({
  origin: fc.option(place, {nil: undefined}).map(text),
  last: fc.option(place, {nil: undefined}).map(text),
})

function text(at: {topic: string; partition: number; offset: bigint} | undefined) {
  return at === undefined ? undefined : {...at, offset: `${at.offset}`}
}

/** The same answers, from a list in the order of the ledger. */
class Naive {
  entries: LedgerEntry[] = []

  add(one: LedgerEntry): void {
    this.remove(one)
    this.entries.push(one)
  }

  remove({source, run}: Pick<LedgerEntry, 'source' | 'run'>): void {
    const key = entryKey(source, source.offset, run)
    this.entries = this.entries.filter(other => entryKey(other.source, other.source.offset, other.run) !== key)
  }

  handled(of: IndexedRecord, ref: SourceRef): {entry: LedgerEntry; stale: boolean} | null {
    const here = this.entries.filter(
      ({source}) =>
        source.topic === of.topic &&
        source.partition === of.partition &&
        source.offset === of.offset &&
        source.clusterId === ref.clusterId,
    )
    const sum = payloadSha256(of.key, of.value)
    const own = here.findLast(({source, sha256}) => source.topicId === ref.topicId && sha256.equals(sum))
    const any = here.at(-1)
    if (own !== undefined) return {entry: own, stale: false}
    return any === undefined ? null : {entry: any, stale: true}
  }

  attempts(of: IndexedRecord, {origin, last}: RecordOrigins, ref: SourceRef): number {
    const sent = this.entries.filter(({state}) => state === 'replayed' || state === 'sending')
    for (const at of [last, origin]) {
      const found = best(
        sent.filter(({target}) => {
          return target !== null && target.clusterId === ref.clusterId && isAt(target, at) && target.offset !== null
        }),
      )
      if (found !== null) return found.attempt
    }
    for (const at of [origin, last]) {
      const found = best(sent.filter(one => isAt(one.origin, at) && one.source.clusterId === ref.clusterId))
      if (found !== null) return found.attempt
    }
    if (of.key === null && of.value === null) return 0
    const same = best(sent.filter(({sha256}) => sha256.equals(payloadSha256(of.key, of.value))))
    if (same === null) return 0
    const {target} = same
    const contradicts =
      target !== null &&
      target.offset !== null &&
      target.clusterId === ref.clusterId &&
      [last, origin].some(at => at?.topic === target.topic && at.partition === target.partition)
    return contradicts ? 0 : same.attempt
  }
}

function isAt(
  place: {readonly topic: string; readonly partition: number | null; readonly offset: bigint | null} | null,
  at: RecordOrigins['origin'],
): boolean {
  if (place === null || at === undefined) return false
  return place.topic === at.topic && place.partition === at.partition && `${place.offset}` === at.offset
}

function best(entries: readonly LedgerEntry[]): LedgerEntry | null {
  let found: LedgerEntry | null = null
  for (const one of entries) if (found === null || one.attempt >= found.attempt) found = one
  return found
}

test('the index answers as a plain list does', () => {
  const step = fc.oneof(
    {weight: 6, arbitrary: entry.map(one => ({kind: 'add' as const, one}))},
    {weight: 1, arbitrary: entry.map(one => ({kind: 'remove' as const, one}))},
  )
  const question = fc.tuple(record, ref, origins)
  fc.assert(
    fc.property(
      fc.array(step, {maxLength: 60}),
      fc.array(question, {minLength: 1, maxLength: 30}),
      (steps, questions) => {
        const index = new LedgerIndex()
        const naive = new Naive()
        for (const {kind, one} of steps) {
          if (kind === 'add') index.add(one)
          else index.remove(one.source, one.run)
          if (kind === 'add') naive.add(one)
          else naive.remove(one)
        }
        expect(index.size).toBe(naive.entries.length)
        for (const [of, by, failure] of questions) {
          const wanted = naive.handled(of, by)
          const fact = index.handled(of, by)
          expect(fact === null ? null : [fact.run, fact.state, fact.attempt, fact.stale]).toEqual(
            wanted === null ? null : [wanted.entry.run, wanted.entry.state, wanted.entry.attempt, wanted.stale],
          )
          expect(index.attemptsOf(of, failure, by)).toBe(naive.attempts(of, failure, by))
        }
        for (const one of naive.entries) expect(index.stateInRun(one.run, one.source)).toBe(one.state)
        for (const id of ['r-1', 'r-2', 'r-3']) {
          const own = naive.entries.filter(({run}) => run === id)
          expect([...index.entriesOfRun(id)]).toHaveLength(own.length)
        }
      },
    ),
    {numRuns: runs(300)},
  )
})

test('entries survive the growth of the tables', () => {
  const index = new LedgerIndex()
  const [one] = fc.sample(entry, {numRuns: 1, seed: 7})
  if (one === undefined) throw new Error('no entry')
  const source = {...one.source, topic: 'grow', partition: 0}
  for (let at = 0n; at < 5000n; at++)
    index.add({...one, source: {...source, offset: at}, attempt: Number(at % 60_000n)})
  for (let at = 0n; at < 5000n; at++) {
    if (index.stateInRun(one.run, {...source, offset: at}) !== one.state) throw new Error(`lost ${at}`)
  }
  expect(index.size).toBe(5000)
})
