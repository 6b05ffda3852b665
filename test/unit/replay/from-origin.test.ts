import {afterEach, describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import type {Failure} from '../../../src/lib/dialects/model.ts'
import {KafkaError} from '../../../src/lib/errors.ts'
import type {Cluster, ReadRequest, RecordBlock} from '../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {compareWithOrigin} from '../../../src/lib/replay/from-origin-compare.ts'
import {originOf} from '../../../src/lib/replay/from-origin-letter.ts'
import {coverOffsets, planReads} from '../../../src/lib/replay/from-origin-ranges.ts'
import {OriginWindow} from '../../../src/lib/replay/from-origin-window.ts'
import {OriginReader} from '../../../src/lib/replay/from-origin.ts'
import {archiveOf, closeArchives, deadLetter, header, NOW} from './support.ts'

afterEach(closeArchives)

/** A record of `orders`, partition 3. */
function original(offset: number, over: Partial<KafkaRecord> = {}): KafkaRecord {
  return {
    topic: 'orders',
    partition: 3,
    offset: BigInt(offset),
    timestamp: BigInt(NOW - 60_000),
    timestampType: 'CreateTime',
    key: Buffer.from(`k-${offset - 1000}`),
    value: Buffer.from(`v-${offset - 1000}`),
    headers: [header('trace', 'abc')],
    ...over,
  }
}

/** Notes what is read. */
function watched(cluster: Cluster, reads: ReadRequest[]): Cluster {
  const {reader} = cluster
  return {
    ...cluster,
    description: cluster.description,
    reader: {
      topics: (names, options) => reader.topics(names, options),
      offsets: (queries, options) => reader.offsets(queries, options),
      read(request, options) {
        reads.push(request)
        return reader.read(request, options)
      },
    },
  }
}

const places = (...offsets: number[]) =>
  offsets.map(offset => ({topic: 'orders', partition: 3, offset: BigInt(offset)}))

describe('ranges that hold the wanted offsets', () => {
  test('join what lies close together, whatever the order and however often', () => {
    expect(coverOffsets([7n, 5n, 20n, 5n, 9n, 2n ** 53n + 1n], 3)).toEqual([
      {from: 5n, to: 10n},
      {from: 20n, to: 21n},
      {from: 2n ** 53n + 1n, to: 2n ** 53n + 2n},
    ])
    expect(coverOffsets([7n, 5n, 20n], 12)).toEqual([{from: 5n, to: 21n}])
    expect(coverOffsets([], 10)).toEqual([])
  })

  test('name each partition once a read: as many reads as the most scattered partition has ranges', () => {
    const reads = planReads(
      [
        {topic: 'a', partition: 0, offsets: [1n, 100n, 1000n]},
        {topic: 'a', partition: 1, offsets: [1n, 2n]},
        {topic: 'b', partition: 0, offsets: [5n, 500n]},
      ],
      10,
    )
    expect(reads.map(ranges => ranges.map(({topic, partition, from}) => `${topic}:${partition}:${from}`))).toEqual([
      ['a:0:1', 'a:1:1', 'b:0:5'],
      ['a:0:100', 'b:0:500'],
      ['a:0:1000'],
    ])
  })
})

describe('records at their origin', () => {
  test('[BR-13] come by place, many in one read; what is gone says why', async () => {
    const source = await archiveOf([10, 11, 12, 14, 15].map(offset => original(offset)))
    const reads: ReadRequest[] = []
    const cluster = watched(source, reads)
    const answers = await new OriginReader({source: cluster, target: cluster}).fetch([
      ...places(15, 9, 10, 13, 16, 10),
      {topic: 'orders', partition: 4, offset: 10n},
      {topic: 'payments', partition: 0, offset: 0n},
      {topic: 'no topic', partition: 0, offset: 0n},
      {topic: 'orders', partition: 3, offset: -1n},
    ])
    expect(
      answers.map(answer => (answer.state === 'found' ? String(answer.record.offset) : [answer.state, answer.reason])),
    ).toEqual([
      '15',
      ['gone', 'orders:3 begins at 10: the record was deleted'],
      '10',
      ['gone', 'there is no record at orders:3:13: compacted away, or never committed'],
      ['gone', 'orders:3 ends at 16: the topic was created again or cut off'],
      '10',
      ['gone', 'orders has no partition 4'],
      ['gone', 'there is no topic payments any more'],
      ['unknown', '"no topic" is no legal topic name'],
      ['unknown', 'offset -1 names no record'],
    ])
    expect(reads).toHaveLength(1)
    expect(reads[0]?.ranges).toEqual([{topic: 'orders', partition: 3, from: 10n, to: 16n}])
  })

  test('are looked for where the dead letters are, then where they go', async () => {
    const source = await archiveOf([deadLetter(0)])
    const target = await archiveOf([original(1000)])
    const reader = new OriginReader({source, target})
    const [answer] = await reader.fetch(places(1000))
    expect(answer).toMatchObject({state: 'found', record: {offset: 1000n, value: Buffer.from('v-0')}})
    expect(reader.topics()).toEqual([{topic: 'orders', topicId: null}])
  })

  test('of a topic that was created again since the plan are gone', async () => {
    const archive = await archiveOf([original(1000)])
    const cluster: Cluster = {
      ...archive,
      description: archive.description,
      reader: {
        offsets: (queries, options) => archive.reader.offsets(queries, options),
        read: (request, options) => archive.reader.read(request, options),
        topics: async (names, options) =>
          (await archive.reader.topics(names, options)).map(topic => ({...topic, id: 'new-id'})),
      },
    }
    const reader = (topicId: string) =>
      new OriginReader({source: cluster, target: cluster}, {expected: [{topic: 'orders', topicId}]})
    expect(await reader('new-id').fetch(places(1000))).toMatchObject([{state: 'found'}])
    expect(await reader('old-id').fetch(places(1000))).toEqual([
      {state: 'gone', reason: 'topic orders was deleted and created again since the plan was made'},
    ])
  })

  test('behind an open transaction, or in a broken batch, or of a hidden topic are not known', async () => {
    const error = new KafkaError('not allowed to describe secret', {code: 'E_TOPIC_AUTHORIZATION_FAILED'})
    const broken = new KafkaError('a batch has another checksum')
    const archive = await archiveOf([])
    const block = {...EMPTY_BLOCK, from: 0n, to: 10n, nextOffset: 6n}
    const notices: RecordBlock['notices'] = [
      {kind: 'undecodable', from: 2n, to: 4n, error: broken},
      {kind: 'incomplete', at: 6n, reason: 'open-transaction', error: null},
    ]
    const cluster: Cluster = {
      ...archive,
      description: archive.description,
      reader: {
        topics: async names =>
          (names ?? []).map(name => ({
            name,
            id: null,
            internal: false,
            partitions: [{partition: 0, leader: 1, error: null}],
            error: name === 'secret' ? error : null,
          })),
        offsets: async queries =>
          queries.map(query => ({...query, offset: query.at === 'latest' ? 10n : 0n, error: null})),
        async *read() {
          yield {...block, notices}
        },
      },
    }
    const answers = await new OriginReader({source: cluster, target: cluster}).fetch([
      {topic: 'open', partition: 0, offset: 1n},
      {topic: 'open', partition: 0, offset: 3n},
      {topic: 'open', partition: 0, offset: 9n},
      {topic: 'secret', partition: 0, offset: 0n},
    ])
    expect(answers).toEqual([
      {state: 'gone', reason: 'there is no record at open:0:1: compacted away, or never committed'},
      {state: 'unknown', reason: broken.message},
      {state: 'unknown', reason: 'open:0 could be read up to 6: a transaction is open there'},
      {state: 'unknown', reason: error.message},
    ])
  })
})

const EMPTY_BLOCK: Omit<RecordBlock, 'from' | 'to' | 'nextOffset' | 'notices'> = {
  topic: 'open',
  partition: 0,
  batches: [],
  bytes: 0,
  controlRecords: 0,
  abortedRecords: 0,
  throttleMs: 0,
  done: true,
}

describe('a record at its origin, held against its dead letter,', () => {
  const held = (record: KafkaRecord, origin: KafkaRecord, failure?: Failure) => {
    const letter = createDeadLetter(record)
    const finding = compareWithOrigin(
      failure === undefined ? letter : {record, failure, address: letter.address, fingerprint: null},
      {state: 'found', record: origin},
    )
    return finding.state === 'found' ? finding.differences : [finding.state, 'reason' in finding ? finding.reason : '']
  }
  const pointer: Failure = {
    dialect: 'share-group',
    payload: 'absent',
    origin: {topic: 'orders', partition: 3, offset: '1000'},
  }

  test('is the same when its time is', () => {
    expect(held(deadLetter(0), original(1000))).toEqual([])
  })

  test('[BR-80] is the same although the copy was serialised again: what differs is named', () => {
    const copy = deadLetter(0, {value: Buffer.from('{"amount": 1}')})
    expect(held(copy, original(1000, {value: Buffer.from([0, 0, 0, 0, 7, 2])}))).toEqual(['value'])
    expect(held(copy, original(1000, {key: null, headers: []}))).toEqual(['key', 'value', 'headers'])
  })

  test('is another one when its time is another', () => {
    expect(held(deadLetter(0), original(1000, {timestamp: BigInt(NOW)}))).toEqual([
      'other',
      `the record there is of time ${NOW}, the one that failed was of ${NOW - 60_000}`,
    ])
  })

  test('is judged by key, value and headers where the time says nothing', () => {
    const lost: Partial<KafkaRecord> = {timestamp: null, timestampType: 'NoTimestampType'}
    const at = (over: Partial<KafkaRecord>) => original(1000, {...lost, ...over})
    expect(held(deadLetter(0), at({}))).toEqual([])
    expect(held(deadLetter(0), at({key: Buffer.from('other')}))).toEqual(['key'])
    expect(held(deadLetter(0), at({value: Buffer.from('other')}))).toEqual(['value'])
    const both = {key: Buffer.from('other'), value: Buffer.from('other')}
    expect(held(deadLetter(0), at(both))).toEqual(['other', 'the record there has another key'])
    const keyless = deadLetter(0, {key: null})
    expect(held(keyless, at({key: null, value: Buffer.from('other')}))).toEqual(['value'])
    expect(held(keyless, at({key: null, value: Buffer.from('other'), headers: []}))).toEqual([
      'other',
      'nothing of the record there is as in the dead letter',
    ])
  })

  test('[BR-13] of a pointer is taken, unless it is newer than the pointer', () => {
    const record = deadLetter(0, {key: null, value: null, headers: []})
    expect(held(record, original(1000, {timestamp: record.timestamp}), pointer)).toEqual([])
    expect(held(record, original(1000, {timestamp: BigInt(NOW + 600_000)}), pointer)).toEqual([
      'other',
      `the record there is of time ${NOW + 600_000}, after its dead letter of ${NOW - 60_000}`,
    ])
  })

  test('may carry the mark of an earlier replay', () => {
    const marked = original(1000, {headers: [header('trace', 'abc'), header('kdlq.replay', '{}')]})
    expect(held(deadLetter(0), marked)).toEqual([])
  })
})

describe('a window of dead letters', () => {
  test('fetches for many at once and hands them on in order, those without an origin too', async () => {
    const source = await archiveOf(Array.from({length: 300}, (_, index) => original(1000 + index)))
    const reads: ReadRequest[] = []
    const cluster = watched(source, reads)
    const seen: string[] = []
    const window = new OriginWindow<number>(
      new OriginReader({source: cluster, target: cluster}),
      async (letter, at) => {
        seen.push(`${letter.record.offset} ${originOf(letter)?.state} ${at}`)
      },
    )
    for (let index = 0; index < 300; index++) {
      const record = deadLetter(index, index === 7 ? {headers: []} : {})
      await window.add(createDeadLetter(record), index)
    }
    await window.flush()
    await window.flush()
    expect(seen).toEqual(
      Array.from({length: 300}, (_, index) => `${index} ${index === 7 ? 'unknown' : 'found'} ${index}`),
    )
    expect(reads.length).toBeLessThanOrEqual(3)
  })

  test('grows smaller where the origins are large', async () => {
    const source = await archiveOf(
      Array.from({length: 128}, (_, index) => original(1000 + index, {value: Buffer.alloc(1024)})),
    )
    const reads: ReadRequest[] = []
    const cluster = watched(source, reads)
    const reader = new OriginReader({source: cluster, target: cluster})
    const window = new OriginWindow<null>(reader, async () => undefined, {maxBytes: 16 * 1024})
    for (let index = 0; index < 128; index++) await window.add(createDeadLetter(deadLetter(index)), null)
    await window.flush()
    const sizes = reads.map(({ranges: [range]}) => Number((range?.to ?? 0n) - (range?.from ?? 0n)))
    expect(sizes[0]).toBeLessThan(64)
    expect(Math.max(...sizes.slice(1))).toBeLessThanOrEqual(16)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(128)
  })
})
