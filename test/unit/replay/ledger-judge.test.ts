import {afterEach, describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import {judgeByLedger, type LedgerView} from '../../../src/lib/replay/ledger-judge.ts'
import {payloadSha256} from '../../../src/lib/replay/ledger/checksum.ts'
import {LedgerIndex} from '../../../src/lib/replay/ledger/index-table.ts'
import type {LedgerEntry} from '../../../src/lib/replay/ledger/types.ts'
import {validatePlan} from '../../../src/lib/replay/plan-validate.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {
  archiveOf,
  closeArchives,
  connectSet,
  deadLetter,
  FakeTarget,
  header,
  inputFor,
  NOW,
  type Partial,
} from './support.ts'

afterEach(closeArchives)

const REF = {clusterId: null, topicId: 'id-1'}

const letter = (offset: number, over: Partial = {}): DeadLetter => createDeadLetter(deadLetter(offset, over))

/** As the ledger has it after `of` was replayed. */
function entryOf(of: DeadLetter, over: {-readonly [name in keyof LedgerEntry]?: LedgerEntry[name]} = {}): LedgerEntry {
  const {record, failure} = of
  const {topic = 'orders', partition = 3, offset = '0'} = failure.origin ?? {}
  return {
    source: {...REF, topic: record.topic, partition: record.partition, offset: record.offset},
    state: 'replayed',
    origin: {topic, partition, offset: BigInt(offset)},
    target: {topic, partition, offset: 5000n + record.offset, clusterId: null},
    sha256: payloadSha256(record.key, record.value),
    attempt: 1,
    reason: null,
    scanFrom: null,
    run: 'r-1',
    by: 'ann',
    at: BigInt(NOW),
    ...over,
  }
}

function viewOf(...entries: readonly LedgerEntry[]): LedgerView {
  const index = new LedgerIndex()
  for (const entry of entries) index.add(entry)
  return {index, refOf: () => REF}
}

describe('what the ledger says about a dead letter', () => {
  test('without a ledger only the header counts', () => {
    const provenance = header('kdlq.replay', '{"run":"r-0","attempt":2,"deadLetter":"orders-dlq:0:9"}')
    const replayed = letter(0, {headers: [provenance, ...connectSet('orders', 3, 1)]})
    expect(judgeByLedger(null, replayed, {handled: 'hide'})).toMatchObject({kind: 'open', attempts: 2, fact: null})
  })

  test('[BR-76] handled ones are left out, unless they are asked for', () => {
    const one = letter(1)
    const view = viewOf(entryOf(one))
    expect(judgeByLedger(view, one, {handled: 'hide'})).toMatchObject({kind: 'handled', fact: {run: 'r-1', by: 'ann'}})
    expect(judgeByLedger(view, one, {handled: 'show'}).kind).toBe('open')
    expect(judgeByLedger(view, one, {handled: 'only'}).kind).toBe('open')
    expect(judgeByLedger(view, letter(2), {handled: 'only'}).kind).toBe('not-handled')
  })

  test.each(['failed', 'skipped'] as const)('a %s one is offered again', state => {
    const one = letter(1)
    expect(judgeByLedger(viewOf(entryOf(one, {state, target: null})), one, {handled: 'hide'}).kind).toBe('open')
  })

  test('one that an earlier run was sending is left out, until that run is not waited for any more', () => {
    const one = letter(1)
    const view = viewOf(entryOf(one, {state: 'sending', scanFrom: 4n}), entryOf(letter(2)))
    expect(judgeByLedger(view, one, {handled: 'hide'}).kind).toBe('handled')
    expect(judgeByLedger(view, one, {handled: 'hide', resendUnknown: true}).kind).toBe('open')
    expect(judgeByLedger(view, letter(2), {handled: 'hide', resendUnknown: true}).kind).toBe('handled')
  })

  test('an entry of another incarnation, or of other bytes, is stale and counts for nothing', () => {
    const one = letter(1)
    const source = {...REF, topicId: 'id-0', topic: 'orders-dlq', partition: 0, offset: 1n}
    for (const entry of [entryOf(one, {source}), entryOf(one, {sha256: Buffer.alloc(32)})]) {
      const verdict = judgeByLedger(viewOf(entry), one, {handled: 'hide'})
      expect(verdict.kind).not.toBe('handled')
      expect(verdict.fact?.stale).toBe(true)
    }
  })

  test('[BR-35] a record that came back is recognised by where it failed, although its header is gone', () => {
    const one = letter(1)
    const back = letter(9, {headers: connectSet('orders', 3, 5001)})
    expect(judgeByLedger(viewOf(entryOf(one, {attempt: 2})), back, {handled: 'hide'})).toMatchObject({
      kind: 'open',
      attempts: 2,
    })
  })

  test('[BR-14] an older copy of an origin that was replayed is left out, a later one may be its successor', () => {
    const same = {headers: connectSet('orders', 3, 77)}
    const newest = letter(5, same)
    const view = viewOf(entryOf(newest))
    expect(judgeByLedger(view, letter(4, same), {handled: 'hide'})).toMatchObject({
      kind: 'copy',
      copyOf: {address: 'orders-dlq:0:5', run: 'r-1', differs: true},
    })
    expect(
      judgeByLedger(view, letter(4, {...same, key: newest.record.key, value: newest.record.value}), {handled: 'hide'})
        .copyOf?.differs,
    ).toBe(false)
    expect(judgeByLedger(view, letter(6, same), {handled: 'hide'})).toMatchObject({kind: 'open', attempts: 1})
  })
})

describe('a plan with a ledger', () => {
  const planWith = async (ledger: LedgerView, over: Parameters<typeof inputFor>[1] = {}) => {
    const source = await archiveOf([0, 1, 2, 3].map(offset => deadLetter(offset)))
    const target = new FakeTarget({orders: {partitions: 6}})
    const {plan} = await planReplay(
      {source, target, clock: new FakeClock({now: NOW}), ledger},
      await inputFor(source, {handled: 'hide', ...over}),
    )
    return {plan, check: (id: string) => plan.checks.find(check => check.id === id)}
  }

  test('counts handled and held ones, each by its check', async () => {
    const {plan, check} = await planWith(
      viewOf(
        entryOf(letter(0)),
        entryOf(letter(8, {headers: connectSet('orders', 3, 1)}), {
          attempt: 3,
          target: {topic: 'orders', partition: 3, offset: 1002n, clusterId: null},
        }),
      ),
    )
    expect(plan.counts).toEqual({selected: 4, toReplay: 2, skipped: 1, held: 1, parked: 0, refused: 0})
    expect(check('handled')).toMatchObject({level: 'left-out', count: 1, addresses: ['orders-dlq:0:0']})
    expect(check('attempt-cap')).toMatchObject({level: 'left-out', count: 1, addresses: ['orders-dlq:0:2']})
    expect(plan.source.held).toEqual([{topic: 'orders-dlq', partition: 0, offsets: ['2']}])
  })

  test('lists first what may have been sent by an earlier run, and sends it again only when told', async () => {
    const view = viewOf(entryOf(letter(0)), entryOf(letter(1), {state: 'sending', run: 'r-9'}), entryOf(letter(2)))
    const left = await planWith(view)
    expect(left.plan.counts).toMatchObject({selected: 4, toReplay: 1, skipped: 3})
    expect(left.check('handled')).toMatchObject({
      level: 'left-out',
      count: 3,
      detail: '1 may have been sent by r-9: look in the target, or send again with --resend-unknown',
      addresses: ['orders-dlq:0:1', 'orders-dlq:0:0', 'orders-dlq:0:2'],
    })
    expect('resendUnknown' in left.plan).toBe(false)
    const sent = await planWith(view, {resendUnknown: true})
    expect(sent.plan.counts).toMatchObject({selected: 4, toReplay: 2, skipped: 2})
    expect(sent.plan.resendUnknown).toBe(true)
    expect(sent.check('handled')).toMatchObject({count: 2, detail: 'replayed by r-1'})
    expect(validatePlan(JSON.parse(JSON.stringify(sent.plan)))).toEqual(sent.plan)
  })

  test('[CR-20] the cap is the one that was asked for', async () => {
    const chain = entryOf(letter(8), {
      attempt: 2,
      target: {topic: 'orders', partition: 3, offset: 1002n, clusterId: null},
    })
    expect((await planWith(viewOf(chain), {maxAttempts: 2})).plan.counts.held).toBe(1)
    expect((await planWith(viewOf(chain), {maxAttempts: 3})).plan.counts.held).toBe(0)
    expect((await planWith(viewOf(chain), {maxAttempts: 2, allow: ['attempt-cap']})).plan.counts.held).toBe(0)
  })

  test('refuses what stands at an address that the ledger knows otherwise', async () => {
    const old = entryOf(letter(0), {source: {...REF, topicId: 'id-0', topic: 'orders-dlq', partition: 0, offset: 0n}})
    const {plan, check} = await planWith(viewOf(old))
    expect(check('recreated')).toMatchObject({level: 'refuse', count: 1})
    expect(plan.counts.refused).toBe(1)
    expect((await planWith(viewOf(old), {allow: ['recreated']})).plan.counts.toReplay).toBe(4)
  })
})
