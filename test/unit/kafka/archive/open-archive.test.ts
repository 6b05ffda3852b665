import {readdirSync, readFileSync} from 'node:fs'
import {mkdir, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Readable} from 'node:stream'
import {gzipSync, zstdCompressSync} from 'node:zlib'

import {describe, expect, test} from 'vitest'

import {IoError, type KdlqError} from '../../../../src/lib/errors.ts'
import {openArchive} from '../../../../src/lib/kafka/archive/index.ts'
import type {KafkaRecord} from '../../../../src/lib/kafka/record.ts'
import {
  archiveFile,
  everything,
  kafkaRecord,
  opened,
  readBlocks,
  readRecords,
  temporaryDirectory,
  toLines,
} from './archives.ts'

const hostile: readonly KafkaRecord[] = [
  kafkaRecord({offset: 0n, key: null, value: null}),
  kafkaRecord({offset: 1n, key: Buffer.alloc(0), value: Buffer.alloc(0), timestamp: null}),
  kafkaRecord({
    offset: 5n,
    key: Buffer.from([0xff]),
    value: Buffer.alloc(1_048_576, 'x'),
    timestampType: 'LogAppendTime',
    headers: [
      {name: Buffer.from('a'), value: Buffer.from('1')},
      {name: Buffer.from('b'), value: null},
      {name: Buffer.from('a'), value: Buffer.alloc(0)},
      {name: Buffer.alloc(0), value: Buffer.from([0xc3])},
      {name: Buffer.from([0xfe]), value: Buffer.from('x')},
    ],
  }),
  kafkaRecord({offset: 6n, timestamp: 5n, timestampType: 'LogAppendTime'}),
  kafkaRecord({offset: 9_007_199_254_740_993n}),
  kafkaRecord({offset: 9_223_372_036_854_775_806n}),
]

const many = (count: number, fields: Partial<KafkaRecord> = {}): KafkaRecord[] =>
  Array.from({length: count}, (_, index) => kafkaRecord({offset: BigInt(index), ...fields}))

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  )
}

describe('openArchive', () => {
  test.each([
    ['plain', (text: string) => Buffer.from(text)],
    ['gzip', (text: string) => gzipSync(text)],
    ['zstd', (text: string) => zstdCompressSync(text)],
    ['gzip in two members', (text: string) => Buffer.concat([gzipSync(text.slice(0, 40)), gzipSync(text.slice(40))])],
  ])('reads every record unchanged from a %s file and a stream', async (_, pack) => {
    const bytes = pack(toLines(hostile))
    const file = await opened(await archiveFile(bytes))
    expect(await readRecords(file, await everything(file))).toEqual(hostile)
    // In odd pieces, the first shorter than the bytes that tell the compression.
    const pieces = [bytes.subarray(0, 1), bytes.subarray(1, 3), bytes.subarray(3)]
    await using stream = await openArchive(Readable.from(pieces))
    expect(stream.description).toEqual({kind: 'archive', clusterId: 'archive:-', name: '-'})
    expect(await readRecords(stream, await everything(stream))).toEqual(hostile)
  })

  test('leaves no temporary file behind', async () => {
    const leftovers = (): string[] => readdirSync(tmpdir()).filter(name => /^kdlq-.*\.tmp$/.test(name))
    const before = leftovers()
    const cluster = await opened(await archiveFile(gzipSync(toLines(many(3)))))
    await cluster.close()
    await cluster.close()
    expect(leftovers()).toEqual(before)
  })

  test('reads a directory, one file a topic, plain and compressed, and nothing else in it', async () => {
    const directory = await temporaryDirectory()
    await writeFile(join(directory, 'orders-dlq.ndjson'), toLines(many(2)))
    await writeFile(join(directory, 'b.ndjson.gz'), gzipSync(toLines(many(3, {topic: 'b', partition: 4}))))
    await writeFile(join(directory, 'c.ndjson.zst'), zstdCompressSync(toLines(many(1, {topic: 'c'}))))
    await writeFile(join(directory, 'empty.ndjson'), '')
    await writeFile(join(directory, 'expected.json'), '{')
    await mkdir(join(directory, 'sources'))
    const cluster = await opened(directory)
    const topics = await cluster.reader.topics(null)
    expect(topics.map(topic => [topic.name, topic.partitions.map(entry => entry.partition)])).toEqual([
      ['b', [4]],
      ['c', [0]],
      ['empty', []],
      ['orders-dlq', [0]],
    ])
    expect(await readRecords(cluster, await everything(cluster))).toHaveLength(6)
  })

  test('the example archives hold what their table says', async () => {
    const root = new URL('../../../../examples/', import.meta.url)
    const table = readFileSync(new URL('README.md', root), 'utf8').matchAll(/^\| `([^`]+)` \| (\d+) \|/gm)
    const expected = Object.fromEntries(Array.from(table, ([, name, count]) => [name ?? '', Number(count)]))
    const cluster = await opened(root.pathname)
    const counts: Record<string, number> = {}
    for (const {topic} of await readRecords(cluster, await everything(cluster))) {
      counts[topic] = (counts[topic] ?? 0) + 1
    }
    expect(counts).toEqual(expected)
    expect(Object.keys(counts).length).toBeGreaterThan(5)
  })

  test('an empty file is an empty archive', async () => {
    const cluster = await opened(await archiveFile(''))
    expect(await cluster.reader.topics(null)).toEqual([])
  })

  test('takes a byte order mark, CRLF, empty lines and a missing last line end', async () => {
    const [first = '', second = ''] = toLines(many(2)).split('\n')
    const cluster = await opened(await archiveFile(`\uFEFF${first}\r\n\r\n  \n${second}`))
    expect(await readRecords(cluster, await everything(cluster))).toEqual(many(2))
  })
})

describe('a broken archive', () => {
  test('is refused with the number of its first broken line, before any record is given out', async () => {
    const path = await archiveFile(`${toLines(many(2))}{"topic":"x"}\n${toLines(many(1, {offset: 9n}))}`)
    const error = await failure(openArchive(path))
    expect(error).toMatchObject({
      code: 'E_ARCHIVE_LINE',
      exitCode: 1,
      context: {line: 3, file: 'orders-dlq.ndjson'},
    })
  })

  test('a last line that is cut off is a broken line, wherever it is cut', async () => {
    const text = toLines(many(2))
    const start = text.indexOf('\n') + 1
    for (let cut = start + 1; cut < text.length - 1; cut += 7) {
      expect(await failure(openArchive(await archiveFile(text.slice(0, cut))))).toMatchObject({context: {line: 2}})
    }
  })

  test('with skipBadLines each broken line is told once and the rest is read', async () => {
    const text = `nonsense\n${toLines(many(2))}[]\n${toLines([kafkaRecord({offset: 7n}), kafkaRecord({offset: 3n})])}`
    const told: KdlqError[] = []
    const cluster = await opened(await archiveFile(text), {skipBadLines: true, onBadLine: error => told.push(error)})
    const records = await readRecords(cluster, await everything(cluster))
    expect(records.map(record => record.offset)).toEqual([0n, 1n, 3n, 7n])
    expect(told.map(error => error.context['line'])).toEqual([1, 4])
  })

  test.each([
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ])('%s data that is cut off or changed is an error', async (_, pack) => {
    const packed = pack(toLines(hostile))
    expect(await failure(openArchive(await archiveFile(packed.subarray(0, packed.length - 3))))).toMatchObject({
      code: 'E_ARCHIVE_DATA',
      exitCode: 1,
    })
    expect(await failure(openArchive(Readable.from([packed.subarray(0, packed.length - 3)])))).toMatchObject({
      code: 'E_ARCHIVE_DATA',
    })
    const changed = Buffer.from(packed)
    changed.fill(0xaa, 12, 40)
    expect(await failure(openArchive(await archiveFile(changed)))).toBeInstanceOf(IoError)
  })

  test('a path that does not exist, a stream that fails and an abort are errors of their own', async () => {
    const missing = join(await temporaryDirectory(), 'none.ndjson')
    expect(await failure(openArchive(missing))).toMatchObject({code: 'E_ARCHIVE_NOT_FOUND'})
    const failing = Readable.from(
      (async function* () {
        yield 'x'.repeat(10)
        throw Object.assign(new Error('gone'), {code: 'ECONNRESET'})
      })(),
    )
    expect(await failure(openArchive(failing))).toMatchObject({code: 'E_ARCHIVE'})
    const reason = new Error('stopped')
    const path = await archiveFile(toLines(many(3)))
    expect(await failure(openArchive(path, {signal: AbortSignal.abort(reason)}))).toBe(reason)
    const packed = await archiveFile(gzipSync(toLines(many(3))))
    expect(await failure(openArchive(packed, {signal: AbortSignal.abort(reason)}))).toBe(reason)
    const controller = new AbortController()
    const silent = new Readable({read: () => controller.abort(reason)})
    expect(await failure(openArchive(silent, {signal: controller.signal}))).toBe(reason)
  })
})

describe('lines in any order', () => {
  test('come by topic, partition and offset, and each once', async () => {
    const records = ['a', 'b'].flatMap(topic =>
      [0, 1].flatMap(partition => many(50).map(({offset}) => kafkaRecord({topic, partition, offset: offset * 3n}))),
    )
    // A fixed shuffle: 7 has no factor in common with 200.
    const shuffled = records.map((_, index) => records[(index * 7 + 3) % records.length] ?? kafkaRecord())
    const cluster = await opened(await archiveFile(toLines(shuffled)))
    expect(await readRecords(cluster, await everything(cluster))).toEqual(records)
    const [tail] = await cluster.reader.offsets([{topic: 'b', partition: 1, at: 'latest'}])
    expect(tail?.offset).toBe(148n)
  })

  test('the same offset a second time is a broken line', async () => {
    const text = toLines([...many(3), kafkaRecord({offset: 1n, value: Buffer.from('other')})])
    expect(await failure(openArchive(await archiveFile(text)))).toMatchObject({
      code: 'E_ARCHIVE_LINE',
      context: {line: 4},
    })
    const told: KdlqError[] = []
    const cluster = await opened(await archiveFile(text), {skipBadLines: true, onBadLine: error => told.push(error)})
    expect(await readRecords(cluster, await everything(cluster))).toEqual(many(3))
    expect(told.map(error => error.message)).toEqual([expect.stringContaining('orders-dlq:0:1 comes a second time')])
  })
})

describe('reading', () => {
  test('goes in blocks of bounded size and says where it stands', async () => {
    const big = many(40, {value: Buffer.alloc(100_000, 'z')})
    const path = await archiveFile(toLines(big))
    const cluster = await opened(path)
    const blocks = await readBlocks(cluster, await everything(cluster))
    expect(blocks.length).toBeGreaterThan(2)
    expect(blocks.map(block => block.done)).toEqual([...blocks.slice(1).map(() => false), true])
    expect(blocks.at(-1)?.nextOffset).toBe(40n)
    expect(blocks.reduce((sum, block) => sum + block.bytes, 0)).toBe(readFileSync(path).length)
    for (const block of blocks) {
      expect(block.batches.reduce((sum, batch) => sum + batch.sizeInBytes, 0)).toBeLessThan(1_300_000)
    }
  })

  test('says what a range misses at both ends', async () => {
    const cluster = await opened(await archiveFile(toLines([kafkaRecord({offset: 10n}), kafkaRecord({offset: 12n})])))
    const range = {topic: 'orders-dlq', partition: 0}
    const [block] = await readBlocks(cluster, [{...range, from: 3n, to: 20n}])
    expect(block).toMatchObject({nextOffset: 13n, done: true})
    expect(block?.notices).toEqual([
      {kind: 'gap', from: 3n, to: 10n},
      {kind: 'incomplete', at: 13n, reason: 'truncated', error: null},
    ])
    const [inner] = await readBlocks(cluster, [{...range, from: 11n, to: 12n}])
    expect(inner).toMatchObject({nextOffset: 12n, notices: [], batches: [], done: true})
    const [unknown] = await readBlocks(cluster, [{topic: 'nope', partition: 0, from: 0n, to: 1n}])
    expect(unknown).toMatchObject({done: true, notices: [{kind: 'incomplete', reason: 'unavailable'}]})
  })

  test('a file that changes under the reader is an error, never another record', async () => {
    const path = await archiveFile(toLines(many(3)))
    const cluster = await opened(path)
    const ranges = await everything(cluster)
    await writeFile(path, toLines(many(3, {topic: 'other-dlqs'})))
    expect(await failure(readRecords(cluster, ranges))).toMatchObject({code: 'E_ARCHIVE_CHANGED'})
  })
})
