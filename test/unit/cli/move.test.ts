import {mkdtemp, readFile, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {joinClusters} from '../../../src/lib/cli/joined-cluster.ts'
import {exportRecords} from '../../../src/lib/dead-letter/export.ts'
import {importRecords, planImport} from '../../../src/lib/dead-letter/import.ts'
import {KafkaError} from '../../../src/lib/errors.ts'
import {
  createArchiveWriter,
  formatArchiveLine,
  openArchive,
  parseArchiveLine,
} from '../../../src/lib/kafka/archive/index.ts'
import type {Cluster} from '../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {Readable} from 'node:stream'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-move-'))
})
afterEach(async () => rm(folder, {recursive: true, force: true}))

const record = (overrides: Partial<KafkaRecord> = {}): KafkaRecord => ({
  topic: 'orders-dlq',
  partition: 0,
  offset: 0n,
  timestamp: 1_760_000_000_000n,
  timestampType: 'CreateTime',
  key: Buffer.from('k'),
  value: Buffer.from('v'),
  headers: [
    {name: Buffer.from('a'), value: Buffer.from('1')},
    {name: Buffer.from('b'), value: null},
    {name: Buffer.from('a'), value: Buffer.alloc(0)},
  ],
  ...overrides,
})

async function* stream(records: readonly KafkaRecord[]): AsyncGenerator<{record: KafkaRecord}> {
  for (const item of records) yield {record: item}
}

const rule = {
  topic: null,
  keepPartition: true,
  partitionForKey: (key: Uint8Array, partitions: number) => (key[0] ?? 0) % partitions,
}
const now = {nowMs: 1_764_507_200_000}
const lines = async (topic: string) =>
  (await readFile(join(folder, `${topic}.ndjson`), 'utf8'))
    .split('\n')
    .slice(0, -1)
    .map((line, index) => parseArchiveLine(line, index + 1))

describe('import', () => {
  const target = async (): Promise<Cluster> => openArchive(folder, {create: true})

  test('refuses a topic that does not exist, and names the flag', async () => {
    await using cluster = await target()
    await expect(planImport(stream([record()]), cluster, rule, {create: false, ...now})).rejects.toMatchObject({
      exitCode: 6,
      code: 'E_TARGET_MISSING',
      hints: [expect.stringContaining('--create')],
    })
  })

  test('plans topics that keep old timestamps for ever, with all partitions, and room for large records', async () => {
    await using cluster = await target()
    const records = [record(), record({partition: 2, value: Buffer.alloc(2_000_000)})]
    const plan = await planImport(stream(records), cluster, rule, {create: true, ...now})
    expect(plan.create).toMatchObject([
      {name: 'orders-dlq', partitions: 3, replicationFactor: -1, configs: {'retention.ms': '-1'}},
    ])
    expect(Number(plan.create[0]?.configs['max.message.bytes'])).toBeGreaterThan(2_000_000)
    expect(plan.targets).toEqual([
      {topic: 'orders-dlq', partition: 0, count: 1},
      {topic: 'orders-dlq', partition: 2, count: 1},
    ])
  })

  test('[BR-53] writes every record as it is, in order', async () => {
    await using cluster = await target()
    const records = [
      record(),
      record({offset: 1n, key: null, value: null, headers: []}),
      record({offset: 2n, key: Buffer.alloc(0), value: Buffer.alloc(0), timestamp: null}),
      record({offset: 3n, value: Buffer.alloc(1_048_576, 0xff)}),
      record({offset: 4n, value: Buffer.from([0x0a, 0, 0xff, 0x0a])}),
    ]
    const plan = await planImport(stream(records), cluster, rule, {create: true, ...now})
    const result = await importRecords(stream(records), cluster, plan, rule, {compression: 'none'})
    expect(result).toEqual({imported: 5, targets: [{topic: 'orders-dlq', partition: 0, count: 5}]})
    expect((await lines('orders-dlq')).map(formatArchiveLine)).toEqual(records.map(formatArchiveLine))
  })

  test('an abort lets the batches on their way be acknowledged, for a bounded time', async () => {
    await using cluster = await target()
    const records = [record(), record({offset: 1n})]
    const plan = await planImport(stream(records), cluster, rule, {create: true, ...now})
    const stop = new KafkaError('stopped')
    const aborted = async (answers: boolean): Promise<unknown> => {
      const clock = new FakeClock()
      const controller = new AbortController()
      const writer: Cluster['writer'] = {
        ...cluster.writer,
        open: async () => ({
          produce: async (batches, options) => {
            controller.abort(stop)
            if (answers) {
              return batches.map(({topic, partition}) => ({
                topic,
                partition,
                baseOffset: 0n,
                logAppendTimeMs: null,
                error: null,
                recordErrors: [],
              }))
            }
            void clock.advance(1500)
            const {promise, reject} = Promise.withResolvers<never>()
            options?.signal?.addEventListener('abort', () => reject(new Error('given up')))
            return promise
          },
          close: async () => undefined,
          [Symbol.asyncDispose]: async () => undefined,
        }),
      }
      const options = {compression: 'none', clock, signal: controller.signal} as const
      const {description, reader, admin} = cluster
      const close = async (): Promise<void> => undefined
      const slow = {description, reader, admin, writer, close, [Symbol.asyncDispose]: close}
      return importRecords(stream(records), slow, {...plan, create: []}, rule, options).catch((error: unknown) => error)
    }
    expect(await aborted(true)).toMatchObject({imported: 2})
    expect(await aborted(false)).toEqual(new Error('given up'))
  })

  test('one topic for all, partitions by key; without a key in turn', async () => {
    await using cluster = await target()
    const records = [
      record({key: Buffer.from([7])}),
      record({key: null}),
      record({key: null}),
      record({partition: 1, key: Buffer.from([7])}),
    ]
    const byKey = {...rule, topic: 'other', keepPartition: false}
    const plan = await planImport(stream(records), cluster, byKey, {create: true, ...now})
    await importRecords(stream(records), cluster, plan, byKey, {compression: 'none'})
    const written = await lines('other')
    expect(written.filter(({key}) => key !== null).map(({partition}) => partition)).toEqual([1, 1])
    expect(new Set(written.filter(({key}) => key === null).map(({partition}) => partition))).toEqual(new Set([0, 1]))
  })

  test('a partition that the target does not have is refused before anything is written', async () => {
    await using cluster = await target()
    await cluster.admin.createTopic({name: 'orders-dlq', partitions: 1, replicationFactor: -1, configs: {}})
    await expect(
      planImport(stream([record({partition: 5})]), cluster, rule, {create: false, ...now}),
    ).rejects.toMatchObject({code: 'E_TARGET_PARTITION', exitCode: 6})
  })

  test('a refusal after other records were written is a partial failure that counts them', async () => {
    await using cluster = await target()
    let calls = 0
    const failing: Cluster = {
      ...cluster,
      writer: {
        ...cluster.writer,
        open: async options => {
          const session = await cluster.writer.open(options)
          return {
            ...session,
            close: async () => session.close(),
            [Symbol.asyncDispose]: async () => session.close(),
            produce: async (batches, call) => {
              calls += 1
              if (calls === 1) return session.produce(batches, call)
              const error = new KafkaError('record too large')
              return batches.map(({topic, partition}) => ({
                topic,
                partition,
                baseOffset: null,
                logAppendTimeMs: null,
                error,
                recordErrors: [],
              }))
            },
          }
        },
      },
    }
    const records = [record({value: Buffer.alloc(900_000)}), record({offset: 1n, value: Buffer.alloc(900_000)})]
    const plan = await planImport(stream(records), failing, rule, {create: true, ...now})
    await expect(importRecords(stream(records), failing, plan, rule, {compression: 'none'})).rejects.toMatchObject({
      exitCode: 3,
      context: {imported: 1},
    })
  })
})

describe('export', () => {
  test('writes what it reads, whole or not at all', async () => {
    const path = join(folder, 'a.ndjson')
    const options = {path, layout: 'file', compress: 'none', overwrite: false} as const
    const records = [record(), record({offset: 1n, value: null})]
    expect(await exportRecords(stream(records), await createArchiveWriter(options))).toMatchObject({
      records: 2,
      files: [{path, records: 2}],
    })
    expect((await readFile(path, 'utf8')).trimEnd().split('\n')).toEqual(records.map(formatArchiveLine))
  })

  test('an abort leaves nothing', async () => {
    const path = join(folder, 'b.ndjson')
    const writer = await createArchiveWriter({path, layout: 'file', compress: 'none', overwrite: false})
    await expect(
      exportRecords(stream([record()]), writer, {signal: AbortSignal.abort(new Error('stop'))}),
    ).rejects.toThrow('stop')
    await expect(readFile(path)).rejects.toMatchObject({code: 'ENOENT'})
  })
})

const archiveOf = async (records: readonly KafkaRecord[], name: string): Promise<Cluster> =>
  openArchive(Readable.from([Buffer.from(`${records.map(formatArchiveLine).join('\n')}\n`)]), {name})

describe('several archives', () => {
  test('are one cluster; the same topic in two of them is refused', async () => {
    const joined = await joinClusters([
      await archiveOf([record({topic: 'b'})], 'one'),
      await archiveOf([record({topic: 'a'})], 'two'),
    ])
    expect((await joined.reader.topics(null)).map(({name}) => name)).toEqual(['b', 'a'])
    await joined.close()
    await using one = await archiveOf([record()], 'one')
    await using two = await archiveOf([record()], 'two')
    await expect(joinClusters([one, two])).rejects.toThrow('topic orders-dlq is in two archives: one and two')
  })
})
