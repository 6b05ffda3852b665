import {describe, expect, test} from 'vitest'
import {isScanIncomplete} from '../../../src/lib/dead-letter/scan-tally.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {UsageError} from '../../../src/lib/errors.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import type {Selection} from '../../../src/lib/select/selection.ts'
import {recordWith} from '../../support/records.ts'
import {ScanCluster} from './scan-cluster.ts'
import type {Logs} from './scan-cluster.ts'
import {NOW, include, log, records, scan} from './scan-support.ts'

describe('what is found', () => {
  test('[BR-39] all records of all partitions: neither an empty one nor an empty answer is the end', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(0), {...log(25), emptyBlocks: 3}, log(0)]})
    const {addresses, scanned} = await scan(cluster)
    expect(addresses).toHaveLength(25)
    expect(scanned.map(({partition, records, complete}) => [partition, records, complete])).toEqual([
      [0, 0, true],
      [1, 25, true],
      [2, 0, true],
    ])
  })

  test('[BR-40] matches at the end of each of five partitions, with the coverage', async () => {
    const cluster = new ScanCluster({'a-dlq': Array.from({length: 5}, () => log(500, 50))})
    const {addresses, scanned} = await scan(cluster, include({key: ['k-499']}))
    expect(addresses).toEqual([0, 1, 2, 3, 4].map(partition => `a-dlq:${partition}:499`))
    expect(scanned).toHaveLength(5)
    expect(scanned[4]).toMatchObject({from: '0', to: '500', records: 500, complete: true})
  })

  test('[BR-41] a match behind any number of records', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(60_001, 5000)]})
    const {addresses, scanned} = await scan(cluster, include({key: ['k-60000']}))
    expect(addresses).toEqual(['a-dlq:0:60000'])
    expect(scanned[0]).toMatchObject({records: 60_001, complete: true})
    expect(scanned.some(isScanIncomplete)).toBe(false)
  })

  test('[BR-42] the scan ends when a transaction marker is last', async () => {
    const logs: Logs = {
      'a-dlq': [
        {
          parts: [
            {records: records(0, 2), transactional: true},
            {records: records(2, 1), kind: 'control'},
          ],
        },
      ],
    }
    const {addresses, scanned} = await scan(new ScanCluster(logs))
    expect(addresses).toEqual(['a-dlq:0:0', 'a-dlq:0:1'])
    expect(scanned).toMatchObject([{from: '0', to: '3', records: 2, control: 1, complete: true}])
  })

  test('[BR-44] markers between segments are passed', async () => {
    const parts = [0, 3, 6].flatMap(at => [
      {records: records(at, 2)},
      {records: records(at + 2, 1), kind: 'control' as const},
    ])
    const {addresses, scanned} = await scan(new ScanCluster({'a-dlq': [{parts}]}))
    expect(addresses).toHaveLength(6)
    expect(scanned).toMatchObject([{control: 3, records: 6, complete: true}])
  })

  test('[BR-46] aborted records are left out unless they are asked for', async () => {
    const logs: Logs = {
      'a-dlq': [{parts: [{records: records(0, 2), kind: 'aborted', transactional: true}, {records: records(2, 1)}]}],
    }
    const committed = await scan(new ScanCluster(logs))
    expect(committed.addresses).toEqual(['a-dlq:0:2'])
    expect(committed.scanned).toMatchObject([{aborted: 2, records: 1, complete: true}])
    expect((await scan(new ScanCluster(logs), {isolationLevel: 'read_uncommitted'})).addresses).toHaveLength(3)
  })

  test('compaction gaps do not end a scan', async () => {
    const kept = [0, 3, 4, 90].flatMap(offset => records(offset, 1))
    const {addresses, scanned} = await scan(new ScanCluster({'a-dlq': [{parts: [{records: kept}], end: 100n}]}))
    expect(addresses).toEqual(['a-dlq:0:0', 'a-dlq:0:3', 'a-dlq:0:4', 'a-dlq:0:90'])
    expect(scanned).toMatchObject([{to: '100', records: 4, complete: true}])
  })

  test('only records of the range, though a batch holds more', async () => {
    const {addresses, scanned} = await scan(new ScanCluster({'a-dlq': [log(10)]}), {
      from: {kind: 'offset', offset: 3n},
      to: {kind: 'offset', offset: 5n},
    })
    expect(addresses).toEqual(['a-dlq:0:3', 'a-dlq:0:4'])
    expect(scanned).toMatchObject([{from: '3', to: '5', records: 2}])
  })

  test('ordered by topic, partition and offset', async () => {
    const cluster = new ScanCluster({'b-dlq': [log(2)], 'a-dlq': [log(1), log(2)]})
    expect((await scan(cluster)).addresses).toEqual(['a-dlq:0:0', 'a-dlq:1:0', 'a-dlq:1:1', 'b-dlq:0:0', 'b-dlq:0:1'])
    expect(cluster.reads.map(({order}) => order)).toEqual(['partition'])
  })

  test('an address inside a topic is read once, and the fetch asks for a partition once at a time', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(3), log(1)]})
    const {addresses} = await scan(cluster, {
      sources: [
        {kind: 'topic', topic: 'a-dlq'},
        {kind: 'address', address: {topic: 'a-dlq', partition: 0, offset: 1n}},
      ],
    })
    expect(addresses).toEqual(['a-dlq:0:0', 'a-dlq:0:1', 'a-dlq:0:2', 'a-dlq:1:0'])
  })
})

describe('time', () => {
  const at = (offset: number): Selection['from'] => ({kind: 'time', ms: NOW + BigInt(offset), assumedZone: null})
  // Timestamps that go up and down, and one record without any.
  const times = [1, 5, 2, 6, null, 3, 7]
  const mixed: Logs = {
    'a-dlq': [
      {
        parts: [
          {
            records: records(0, 7, offset => ({
              timestamp: times[offset] === null ? null : NOW + BigInt(times[offset] ?? 0),
            })),
          },
        ],
      },
    ],
  }
  const offsets = async (other: Partial<Selection>): Promise<string[]> =>
    (await scan(new ScanCluster(mixed), other)).letters.map(({record}) => String(record.offset))

  test('--from @T starts at the first record of that time and drops earlier ones behind it', async () => {
    expect(await offsets({from: at(5)})).toEqual(['1', '3', '6'])
  })

  test('--to @T reads to the end and drops what is not earlier', async () => {
    expect(await offsets({to: at(5)})).toEqual(['0', '2', '4', '5'])
  })

  test('a record without a timestamp is before every time', async () => {
    expect(await offsets({from: at(2), to: at(6)})).toEqual(['1', '2', '5'])
  })

  test('dropped records were scanned', async () => {
    const {scanned} = await scan(new ScanCluster(mixed), {to: at(2)})
    expect(scanned).toMatchObject([{records: 7, complete: true}])
  })
})

describe('the limit', () => {
  test('counts matching records and closes the reader', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(1000), log(1000)]})
    const {addresses, scanned} = await scan(cluster, {limit: 3, ...include({key: ['k-5', 'k-12', 'k-15', 'k-16']})})
    expect(addresses).toEqual(['a-dlq:0:5', 'a-dlq:0:12', 'a-dlq:0:15'])
    expect([cluster.blocks, cluster.closed]).toEqual([2, 1])
    expect(scanned).toMatchObject([
      {records: 16, complete: false, reason: 'limit'},
      {records: 0, complete: false, reason: 'limit'},
    ])
    expect(scanned.some(isScanIncomplete)).toBe(false)
  })

  test('within the last block leaves the rest of it unread, and says so', async () => {
    const {scanned} = await scan(new ScanCluster({'a-dlq': [log(3)]}), {limit: 2})
    expect(scanned).toMatchObject([{records: 2, complete: false, reason: 'limit'}])
  })

  test('that is met by the last record leaves nothing', async () => {
    const {scanned} = await scan(new ScanCluster({'a-dlq': [log(3)]}), {limit: 3})
    expect(scanned).toMatchObject([{records: 3, complete: true}])
  })

  test('that is not reached changes nothing', async () => {
    const {addresses, scanned} = await scan(new ScanCluster({'a-dlq': [log(3)]}), {limit: 4})
    expect(addresses).toHaveLength(3)
    expect(scanned).toMatchObject([{complete: true}])
  })

  test('of none reads nothing', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(3)]})
    expect((await scan(cluster, {limit: 0})).addresses).toEqual([])
    expect(cluster.reads).toEqual([])
  })
})

describe('the tail', () => {
  test('is the last by timestamp, topic, partition, offset over all partitions', async () => {
    const same = {timestamp: NOW}
    const cluster = new ScanCluster({
      'a-dlq': [
        {parts: [{records: records(0, 3, () => same)}]},
        {parts: [{records: records(0, 2, offset => ({timestamp: offset === 0 ? NOW + 1n : null}))}]},
      ],
      'b-dlq': [{parts: [{records: records(0, 1, () => same)}]}],
    })
    expect((await scan(cluster, {tail: 3})).addresses).toEqual(['a-dlq:0:2', 'b-dlq:0:0', 'a-dlq:1:0'])
    expect((await scan(cluster, {tail: 100})).addresses[0]).toBe('a-dlq:1:1')
    expect((await scan(cluster, {tail: 0})).addresses).toEqual([])
  })

  test('holds only what matches, and makes no object of what is too early', async () => {
    let made = 0
    const cluster = new ScanCluster({
      'a-dlq': [{parts: [{records: records(0, 100, offset => ({timestamp: NOW - BigInt(offset)}))}]}],
    })
    const createCounted = (record: KafkaRecord): DeadLetter => {
      made += 1
      return createDeadLetter(record)
    }
    const {addresses} = await scan(cluster, {tail: 2}, {createDeadLetter: createCounted})
    expect(addresses).toEqual(['a-dlq:0:1', 'a-dlq:0:0'])
    expect(made).toBe(2)
    expect((await scan(cluster, {tail: 2, ...include({key: ['k-7', 'k-8', 'k-9']})})).addresses).toEqual([
      'a-dlq:0:8',
      'a-dlq:0:7',
    ])
  })

  test('equals sorting everything', async () => {
    const shuffled = records(0, 500, offset => ({timestamp: NOW + BigInt((offset * 7919) % 101)}))
    const cluster = new ScanCluster({'a-dlq': [{parts: [{records: shuffled}]}]})
    const expected = shuffled
      .toSorted((a, b) => Number((a.timestamp ?? 0n) - (b.timestamp ?? 0n)) || Number(a.offset - b.offset))
      .slice(-40)
      .map(({offset}) => `a-dlq:0:${offset}`)
    expect((await scan(cluster, {tail: 40})).addresses).toEqual(expected)
  })

  test('has a bound in records and in bytes', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(1)]})
    await expect(scan(cluster, {tail: 100_001})).rejects.toThrow(UsageError)
    const value = Buffer.alloc(1 << 20)
    const letter = (offset: number): KafkaRecord =>
      recordWith([], {value, offset: BigInt(offset), timestamp: BigInt(offset)})
    const {Tail} = await import('../../../src/lib/dead-letter/scan-tail.ts')
    const tail = new Tail(1000)
    const fill = (): void => {
      for (let offset = 0; offset < 257; offset++) tail.push(letter(offset))
    }
    expect(fill).toThrow(/256 MiB/)
    const small = new Tail(10)
    for (let offset = 0; offset < 400; offset++) small.push(letter(offset))
    expect([...small.sorted()].map(({offset}) => Number(offset))).toEqual([
      390, 391, 392, 393, 394, 395, 396, 397, 398, 399,
    ])
  })
})
