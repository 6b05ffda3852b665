import {describe, expect, test} from 'vitest'
import {KafkaError, UnreachableError} from '../../../src/lib/errors.ts'
import type {OutgoingBatch, ProduceResult, TransactionSession} from '../../../src/lib/kafka/ports.ts'
import {RecordBatchBuilder} from '../../../src/lib/kafka/records/batch-builder.ts'
import type {ChunkEntry, TargetBatch} from '../../../src/lib/replay/chunk.ts'
import {ExactlyOnceWriter} from '../../../src/lib/replay/exactly-once.ts'
import type {LedgerOutcome, SourceAddress} from '../../../src/lib/replay/ledger/types.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {NOW} from './support.ts'

const LEDGER = {name: 'ledger', topicId: null, clusterId: 'c', partitions: 1, maxMessageBytes: null}
const RUN = 'r-01ARYZ6S410000000000000000'

const entry = (offset: number): ChunkEntry => ({
  topic: 'dlq',
  partition: 0,
  offset: BigInt(offset),
  attempt: 1,
  origin: {topic: 'orders', partition: 0, offset: BigInt(offset)},
  sha256: Buffer.alloc(32, offset),
})

const batch = (...offsets: number[]): TargetBatch => {
  const records = new RecordBatchBuilder()
  for (const offset of offsets) {
    records.append({timestamp: 0n, key: null, value: Buffer.from(`v-${offset}`), headers: []})
  }
  return {topic: 'orders', partition: 0, records, entries: offsets.map(entry)}
}

const chunkOf = (...batches: TargetBatch[]) => ({batches: () => batches})

/** What a broker would hold: a transaction's records count once it is committed. */
class FakeBroker {
  readonly clock = new FakeClock({now: NOW, auto: true})
  readonly committed: string[] = []
  readonly calls: string[] = []
  readonly commits: LedgerOutcome[][] = []
  opened = 0
  /** Thrown by a commit, in this order; `late` = the broker did commit. */
  readonly failures: {error: KafkaError | UnreachableError; late: boolean}[] = []
  /** Values that the target refuses. */
  readonly bad = new Set<string>()
  /** How long one produce takes, ms. */
  produceMs = 0
  /** How fast the link is, bytes a second. */
  link = Infinity
  /** How long each transaction was open, ms. */
  readonly openMs: number[] = []

  session(): TransactionSession {
    this.opened++
    let pending: string[] = []
    let begun = 0
    const close = async (): Promise<void> => void this.calls.push('close')
    return {
      protocol: 2,
      producerId: 1n,
      isOpen: false,
      begin: () => {
        this.calls.push('begin')
        pending = []
        begun = this.clock.monotonic()
      },
      produce: async batches => {
        const bytes = batches.reduce((sum, {records}) => sum + records.sizeInBytes, 0)
        await this.clock.advance(this.produceMs + Math.ceil((bytes / this.link) * 1000))
        return batches.map(one => this.#produce(one, pending))
      },
      commit: async () => {
        this.calls.push('commit')
        this.openMs.push(this.clock.monotonic() - begun)
        const failure = this.failures.shift()
        if (failure === undefined || failure.late) this.committed.push(...pending)
        if (failure !== undefined) throw failure.error
      },
      abort: async () => void this.calls.push('abort'),
      close,
      [Symbol.asyncDispose]: close,
    }
  }

  writer(): ExactlyOnceWriter {
    const isDone = async ({offset}: SourceAddress): Promise<boolean> =>
      this.committed.some(text => text.startsWith('ledger ') && text.includes(`:${offset}|`))
    return new ExactlyOnceWriter(
      {
        clock: this.clock,
        ledger: LEDGER,
        author: {run: RUN, by: 'ann'},
        view: {refOf: () => ({clusterId: null, topicId: 'id'})},
        reopen: async () => this.session(),
        isDone,
        onCommit: async outcomes => void this.commits.push([...outcomes]),
      },
      this.session(),
    )
  }

  #produce({topic, partition, records}: OutgoingBatch, pending: string[]): ProduceResult {
    const cursor = records.view({baseOffset: 0n, timestampType: 'CreateTime'}).cursor()
    const texts: string[] = []
    while (cursor.next()) {
      const {key, value} = cursor.toRecord(topic, partition)
      texts.push(topic === 'ledger' ? `ledger ${key?.toString()} ${value?.toString()}` : (value?.toString() ?? ''))
    }
    this.calls.push(`${topic} ${texts.length}`)
    const common = {topic, partition, logAppendTimeMs: null, recordErrors: []}
    if (texts.some(text => this.bad.has(text))) {
      return {...common, baseOffset: null, error: new KafkaError('too large', {code: 'E_MESSAGE_TOO_LARGE'})}
    }
    pending.push(...texts)
    return {...common, baseOffset: 100n, error: null}
  }
}

const states = (outcomes: readonly {readonly state: string}[]): string[] => outcomes.map(({state}) => state)
const values = ({committed}: FakeBroker): string[] => committed.filter(text => text.startsWith('v-'))
const fail = (code: string): KafkaError => new KafkaError('lost', {code})

describe('a chunk in a transaction', () => {
  test('is records, then their entries with the real offsets, then the commit', async () => {
    const broker = new FakeBroker()
    const outcomes = await broker.writer().write(chunkOf(batch(1, 2)))
    expect(broker.calls).toEqual(['begin', 'orders 2', 'ledger 2', 'commit'])
    expect(states(outcomes)).toEqual(['replayed', 'replayed'])
    expect(broker.committed[2]).toContain('id|dlq:0:1|')
    expect(broker.committed[3]).toContain('"offset":"101"')
  })

  test('[CR-09] a bad record is split off until it is alone; the good ones and its failed entry go in the same transaction', async () => {
    const broker = new FakeBroker()
    broker.bad.add('v-3')
    const outcomes = await broker.writer().write(chunkOf(batch(1, 2, 3, 4)))
    expect(states(outcomes).toSorted()).toEqual(['failed', 'replayed', 'replayed', 'replayed'])
    expect(values(broker)).toEqual(['v-1', 'v-2', 'v-4'])
    expect(broker.calls.filter(call => call === 'commit')).toHaveLength(1)
    expect(
      broker.committed.some(text => text.includes('"state":"failed"') && text.includes('E_MESSAGE_TOO_LARGE')),
    ).toBe(true)
  })

  test('taking apart a batch with many bad records does not hold a transaction open: the rest goes into the next one', async () => {
    const broker = new FakeBroker()
    broker.produceMs = 300
    for (let offset = 0; offset < 8; offset += 2) broker.bad.add(`v-${offset}`)
    const outcomes = await broker.writer().write(chunkOf(batch(0, 1, 2, 3, 4, 5, 6, 7)))
    expect(states(outcomes).filter(state => state === 'replayed')).toHaveLength(4)
    expect(values(broker)).toEqual(['v-1', 'v-3', 'v-5', 'v-7'])
    const transactions = broker.calls.join(' ').split('begin').slice(1)
    expect(transactions.length).toBeGreaterThan(2)
    for (const calls of transactions) expect(calls.match(/orders/g)?.length ?? 0).toBeLessThanOrEqual(4)
  })

  /** One batch of about 1 MiB for each partition. */
  const wideChunk = (partitions: number) =>
    chunkOf(
      ...Array.from({length: partitions}, (_, partition): TargetBatch => {
        const records = new RecordBatchBuilder()
        records.append({timestamp: 0n, key: null, value: Buffer.alloc(1024 * 1024 - 8192, 65), headers: []})
        return {topic: 'orders', partition, records, entries: [entry(partition)]}
      }),
    )

  test('on a slow link a chunk of 16 MiB goes in several transactions, none open for two seconds', async () => {
    const broker = new FakeBroker()
    broker.link = 700_000
    const outcomes = await broker.writer().write(wideChunk(16))
    expect(states(outcomes)).toEqual(Array.from({length: 16}, () => 'replayed'))
    expect(outcomes.map(({entry: {offset}}) => Number(offset))).toEqual(Array.from({length: 16}, (_, index) => index))
    expect(broker.openMs.length).toBeGreaterThan(8)
    expect(Math.max(...broker.openMs)).toBeLessThan(2000)
  })

  test('on a fast link transactions soon hold a whole chunk', async () => {
    const broker = new FakeBroker()
    broker.link = 100_000_000
    const writer = broker.writer()
    await writer.write(wideChunk(16))
    const before = broker.openMs.length
    expect(before).toBeLessThanOrEqual(5)
    await writer.write(wideChunk(16))
    expect(broker.openMs.length - before).toBe(1)
    expect(Math.max(...broker.openMs)).toBeLessThan(800)
  })
})

describe('a session that was lost', () => {
  test.each(['E_TRANSACTION_TIMED_OUT', 'E_TRANSACTION_ABORTABLE', 'E_TRANSACTION_UNSETTLED'])(
    '%s: not committed, so another session writes the chunk again',
    async code => {
      const broker = new FakeBroker()
      broker.failures.push({error: fail(code), late: false})
      const outcomes = await broker.writer().write(chunkOf(batch(1, 2)))
      expect(states(outcomes)).toEqual(['replayed', 'replayed'])
      expect(values(broker)).toEqual(['v-1', 'v-2'])
      expect(broker.opened).toBe(2)
      expect(broker.commits).toHaveLength(1)
    },
  )

  test('the commit’s answer was lost, but the ledger has it: nothing is written twice', async () => {
    const broker = new FakeBroker()
    broker.failures.push({error: new UnreachableError('no answer', {code: 'E_TRANSACTION_UNSETTLED'}), late: true})
    const outcomes = await broker.writer().write(chunkOf(batch(1, 2)))
    expect(states(outcomes)).toEqual(['replayed', 'replayed'])
    expect(values(broker)).toEqual(['v-1', 'v-2'])
    expect(broker.commits).toHaveLength(1)
  })

  test('lost over and over: the records are unknown, resume decides', async () => {
    const broker = new FakeBroker()
    for (let time = 0; time < 9; time++) broker.failures.push({error: fail('E_TRANSACTION_TIMED_OUT'), late: false})
    const outcomes = await broker.writer().write(chunkOf(batch(1, 2)))
    expect(states(outcomes)).toEqual(['unknown', 'unknown'])
    expect(values(broker)).toEqual([])
  })

  test('E_FENCED ends the run: no other session is opened', async () => {
    const broker = new FakeBroker()
    broker.failures.push({error: fail('E_FENCED'), late: false})
    await expect(broker.writer().write(chunkOf(batch(1)))).rejects.toMatchObject({code: 'E_FENCED'})
    expect(broker.opened).toBe(1)
  })
})
