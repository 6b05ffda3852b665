/** What everything above lib/kafka relies on: one suite over the ports, run on an archive and on a real broker. */
import {setImmediate} from 'node:timers/promises'

import {afterAll, beforeAll, describe, expect, test} from 'vitest'

import type {Cluster, OffsetPoint, ReadRange, RecordBlock} from '../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {recordsIn} from '../../src/lib/kafka/records/records-in.ts'
import type {CompressionType, OutgoingRecord} from '../../src/lib/kafka/records/types.ts'

/** One implementation of the ports, with what the ports do not offer for making test data. */
export interface ContractFixture extends AsyncDisposable {
  readonly cluster: Cluster
  /** A new topic, empty, that keeps records of any age and size. @returns its name */
  createTopic(partitions: number): Promise<string>
  /** A topic with one partition whose visible records have gaps between their offsets, also in front of the first. */
  topicWithGaps(): Promise<{readonly topic: string; readonly offsets: readonly bigint[]}>
}

const CODECS: readonly CompressionType[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const header = (name: string, value: string | null): OutgoingRecord['headers'][number] => ({
  name: Buffer.from(name),
  value: value === null ? null : Buffer.from(value),
})

/** Records that are easily damaged on their way. */
export const HOSTILE: readonly OutgoingRecord[] = [
  {timestamp: 1_700_000_000_000n, key: null, value: null, headers: []},
  {timestamp: 1_700_000_000_001n, key: Buffer.alloc(0), value: Buffer.alloc(0), headers: []},
  {
    timestamp: 1_700_000_000_002n,
    key: Buffer.from('tombstone'),
    value: null,
    headers: [header('a', '1'), header('n', 'null')],
  },
  {
    timestamp: 1_600_000_000_000n,
    key: Buffer.from([0, 0, 0, 0]),
    value: Buffer.from([0xff, 0xfe, 0x00, 0xc0, 0x80]),
    headers: [header('a', '1'), header('b', null), header('a', ''), header('', 'x'), header('a', null)],
  },
  {
    timestamp: 1_700_000_000_003n,
    key: Buffer.from('k'),
    value: Buffer.from('\u001b[31mred\u202e \u0000'),
    headers: [
      {name: Buffer.from('é'), value: Buffer.from([0xc3])},
      {name: Buffer.from('p'), value: Buffer.from([0, 0, 0, 3])},
      header('n', null),
    ],
  },
  {
    timestamp: 1_700_000_000_004n,
    key: null,
    value: Buffer.alloc(1_048_576, 'x'),
    headers: [header('big', 'y'.repeat(9000))],
  },
]

const content = ({timestamp, key, value, headers}: OutgoingRecord): OutgoingRecord => ({timestamp, key, value, headers})

function numbered(count: number, prefix = ''): OutgoingRecord[] {
  return Array.from({length: count}, (_, index) => ({
    timestamp: 1_700_000_000_000n + BigInt(index) * 1000n,
    key: null,
    value: Buffer.from(`${prefix}${index}`),
    headers: [],
  }))
}

/** Write records to one partition, as one batch. @returns the offset of the first */
async function produce(
  cluster: Cluster,
  topic: string,
  partition: number,
  list: readonly OutgoingRecord[],
  compression: CompressionType = 'none',
): Promise<bigint> {
  await using session = await cluster.writer.open({compression, transactionalId: null, deliveryTimeoutMs: 20_000})
  const records = new RecordBatchBuilder()
  for (const record of list) records.append(record)
  const [result] = await session.produce([{topic, partition, records}])
  if (result?.error !== null) throw result?.error ?? new Error('no result')
  if (result.baseOffset === null) throw new Error('no offset')
  return result.baseOffset
}

async function readAll(
  cluster: Cluster,
  ranges: readonly ReadRange[],
  order: 'partition' | 'arrival' = 'partition',
): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = []
  for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_committed', order})) {
    for (const cursor of recordsIn(block)) records.push(cursor.toRecord(block.topic, block.partition))
  }
  return records
}

async function offset(cluster: Cluster, topic: string, partition: number, at: OffsetPoint): Promise<bigint | null> {
  const [answer] = await cluster.reader.offsets([{topic, partition, at}])
  if (answer?.error !== null) throw answer?.error ?? new Error('no answer')
  return answer.offset
}

const texts = (records: readonly KafkaRecord[]): string[] => records.map(record => String(record.value))

/** @param create a fixture for the whole suite */
export function describeContract(name: string, create: () => Promise<ContractFixture>): void {
  describe(`ports over ${name}`, () => {
    let fixture: ContractFixture
    let cluster: Cluster
    beforeAll(async () => {
      fixture = await create()
      ;({cluster} = fixture)
    })
    afterAll(() => fixture[Symbol.asyncDispose]())

    describe('records', () => {
      test.each(CODECS)('keep null, empty, repeated, binary and 1 MiB through %s', async compression => {
        const topic = await fixture.createTopic(1)
        expect(await produce(cluster, topic, 0, HOSTILE, compression)).toBe(0n)
        const records = await readAll(cluster, [{topic, partition: 0, from: 0n, to: BigInt(HOSTILE.length)}])
        expect(records.map(content)).toEqual(HOSTILE)
        expect(records.map(record => [record.topic, record.partition, record.offset, record.timestampType])).toEqual(
          HOSTILE.map((_, index) => [topic, 0, BigInt(index), 'CreateTime']),
        )
      })

      test('without a time stay without one', async () => {
        const topic = await fixture.createTopic(1)
        const [record] = numbered(1)
        await produce(cluster, topic, 0, record === undefined ? [] : [{...record, timestamp: null}])
        const [read] = await readAll(cluster, [{topic, partition: 0, from: 0n, to: 1n}])
        expect(read?.timestamp).toBeNull()
      })

      test('spliced from what was read are byte-equal at their new place', async () => {
        const [source, target] = [await fixture.createTopic(1), await fixture.createTopic(1)]
        await produce(cluster, source, 0, HOSTILE, 'lz4')
        await using session = await cluster.writer.open({
          compression: 'zstd',
          transactionalId: null,
          deliveryTimeoutMs: 20_000,
        })
        const records = new RecordBatchBuilder()
        const ranges = [{topic: source, partition: 0, from: 0n, to: BigInt(HOSTILE.length)}]
        for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
          for (const cursor of recordsIn(block)) {
            records.appendSpliced(cursor, {timestamp: cursor.timestamp, dropHeader: null, addHeaders: []})
          }
        }
        const [result] = await session.produce([{topic: target, partition: 0, records}])
        expect(result).toMatchObject({baseOffset: 0n, error: null})
        const copies = await readAll(cluster, [{...ranges[0], topic: target, partition: 0, from: 0n, to: 6n}])
        expect(copies.map(content)).toEqual(HOSTILE)
      })

      test('of several partitions are written in one call, each with its own result in the same order', async () => {
        const topic = await fixture.createTopic(3)
        await using session = await cluster.writer.open({
          compression: 'none',
          transactionalId: null,
          deliveryTimeoutMs: 20_000,
        })
        const round = (): {topic: string; partition: number; records: RecordBatchBuilder}[] =>
          [2, 0, 1].map(partition => {
            const records = new RecordBatchBuilder()
            for (const record of numbered(partition + 1, `p${partition}-`)) records.append(record)
            return {topic, partition, records}
          })
        const first = await session.produce(round())
        const second = await session.produce(round())
        expect([first, second].map(results => results.map(result => [result.partition, result.baseOffset]))).toEqual([
          [
            [2, 0n],
            [0, 0n],
            [1, 0n],
          ],
          [
            [2, 3n],
            [0, 1n],
            [1, 2n],
          ],
        ])
        const ranges = [0, 1, 2].map(partition => ({topic, partition, from: 0n, to: BigInt(2 * partition + 2)}))
        expect(texts(await readAll(cluster, ranges))).toEqual([
          'p0-0',
          'p0-0',
          'p1-0',
          'p1-1',
          'p1-0',
          'p1-1',
          'p2-0',
          'p2-1',
          'p2-2',
          'p2-0',
          'p2-1',
          'p2-2',
        ])
      })
    })

    describe('topics and offsets', () => {
      test('a topic is described with its partitions, an unknown one with an error beside it', async () => {
        const topic = await fixture.createTopic(3)
        for (const partition of [0, 1, 2]) await produce(cluster, topic, partition, numbered(1))
        const unknown = `${topic}-unknown`
        const described = await cluster.reader.topics([unknown, topic])
        expect(described.map(entry => [entry.name, entry.partitions.length, entry.error === null])).toEqual([
          [unknown, 0, false],
          [topic, 3, true],
        ])
        const all = await cluster.reader.topics(null)
        expect(all.map(entry => entry.name)).toContain(topic)
        expect(all.map(entry => entry.name)).not.toContain(unknown)
      })

      test('offsets by position and by time come in the order of the questions, errors beside them', async () => {
        const topic = await fixture.createTopic(2)
        await produce(cluster, topic, 0, numbered(5))
        const base = 1_700_000_000_000n
        const at = (point: OffsetPoint): Promise<bigint | null> => offset(cluster, topic, 0, point)
        expect(await at('earliest')).toBe(0n)
        expect(await at('latest')).toBe(5n)
        expect(await at('last-stable')).toBe(5n)
        expect(await at({timestampMs: 0n})).toBe(0n)
        expect(await at({timestampMs: base})).toBe(0n)
        expect(await at({timestampMs: base + 1n})).toBe(1n)
        expect(await at({timestampMs: base + 4000n})).toBe(4n)
        expect(await at({timestampMs: base + 4001n})).toBeNull()
        const answers = await cluster.reader.offsets([
          {topic, partition: 0, at: 'latest'},
          {topic: `${topic}-unknown`, partition: 0, at: 'latest'},
          {topic, partition: 77, at: 'latest'},
          {topic, partition: 0, at: 'earliest'},
        ])
        expect(answers.map(answer => [answer.offset, answer.error === null])).toEqual([
          [5n, true],
          [null, false],
          [null, false],
          [0n, true],
        ])
      })

      test('a time finds the first record at or after it in the order of offsets, not of times', async () => {
        const topic = await fixture.createTopic(1)
        const times = [5000n, 1000n, 9000n, 2000n]
        for (const timestamp of times) {
          await produce(cluster, topic, 0, [{timestamp, key: null, value: Buffer.from('x'), headers: []}])
        }
        const found = await Promise.all(
          [1n, 5000n, 5001n, 9001n].map(timestampMs => offset(cluster, topic, 0, {timestampMs})),
        )
        expect(found).toEqual([0n, 0n, 2n, null])
      })
    })

    describe('a read', () => {
      test('gives exactly the range, from every start to every end', async () => {
        const topic = await fixture.createTopic(1)
        // Batches of different sizes, so that ranges begin and end inside them.
        for (const [start, count] of [
          [0, 3],
          [3, 1],
          [4, 4],
        ] as const) {
          await produce(cluster, topic, 0, numbered(8).slice(start, start + count), 'lz4')
        }
        for (let from = 0; from <= 8; from++) {
          for (let to = from; to <= 8; to++) {
            const records = await readAll(cluster, [{topic, partition: 0, from: BigInt(from), to: BigInt(to)}])
            expect(texts(records)).toEqual(
              numbered(8)
                .slice(from, to)
                .map(record => String(record.value)),
            )
          }
        }
      })

      test('passes over gaps from every start, and ends at the end', async () => {
        const {topic, offsets} = await fixture.topicWithGaps()
        const end = await offset(cluster, topic, 0, 'last-stable')
        expect(offsets.length).toBeGreaterThan(3)
        expect(end ?? 0n).toBeGreaterThan(BigInt(offsets.length))
        for (let from = 0n; from <= (end ?? 0n); from++) {
          const records = await readAll(cluster, [{topic, partition: 0, from, to: end}])
          expect(records.map(record => record.offset)).toEqual(offsets.filter(each => each >= from))
        }
      })

      test('goes by topic and partition in the order of its ranges, or as it arrives', async () => {
        const [one, two] = [await fixture.createTopic(2), await fixture.createTopic(1)]
        const places = [
          [two, 0],
          [one, 1],
          [one, 0],
        ] as const
        for (const [topic, partition] of places)
          await produce(cluster, topic, partition, numbered(20, `${topic}:${partition}:`))
        const ranges = places.map(([topic, partition]) => ({topic, partition, from: 2n, to: 18n}))
        const expected = places.flatMap(([topic, partition]) =>
          Array.from({length: 16}, (_, index) => `${topic}:${partition}:${index + 2}`),
        )
        expect(texts(await readAll(cluster, ranges))).toEqual(expected)
        const arrived = texts(await readAll(cluster, ranges, 'arrival'))
        expect([...arrived].sort()).toEqual([...expected].sort())
        for (const [topic, partition] of places) {
          const own = `${topic}:${partition}:`
          expect(arrived.filter(text => text.startsWith(own))).toEqual(expected.filter(text => text.startsWith(own)))
        }
      })

      test('ends each range with one last block, also an empty one', async () => {
        const topic = await fixture.createTopic(2)
        await produce(cluster, topic, 0, numbered(4))
        await produce(cluster, topic, 1, numbered(4))
        const ranges = [
          {topic, partition: 0, from: 1n, to: 3n},
          {topic, partition: 1, from: 2n, to: 2n},
        ]
        const blocks: RecordBlock[] = []
        for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
          blocks.push({...block, batches: []})
        }
        const last = blocks.filter(block => block.done)
        expect(last.map(block => [block.partition, block.from, block.to])).toEqual([
          [0, 1n, 3n],
          [1, 2n, 2n],
        ])
        expect(last.every(block => block.nextOffset >= (block.to ?? 0n))).toBe(true)
        expect(blocks.flatMap(block => block.notices)).toEqual([])
      })

      test('waits for a slow reader, whose block stays as it is until the next one', async () => {
        const topic = await fixture.createTopic(2)
        const value = Buffer.alloc(100_000)
        for (let batch = 0; batch < 20; batch++) {
          const list = numbered(4).map(record => ({...record, value: Buffer.from(value.fill(batch))}))
          for (const partition of [0, 1]) await produce(cluster, topic, partition, list, 'lz4')
        }
        const ranges = [0, 1].map(partition => ({topic, partition, from: 0n, to: 80n}))
        const seen: string[] = []
        for await (const block of cluster.reader.read({ranges, isolationLevel: 'read_committed', order: 'partition'})) {
          for (let turn = 0; turn < 50; turn++) await setImmediate()
          for (const cursor of recordsIn(block)) {
            const first = cursor.bytes[cursor.valueStart]
            const last = cursor.bytes[cursor.valueStart + cursor.valueLength - 1]
            seen.push(`${block.partition}:${cursor.offset} ${cursor.valueLength} ${first} ${last}`)
          }
        }
        const expected = [0, 1].flatMap(partition =>
          Array.from({length: 80}, (_, at) => `${partition}:${at} 100000 ${at >> 2} ${at >> 2}`),
        )
        expect(seen).toEqual(expected)
      })

      test('ends when its reader leaves, or with the reason of the signal', async () => {
        const topic = await fixture.createTopic(1)
        for (let batch = 0; batch < 30; batch++) {
          await produce(
            cluster,
            topic,
            0,
            numbered(1).map(record => ({...record, value: Buffer.alloc(200_000)})),
          )
        }
        const request = {
          ranges: [{topic, partition: 0, from: 0n, to: 30n}],
          isolationLevel: 'read_committed',
          order: 'partition',
        } as const
        let left = 0
        for await (const block of cluster.reader.read(request)) {
          left += block.done ? 0 : 1
          break
        }
        expect(left).toBe(1)

        const reason = new Error('enough')
        const controller = new AbortController()
        const aborted = async (signal: AbortSignal): Promise<void> => {
          for await (const block of cluster.reader.read(request, {signal})) {
            if (block.nextOffset > 0n) controller.abort(reason)
          }
        }
        await expect(aborted(controller.signal)).rejects.toBe(reason)
        await expect(aborted(AbortSignal.abort(reason))).rejects.toBe(reason)
      })
    })
  })
}
