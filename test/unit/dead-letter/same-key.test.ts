import {expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {findSameKey, SAME_KEY_BUDGET} from '../../../src/lib/dead-letter/same-key.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {recordWith} from '../../support/records.ts'
import {ScanCluster} from './scan-cluster.ts'
import type {Log} from './scan-cluster.ts'

const HEADERS = [
  ['__connect.errors.topic', 'orders'],
  ['__connect.errors.partition', '1'],
  ['__connect.errors.offset', '10'],
] as const

const record = (offset: number, key: string | null, more: Partial<KafkaRecord> = {}): KafkaRecord =>
  recordWith([], {offset: BigInt(offset), key: key === null ? null : Buffer.from(key), ...more})

const log = (...records: readonly KafkaRecord[]): Log => ({parts: records.map(each => ({records: [each]}))})

const LOGS = {
  'orders-dlq': [
    log(record(3, 'k', {timestamp: 5n}), record(4, 'other')),
    log(record(0, 'k', {timestamp: 9n, value: null})),
  ],
  orders: [
    log(record(20, 'k')),
    log(record(8, 'k'), record(10, 'k'), record(15, 'k'), record(16, 'kk'), record(22, 'k')),
  ],
}

function letter(more: Partial<KafkaRecord> = {}, headers: readonly (readonly [string, string])[] = HEADERS) {
  return createDeadLetter(recordWith(headers, {offset: 3n, key: Buffer.from('k'), ...more}))
}

async function find(letters = letter(), budget = SAME_KEY_BUDGET) {
  const clock = new FakeClock()
  return findSameKey({cluster: new ScanCluster(LOGS).cluster, clock}, letters, budget)
}

test('what has overtaken a dead letter: newer records of its key in the partition of its origin', async () => {
  expect(await find()).toMatchObject({
    newerAtOrigin: {count: 2, complete: true, records: [{address: 'orders:1:15'}, {address: 'orders:1:22'}]},
  })
})

test('other dead letters of the key in any partition, newest first, without itself', async () => {
  expect((await find())?.deadLetters).toEqual({
    count: 1,
    complete: true,
    records: [{address: 'orders-dlq:1:0', timestamp: '9', tombstone: true}],
  })
  const other = await find(letter({partition: 1, offset: 0n}))
  expect(other?.deadLetters.records.map(({address}) => address)).toEqual(['orders-dlq:0:3'])
})

test('a null key has no fellows, an empty one has its own', async () => {
  expect(await find(letter({key: null}))).toBeNull()
  expect((await find(letter({key: Buffer.alloc(0)})))?.deadLetters.count).toBe(0)
})

test('without an origin, or with one that is not there, nothing is said of it', async () => {
  expect((await find(letter({}, [])))?.newerAtOrigin).toBeNull()
  const gone = HEADERS.map(([name, value]) => [name, value === 'orders' ? 'lost' : value] as const)
  expect((await find(letter({}, gone)))?.newerAtOrigin).toBeNull()
})

test('beyond its budget it stops and says that more may be there', async () => {
  expect(await find(letter(), {...SAME_KEY_BUDGET, records: 1})).toMatchObject({
    deadLetters: {complete: false},
    newerAtOrigin: {count: 1, complete: false},
  })
})
