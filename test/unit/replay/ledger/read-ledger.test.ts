import {beforeEach, describe, expect, test} from 'vitest'
import {KafkaError} from '../../../../src/lib/errors.ts'
import type {TransactionSession} from '../../../../src/lib/kafka/ports.ts'
import {ledgerPartition} from '../../../../src/lib/replay/ledger/layout.ts'
import {LedgerReader, listRuns, loadRun, readLedger} from '../../../../src/lib/replay/ledger/read-ledger.ts'
import type {LedgerReadDeps} from '../../../../src/lib/replay/ledger/read-ledger.ts'
import {entryRecord} from '../../../../src/lib/replay/ledger/records.ts'
import type {Blocker} from '../../../../src/lib/replay/ledger/wait-stable.ts'
import {commitLedger, LedgerScribe, toRounds, writeLedger} from '../../../../src/lib/replay/ledger/writer.ts'
import {planReplay} from '../../../../src/lib/replay/plan-replay.ts'
import type {ReplayPlan} from '../../../../src/lib/replay/plan.ts'
import {FakeClock} from '../../../support/fake-clock.ts'
import {archiveOf, closeArchives, deadLetter, inputFor} from '../support.ts'
import {FakeBroker} from './fake-broker.ts'
import {entryOf, LEDGER, outcomeOf, recordOf, REF, RUN_A, RUN_B} from './support.ts'

const ORDERS = ledgerPartition(LEDGER, 'orders-dlq')
/** A topic whose entries lie in another ledger partition. */
const ELSEWHERE = ['a', 'b', 'c', 'd'].find(topic => ledgerPartition(LEDGER, topic) !== ORDERS) ?? ''
let broker: FakeBroker
let clock: FakeClock
let deps: LedgerReadDeps

beforeEach(() => {
  broker = new FakeBroker()
  broker.addTopic(LEDGER.name, 12, {'cleanup.policy': 'compact'})
  clock = new FakeClock({auto: true})
  deps = {cluster: broker.cluster(), clock}
})

function open(transactionalId: string, transactionTimeoutMs = 15_000): Promise<TransactionSession> {
  return broker.cluster().writer.openTransactional({
    transactionalId,
    transactionTimeoutMs,
    compression: 'none',
    deliveryTimeoutMs: 1000,
  })
}

async function write(...offsets: readonly bigint[]): Promise<void> {
  const session = await open('writer')
  const records = offsets.map(offset => entryRecord(entryOf(offset)))
  await commitLedger(session, LEDGER, records, {clock})
}

describe('reading a ledger', () => {
  test('finds what was committed, and reads only the topics’ partitions', async () => {
    await write(1n, 2n)
    const {index} = await readLedger(deps, LEDGER, ['orders-dlq'])
    expect(index.handled(recordOf(2n), REF)).toMatchObject({state: 'replayed'})
    expect((await readLedger(deps, LEDGER, null)).index.size).toBe(2)
    expect((await readLedger(deps, LEDGER, [ELSEWHERE])).index.size).toBe(0)
  })

  test('aborted entries count for nothing', async () => {
    const session = await open('writer')
    session.begin()
    await writeLedger(session, LEDGER, [entryRecord(entryOf(1n))], {clock})
    await session.abort()
    expect((await readLedger(deps, LEDGER, null)).index.size).toBe(0)
  })

  test('goes on where it stopped', async () => {
    const reader = new LedgerReader(deps, LEDGER)
    await write(1n)
    await reader.catchUp([ORDERS])
    await write(2n)
    broker.requests.length = 0
    await reader.catchUp([ORDERS])
    await reader.catchUp([ORDERS])
    expect([reader.contents.records, reader.contents.index.size]).toEqual([2, 2])
    expect(broker.requests.filter(request => request === 'read')).toHaveLength(1)
  })

  test('waits for the open transaction of another, so that entries behind it are not missed', async () => {
    const foreign = await open('foreign-app')
    foreign.begin()
    await foreign.produce(toRounds(LEDGER, [entryRecord(entryOf(50n))], 0n)[0] ?? [])
    await write(1n)
    let polls = 0
    broker.gate = async request => {
      if (request === 'offsets' && ++polls === 6) await foreign.commit()
    }
    const waits: Blocker[] = []
    const {index} = await readLedger(deps, LEDGER, ['orders-dlq'], {onWait: blocker => void waits.push(blocker)})
    expect(index.handled(recordOf(1n), REF)).not.toBeNull()
    expect(waits).toEqual([
      {
        ledger: LEDGER.name,
        partition: ORDERS,
        producerId: foreign.producerId,
        transactionalId: 'foreign-app',
        waitMs: 35_000,
      },
    ])
    expect(clock.sleeps.length).toBeGreaterThan(0)
    expect(clock.sleeps.every(ms => ms <= 500)).toBe(true)
  })

  test('tells each one that stands in the way, waits for what is done about it, and gives each its own time', async () => {
    const names = ['first', 'second']
    const sessions = await Promise.all(names.map(async name => open(name)))
    for (const session of sessions) {
      session.begin()
      await session.produce(toRounds(LEDGER, [entryRecord(entryOf(50n))], 0n)[0] ?? [])
    }
    await write(1n)
    const waits: (string | null)[] = []
    const from = clock.now()
    const onWait = async ({transactionalId}: Blocker): Promise<void> => {
      waits.push(transactionalId)
      await clock.sleep(34_000)
      await sessions[names.indexOf(transactionalId ?? '')]?.abort()
    }
    const {index} = await readLedger(deps, LEDGER, ['orders-dlq'], {onWait})
    expect(index.handled(recordOf(1n), REF)).not.toBeNull()
    expect(waits).toEqual(names)
    expect(clock.now() - from).toBeGreaterThanOrEqual(68_000)
  })

  test('gives up when the transaction outlives its timeout by 20 s, and names who holds it', async () => {
    const foreign = await open('foreign-app', 60_000)
    foreign.begin()
    await writeLedger(foreign, LEDGER, [entryRecord(entryOf(50n))], {clock})
    const from = clock.now()
    await expect(readLedger(deps, LEDGER, ['orders-dlq'])).rejects.toMatchObject({
      code: 'E_LEDGER_BUSY',
      exitCode: 5,
      message: `ledger kdlq-ledger is held by an open transaction of producer ${foreign.producerId} (foreign-app)`,
      context: {producerId: `${foreign.producerId}`, transactionalId: 'foreign-app', partition: ORDERS},
    })
    expect(clock.now() - from).toBe(80_000)
  })

  test('waits as long as told, also when the cluster does not tell who it is', async () => {
    broker.deniesAdmin = true
    const foreign = await open('foreign-app')
    foreign.begin()
    await writeLedger(foreign, LEDGER, [entryRecord(entryOf(50n))], {clock})
    const from = clock.now()
    await expect(readLedger(deps, LEDGER, ['orders-dlq'], {waitMs: 1200})).rejects.toMatchObject({
      code: 'E_LEDGER_BUSY',
      context: {producerId: null, transactionalId: null},
    })
    expect(clock.now() - from).toBe(1200)
  })

  test('an abort ends the wait', async () => {
    const foreign = await open('foreign-app')
    foreign.begin()
    await writeLedger(foreign, LEDGER, [entryRecord(entryOf(50n))], {clock})
    const {signal, ...controller} = abortSoon()
    await expect(readLedger(deps, LEDGER, ['orders-dlq'], {signal, onWait: controller.abort})).rejects.toThrow('enough')
  })

  test('a partition that cannot be read to its end is never "nothing handled"', async () => {
    await write(1n)
    broker.notices = [{kind: 'incomplete', at: 0n, reason: 'unavailable', error: null}]
    await expect(readLedger(deps, LEDGER, null)).rejects.toMatchObject({code: 'E_LEDGER_INCOMPLETE', exitCode: 5})
  })

  test('bytes that cannot be read are an error, a gap of compaction is none', async () => {
    await write(1n)
    broker.notices = [{kind: 'gap', from: 0n, to: 1n}]
    await expect(readLedger(deps, LEDGER, null)).resolves.toMatchObject({records: 1})
    broker.notices = [{kind: 'undecodable', from: 0n, to: 1n, error: new KafkaError('checksum')}]
    await expect(readLedger(deps, LEDGER, null)).rejects.toMatchObject({code: 'E_LEDGER_CORRUPT'})
  })

  test('a ledger that was recreated meanwhile is an error', async () => {
    await write(1n)
    const reader = new LedgerReader(deps, LEDGER)
    await reader.catchUp([ORDERS])
    broker.recreate(LEDGER.name, ORDERS)
    await expect(reader.catchUp([ORDERS])).rejects.toMatchObject({code: 'E_LEDGER_RECREATED'})
  })
})

describe('runs', () => {
  async function plan(): Promise<ReplayPlan> {
    const source = await archiveOf([deadLetter(1), deadLetter(2)])
    const planned = await planReplay({source, target: source, clock}, await inputFor(source))
    await closeArchives()
    return planned.plan
  }

  test('a run is stored in pieces and read back on another machine', async () => {
    const scribe = new LedgerScribe(clock, {run: RUN_A, by: 'ada'})
    const document = {plan: await plan(), files: {transform: 'ü€😀'.repeat(50)}}
    const records = scribe.run({reason: 'incident 7', version: '0.1.0'}, document, 301)
    const pieces = records.slice(0, -1).map(({value}) => value as Buffer)
    expect(pieces.length).toBeGreaterThan(3)
    expect(pieces.every(piece => piece.length <= 301 && piece.toString('utf8').isWellFormed())).toBe(true)
    expect(pieces.map(piece => piece.toString('utf8')).join('')).not.toContain('\u{fffd}')
    await commitLedger(await open('writer'), LEDGER, records, {clock})
    const stored = await loadRun(deps, LEDGER, RUN_A)
    expect(stored.document).toEqual(document)
    expect(stored.head).toMatchObject({
      run: RUN_A,
      by: 'ada',
      reason: 'incident 7',
      version: '0.1.0',
      pieces: pieces.length,
    })
    expect(stored.status).toBeNull()
  })

  test('runs are listed by time, with how they ended', async () => {
    const session = await open('writer')
    for (const run of [RUN_B, RUN_A]) {
      const scribe = new LedgerScribe(clock, {run, by: null})
      const records = scribe.run({reason: null, version: '0.1.0'}, {plan: await plan(), files: {}})
      await commitLedger(session, LEDGER, records, {clock})
    }
    const status = new LedgerScribe(clock, {run: RUN_A, by: null}).status({
      state: 'completed',
      reason: null,
      counts: {replayed: 2},
    })
    await commitLedger(
      session,
      LEDGER,
      [status, ...new LedgerScribe(clock, {run: RUN_A, by: null}).entries([outcomeOf(1n)])],
      {clock},
    )
    const runs = await listRuns(deps, LEDGER)
    expect(runs.map(({run, status}) => [run, status?.state ?? null])).toEqual([
      [RUN_A, 'completed'],
      [RUN_B, null],
    ])
  })

  test('an unknown run is a refusal', async () => {
    await expect(loadRun(deps, LEDGER, RUN_A)).rejects.toMatchObject({code: 'E_NO_RUN', exitCode: 6})
  })

  test('a run with a missing or changed piece is not run', async () => {
    const scribe = new LedgerScribe(clock, {run: RUN_A, by: 'ada'})
    const records = scribe.run({reason: null, version: '0.1.0'}, {plan: await plan(), files: {}}, 500)
    const session = await open('writer')
    await commitLedger(session, LEDGER, records.slice(1), {clock})
    await expect(loadRun(deps, LEDGER, RUN_A)).rejects.toMatchObject({code: 'E_LEDGER_RUN_BROKEN'})
    const [first] = records
    if (first === undefined) throw new Error('no record')
    await commitLedger(session, LEDGER, [{...first, value: Buffer.alloc(500, ' ')}], {clock})
    await expect(loadRun(deps, LEDGER, RUN_A)).rejects.toThrow('checksum')
  })
})

describe('batches', () => {
  test('records keep their order within a partition, rounds hold one batch a partition', () => {
    const value = 'x'.repeat(300_000)
    const records = Array.from({length: 10}, (_, n) => ({
      route: n % 2 === 0 ? 'orders-dlq' : ELSEWHERE,
      key: `k${n}`,
      value,
    }))
    const rounds = toRounds(LEDGER, records, 5n)
    expect(rounds.length).toBe(2)
    const seen: string[] = []
    for (const round of rounds) {
      expect(new Set(round.map(({partition}) => partition)).size).toBe(round.length)
      for (const {topic, partition, records: batch} of round) {
        expect(batch.sizeInBytes).toBeLessThan(1_048_588)
        const cursor = batch.view({baseOffset: 0n, timestampType: 'CreateTime'}).cursor()
        while (cursor.next()) seen.push(`${partition}:${cursor.toRecord(topic, partition).key?.toString() ?? ''}`)
      }
    }
    const own = seen.filter(name => name.startsWith(`${ORDERS}:`))
    expect(own).toEqual([0, 2, 4, 6, 8].map(n => `${ORDERS}:k${n}`))
    expect(seen.length).toBe(10)
  })

  test('a refused ledger batch aborts its transaction', async () => {
    const session = await open('writer')
    const refusing: TransactionSession = {
      ...session,
      isOpen: true,
      begin: () => session.begin(),
      produce: async batches => {
        await session.produce(batches)
        return batches.map(({topic, partition}) => ({
          topic,
          partition,
          baseOffset: null,
          logAppendTimeMs: null,
          error: new KafkaError('too large', {code: 'E_MESSAGE_TOO_LARGE'}),
          recordErrors: [],
        }))
      },
    }
    const writing = commitLedger(refusing, LEDGER, [entryRecord(entryOf(1n))], {clock})
    await expect(writing).rejects.toMatchObject({
      code: 'E_MESSAGE_TOO_LARGE',
      message: `ledger kdlq-ledger:${ORDERS} could not be written: too large`,
    })
    expect(session.isOpen).toBe(false)
    expect((await readLedger(deps, LEDGER, null)).index.size).toBe(0)
  })
})

function abortSoon(): {readonly signal: AbortSignal; readonly abort: () => void} {
  const controller = new AbortController()
  return {signal: controller.signal, abort: () => controller.abort(new Error('enough'))}
}
