import {describe, expect, test} from 'vitest'
import {scanRecords} from '../../../src/lib/dead-letter/scan-records.ts'
import type {ScanProgress} from '../../../src/lib/dead-letter/scan-records.ts'
import {isScanIncomplete} from '../../../src/lib/dead-letter/scan-tally.ts'
import {scanDeadLetters} from '../../../src/lib/dead-letter/scan.ts'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {BugError} from '../../../src/lib/errors.ts'
import {compileFilters} from '../../../src/lib/select/compile.ts'
import {ScanCluster} from './scan-cluster.ts'
import type {Log} from './scan-cluster.ts'
import {freeze, include, log, records, scan} from './scan-support.ts'

describe('what goes wrong', () => {
  test('a batch with a wrong checksum is left out, counted, and the scan not complete', async () => {
    const parts = [{records: records(0, 3)}, {records: records(3, 4), broken: true}, {records: records(7, 2)}]
    const {addresses, scanned} = await scan(new ScanCluster({'a-dlq': [{parts}]}))
    expect(addresses).toEqual([0, 1, 2, 7, 8].map(offset => `a-dlq:0:${offset}`))
    expect(scanned).toMatchObject([{records: 5, undecodable: 4, complete: false, reason: 'undecodable'}])
    expect(scanned.every(isScanIncomplete)).toBe(true)
  })

  test('a partition that ends early says why', async () => {
    const {scanned} = await scan(new ScanCluster({'a-dlq': [{...log(5), incomplete: 'truncated'}]}))
    expect(scanned).toMatchObject([{records: 5, complete: false, reason: 'truncated'}])
  })

  test('an old open transaction and a partition without a leader make the scan incomplete', async () => {
    const open: Log = {
      parts: [{records: records(0, 2)}, {records: records(2, 1, () => ({timestamp: 0n})), transactional: true}],
      lastStable: 2n,
    }
    const {addresses, scanned} = await scan(new ScanCluster({'a-dlq': [open, {parts: [], unavailable: true}]}))
    expect(addresses).toHaveLength(2)
    expect(scanned.map(({complete, reason}) => [complete, reason])).toEqual([
      [false, 'open-transaction'],
      [false, 'unavailable'],
    ])
  })

  test('[BR-41] an abort ends the scan with its reason, and says how far it came', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(30)]})
    const frozen = await freeze(cluster)
    const controller = new AbortController()
    const run = scanDeadLetters(cluster.cluster, frozen, await compileFilters(frozen.filters), {
      signal: controller.signal,
    })
    const read = async (): Promise<void> => {
      for await (const {record} of run) if (record.offset === 4n) controller.abort(new Error('stop'))
    }
    await expect(read()).rejects.toThrow('stop')
    expect(cluster.closed).toBe(1)
    expect(run.scanned()).toMatchObject([{records: 10, complete: false, reason: 'interrupted'}])
  })

  test('whoever stops reading closes the reader', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(30)]})
    const frozen = await freeze(cluster)
    const run = scanDeadLetters(cluster.cluster, frozen, await compileFilters(frozen.filters))
    for await (const {record} of run) if (record.offset === 4n) break
    expect(cluster.closed).toBe(1)
    expect(run.scanned().every(isScanIncomplete)).toBe(true)
  })

  test('a --where that cannot be evaluated is counted for its partition', async () => {
    const value = (offset: number) => ({value: Buffer.from(offset % 2 === 0 ? '{"n":1}' : 'text')})
    const cluster = new ScanCluster({'a-dlq': [{parts: [{records: records(0, 6, value)}]}, log(0)]})
    const {addresses, scanned} = await scan(cluster, include({where: ['value.n == 1']}))
    expect(addresses).toEqual(['a-dlq:0:0', 'a-dlq:0:2', 'a-dlq:0:4'])
    expect(scanned.map(({whereErrors}) => whereErrors)).toEqual([3, undefined])
  })
})

describe('blocks', () => {
  test('give the bytes of matching records and make objects only when asked', async () => {
    let made = 0
    const cluster = new ScanCluster({'a-dlq': [log(20)]})
    const frozen = await freeze(cluster, include({key: ['k-3', 'k-15']}))
    const run = scanRecords(cluster.cluster, frozen, await compileFilters(frozen.filters), {
      createDeadLetter: record => {
        made += 1
        return createDeadLetter(record)
      },
    })
    const keys: string[] = []
    const addresses: string[] = []
    for await (const block of run) {
      for (const match of block.matches()) {
        const {bytes, keyStart, keyLength} = match.cursor
        keys.push(bytes.toString('utf8', keyStart, keyStart + keyLength))
        if (keys.length === 2) addresses.push(match.deadLetter().address, match.deadLetter().address)
      }
    }
    expect(keys).toEqual(['k-3', 'k-15'])
    expect(addresses).toEqual(['a-dlq:0:15', 'a-dlq:0:15'])
    expect(made).toBe(1)
  })

  test('are counted in full by whoever leaves them early', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(20)]})
    const frozen = await freeze(cluster)
    const run = scanRecords(cluster.cluster, frozen, await compileFilters(frozen.filters))
    let blocks = 0
    for await (const block of run) blocks += block.block.batches.length
    expect(blocks).toBe(2)
    expect(run.scanned()).toMatchObject([{records: 20, complete: true}])
  })

  test('do not know a tail', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(1)]})
    const frozen = await freeze(cluster, {tail: 1})
    const filters = await compileFilters(frozen.filters)
    expect(() => scanRecords(cluster.cluster, frozen, filters)).toThrow(BugError)
  })

  test('report progress once each, by offsets', async () => {
    const seen: ScanProgress[] = []
    await scan(new ScanCluster({'a-dlq': [log(15), log(5)]}), include({key: ['k-1']}), {
      onProgress: progress => seen.push(progress),
    })
    expect(seen.map(({records, matched, fraction}) => [records, matched, fraction])).toEqual([
      [10, 1, 0.5],
      [15, 1, 0.75],
      [20, 2, 1],
    ])
    expect(seen.every(({bytes}, index) => bytes > (seen[index - 1]?.bytes ?? 0))).toBe(true)
  })

  test('pass the read rate on, and follow in the order of arrival without a fraction', async () => {
    const cluster = new ScanCluster({'a-dlq': [log(3), log(3)]})
    const seen: ScanProgress[] = []
    const {scanned} = await scan(cluster, {follow: true}, {readRate: 1000, onProgress: progress => seen.push(progress)})
    expect(cluster.reads).toMatchObject([{order: 'arrival', readRate: 1000, ranges: [{to: null}, {to: null}]}])
    expect(seen.at(-1)?.fraction).toBeNull()
    expect(scanned.map(({to}) => to)).toEqual(['3', '3'])
  })
})
