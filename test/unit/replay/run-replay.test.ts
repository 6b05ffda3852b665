import {afterEach, describe, expect, test, vi} from 'vitest'
import {KafkaError} from '../../../src/lib/errors.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {parseProvenance} from '../../../src/lib/replay/provenance.ts'
import {FakeTarget, NOW, closeArchives, connectSet, deadLetter, header} from './support.ts'
import {NO_PROVENANCE, RUN, letters, run, world} from './run-support.ts'

afterEach(closeArchives)

describe('a replayed record', () => {
  const hostile = deadLetter(0, {
    key: Buffer.of(0),
    value: Buffer.from([0x0a, 0x00, 0xff, 0x0a]),
    headers: [
      header('a', '1'),
      header('b', null),
      header('a', ''),
      {name: Buffer.of(0xff, 0xfe), value: Buffer.of(0x80)},
      ...connectSet('orders', 3, 7),
      header('', 'no name'),
      header('type', 'order.v2'),
    ],
  })

  test('[BR-53] [BR-21] [BR-23] [BR-33] [BR-64] without provenance is the original, byte for byte', async () => {
    const there = await world([hostile], {headers: NO_PROVENANCE})
    const {result} = await run(there)
    expect(result.counts).toMatchObject({selected: 1, replayed: 1})
    const [written] = there.target.written
    expect(written?.key).toEqual(hostile.key)
    expect(written?.value).toEqual(hostile.value)
    expect(written?.timestamp).toBe(hostile.timestamp)
    expect(written?.partition).toBe(3)
    expect(written?.headers).toEqual([
      ...hostile.headers.slice(0, 4),
      header('', 'no name'),
      header('type', 'order.v2'),
    ])
  })

  test('[BR-31] [BR-32] [BR-62] [BR-63] [BR-77] foreign headers are bytes: kept, not decoded, not counted as failure', async () => {
    const foreign = [
      {name: Buffer.from('kafka_replyPartition'), value: Buffer.of(0, 0, 0, 1)},
      header('testHeader', 'SGVhZGVyVmFsdWU='),
      {name: Buffer.from('__value_schema_id'), value: Buffer.from('0102030405060708090a0b0c0d0e0f10', 'hex')},
      {name: Buffer.from('large-message'), value: Buffer.of(0xff, 0x00)},
      {name: Buffer.from('amqp'), value: Buffer.of(0xa1, 0xff)},
    ]
    const there = await world([deadLetter(0, {headers: [...connectSet('orders', 3, 1), ...foreign]})], {
      headers: NO_PROVENANCE,
    })
    await run(there)
    expect(there.target.written[0]?.headers).toEqual(foreign)
  })

  test('with provenance differs by exactly that header', async () => {
    const there = await world([hostile])
    await run(there)
    const headers = there.target.written[0]?.headers ?? []
    expect(headers).toHaveLength(7)
    expect(parseProvenance(headers.at(-1)?.value ?? null)).toEqual({run: RUN, attempt: 1, deadLetter: 'orders-dlq:0:0'})
  })

  test('a second replay replaces the provenance and counts on', async () => {
    const before = header('kdlq.replay', '{"run":"r-0","attempt":4,"deadLetter":"orders-dlq:0:9"}')
    const there = await world([deadLetter(0, {headers: [before, ...connectSet('orders', 3, 1)]})], {maxAttempts: 5})
    await run(there)
    const [only, ...others] = there.target.written[0]?.headers ?? []
    expect(others).toEqual([])
    expect(parseProvenance(only?.value ?? null)?.attempt).toBe(5)
  })

  test.each([
    ['null key', {key: null}],
    ['empty key and value', {key: Buffer.alloc(0), value: Buffer.alloc(0)}],
    ['tombstone', {value: null}],
    ['text null', {value: Buffer.from('null')}],
    ['1 MiB value', {value: Buffer.alloc(1024 * 1024, 'x')}],
  ])('[BR-56] keeps: %s', async (_, over) => {
    const record = deadLetter(0, over)
    const there = await world([record], {allow: ['tombstone'], headers: NO_PROVENANCE})
    await run(there)
    expect(there.target.written[0]?.key).toEqual(record.key)
    expect(there.target.written[0]?.value).toEqual(record.value)
  })

  test('[BR-65] one record and a hundred of it come out the same', async () => {
    const many = await world(
      Array.from({length: 100}, (_, offset) => ({
        ...hostile,
        offset: BigInt(offset),
        headers: [...hostile.headers.slice(0, 4), ...connectSet('orders', 3, offset)],
      })),
      {headers: NO_PROVENANCE},
    )
    await run(many)
    expect(many.target.written).toHaveLength(100)
    for (const written of many.target.written) {
      expect([written.key, written.value, written.headers]).toEqual([
        hostile.key,
        hostile.value,
        hostile.headers.slice(0, 4),
      ])
    }
  })

  test('--keep-header, --drop-header and --set-header decide in the order drop, set, keep, strip', async () => {
    const headers = {
      ...NO_PROVENANCE,
      keep: ['__connect.errors.stage', '__connect.errors.topic'],
      drop: ['b', '__connect.errors.topic'],
      set: [{name: 'a', value: 'mine'}],
    }
    const there = await world([hostile], {headers})
    await run(there)
    expect(there.target.written[0]?.headers.map(({name}) => name.toString())).toEqual([
      Buffer.of(0xff, 0xfe).toString(),
      '__connect.errors.stage',
      '',
      'type',
      'a',
    ])
  })

  test('--timestamp now carries the time of its token', async () => {
    const there = await world(letters(120), {timestamp: 'now', rate: 500})
    await run(there)
    const times = there.target.written.map(({timestamp}) => Number(timestamp) - NOW)
    expect(new Set(times)).toEqual(new Set([0, 100, 200]))
    expect(times.filter(time => time === 0)).toHaveLength(50)
  })
})

describe('pace and order', () => {
  test('a chunk is what the rate allows at once, and no token is waited for inside it', async () => {
    const there = await world(letters(120), {rate: 500})
    const {result} = await run(there)
    expect(there.target.calls.map(batches => batches.reduce((sum, {records}) => sum + records, 0))).toEqual([
      50, 50, 20,
    ])
    expect(there.clock.sleeps).toEqual([100, 100])
    expect(result.metrics).toMatchObject({chunks: 3, recordsReplayed: 120, throttledMs: 200})
  })

  test('one record a minute is sent at once and alone, not behind the next wait', async () => {
    const there = await world(letters(3), {rate: 1 / 60}, {auto: false})
    const running = run(there)
    await vi.waitFor(() => expect(there.target.written).toHaveLength(1))
    await there.clock.advance(60_000)
    await vi.waitFor(() => expect(there.target.written).toHaveLength(2))
    await there.clock.advance(60_000)
    const {result} = await running
    expect(result.counts.replayed).toBe(3)
  })

  test('keeps the order of the dead letter topic within a target partition; one call holds several partitions', async () => {
    const records = Array.from({length: 60}, (_, offset) =>
      deadLetter(offset, {headers: connectSet('orders', offset % 3, offset)}),
    )
    const there = await world(records)
    await run(there)
    expect(there.target.calls).toHaveLength(1)
    for (const partition of [0, 1, 2]) {
      const keys = there.target.written
        .filter(written => written.partition === partition)
        .map(({key}) => key?.toString())
      expect(keys).toEqual(records.filter((_, index) => index % 3 === partition).map(({key}) => key?.toString()))
    }
  })

  test('a batch stays below max.message.bytes of its target', async () => {
    const target = new FakeTarget({orders: {partitions: 6, configs: {'max.message.bytes': '4000'}}})
    const there = await world(
      Array.from({length: 20}, (_, offset) => deadLetter(offset, {value: Buffer.alloc(1000)})),
      {},
      {target},
    )
    const {result} = await run(there)
    expect(result.counts.replayed).toBe(20)
    expect(Math.max(...target.calls.flat().map(({records}) => records))).toBe(3)
  })
})

describe('what fails', () => {
  const tooLarge = (value: string) => (_: unknown, records: readonly KafkaRecord[]) =>
    records.some(record => record.value?.toString() === value)
      ? {error: new KafkaError('too large', {code: 'E_MESSAGE_TOO_LARGE'}), recordErrors: []}
      : null

  test('[CR-17] [CR-06] a refused batch is split until the bad record is alone; the good ones go, in order', async () => {
    const there = await world(letters(40))
    there.target.answer = tooLarge('v-17')
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 39, failed: 1})
    expect(result.failures).toEqual([
      {address: 'orders-dlq:0:17', state: 'failed', code: 'E_MESSAGE_TOO_LARGE', message: 'too large'},
    ])
    expect(there.target.written.map(({value}) => value?.toString())).toEqual(
      letters(40)
        .map(({value}) => value?.toString())
        .filter(value => value !== 'v-17'),
    )
  })

  test('records that the broker names are taken out at once', async () => {
    const there = await world(letters(10))
    there.target.answer = (_, records) => {
      const recordErrors = records.flatMap((record, index) =>
        ['v-2', 'v-9'].includes(String(record.value)) ? [{index, message: 'bad\n schema'}] : [],
      )
      return recordErrors.length === 0
        ? null
        : {error: new KafkaError('refused', {code: 'E_INVALID_RECORD'}), recordErrors}
    }
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 8, failed: 2})
    expect(result.failures.map(({address, message}) => [address, message])).toEqual([
      ['orders-dlq:0:2', 'refused: bad schema'],
      ['orders-dlq:0:9', 'refused: bad schema'],
    ])
    // one refused call, then the two runs of good ones
    expect(there.target.calls.map(call => call.map(({records}) => records))).toEqual([[10], [2], [6]])
  })

  test('[BR-78] a record that is refused alone is not sent again', async () => {
    const there = await world(letters(1))
    there.target.answer = () => ({error: new KafkaError('no schema', {code: 'E_INVALID_RECORD'}), recordErrors: []})
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 0, failed: 1})
    expect(there.target.calls).toHaveLength(1)
  })

  test('positions outside the batch are not believed', async () => {
    const there = await world(letters(2))
    there.target.answer = (_, records) =>
      records.length > 1
        ? {error: new KafkaError('refused', {code: 'E_INVALID_RECORD'}), recordErrors: [{index: 99, message: null}]}
        : null
    expect((await run(there)).result.counts.replayed).toBe(2)
  })

  test('an error that no record is to blame for fails its partition; the others go on', async () => {
    const records = Array.from({length: 20}, (_, offset) =>
      deadLetter(offset, {headers: connectSet('orders', offset % 2, offset)}),
    )
    const there = await world(records)
    there.target.answer = ({partition}) =>
      partition === 0
        ? {error: new KafkaError('no leader', {code: 'E_NOT_LEADER_OR_FOLLOWER'}), recordErrors: []}
        : null
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 10, failed: 10})
    expect(there.target.calls).toHaveLength(1)
    expect(result.targets).toEqual([{topic: 'orders', partition: 1, count: 10}])
  })

  test('[BR-67] what may have been written is unknown, listed, and never counted as replayed', async () => {
    const records = Array.from({length: 4}, (_, offset) =>
      deadLetter(offset, {headers: connectSet('orders', offset % 2, offset)}),
    )
    const there = await world(records)
    there.target.answer = ({partition}) =>
      partition === 1 ? {error: new KafkaError('not known', {code: 'E_OUTCOME_UNKNOWN'}), recordErrors: []} : null
    const {result} = await run(there)
    expect(result.counts).toMatchObject({replayed: 2, unknown: 2, failed: 0})
    expect(result.failures.map(({address, state}) => [address, state])).toEqual([
      ['orders-dlq:0:1', 'unknown'],
      ['orders-dlq:0:3', 'unknown'],
    ])
  })

  test('a target of which nothing is known any more ends the run', async () => {
    const there = await world(letters(500), {rate: 500})
    there.target.answer = () => ({error: new KafkaError('not known', {code: 'E_OUTCOME_UNKNOWN'}), recordErrors: []})
    const {result, error} = await run(there)
    expect(result.stopped).toMatchObject({reason: 'target-unreachable', settled: true})
    expect(result.counts.unknown).toBe(50)
    expect(error).toMatchObject({code: 'E_OUTCOME_UNKNOWN', exitCode: 5})
  })

  test('a target that takes nothing any more ends the run too, its records are failed', async () => {
    const there = await world(letters(500), {rate: 500})
    there.target.answer = () => ({error: new KafkaError('timeout', {code: 'E_NOT_WRITTEN'}), recordErrors: []})
    const {result, error} = await run(there)
    expect(result.stopped).toMatchObject({reason: 'target-unreachable', remaining: 450})
    expect(result.counts.failed).toBe(50)
    expect(error).toMatchObject({code: 'E_NOT_WRITTEN', exitCode: 5})
  })

  test('--max-failed stops after the chunk that passed it', async () => {
    const there = await world(letters(200), {rate: 100})
    there.target.answer = () => ({
      error: new KafkaError('no', {code: 'E_TOPIC_AUTHORIZATION_FAILED'}),
      recordErrors: [],
    })
    const {result} = await run(there, {maxFailed: 15})
    expect(result.stopped).toMatchObject({reason: 'max-failed', remaining: 180})
    expect(result.counts.failed).toBe(20)
  })

  test('--errors-tolerance none stops at the first failed record', async () => {
    const there = await world(letters(200), {rate: 100})
    there.target.answer = tooLarge('v-3')
    const {result} = await run(there, {maxFailed: 0})
    expect(result.counts).toMatchObject({replayed: 9, failed: 1})
    expect(result.stopped?.reason).toBe('max-failed')
  })

  test('a writer that throws leaves its chunk unknown and the rest unsent', async () => {
    const there = await world(letters(100), {rate: 500})
    there.target.before = async () => {
      throw new KafkaError('connection reset', {code: 'E_NETWORK'})
    }
    const {result, error} = await run(there)
    expect(result.counts).toMatchObject({replayed: 0, unknown: 50})
    expect(result.stopped).toMatchObject({reason: 'error', remaining: 50})
    expect(error).toMatchObject({code: 'E_NETWORK'})
  })
})
