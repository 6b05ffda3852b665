import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import type {ArchiveRecord} from '../../sandbox/archive-record.ts'
import {FRAMEWORK_TOPICS, type FrameworkName, type Frameworks, startFrameworks} from '../../sandbox/frameworks.ts'
import type {Failure} from '../../src/lib/dialects/model.ts'
import type {Cluster} from '../../src/lib/kafka/ports.ts'
import type {RecordHeader} from '../../src/lib/kafka/record.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {connectPlain} from '../support/kafka-client.ts'
import {header} from '../support/records.ts'
import {bytesOf, eventually, kdlq, unique} from '../support/sandbox.ts'

/** All records lie in partition 1; the one at offset 1 fails, for Streams the one at offset 2 too. */
const PARTITION = 1
const NAMES = Object.keys(FRAMEWORK_TOPICS) as readonly FrameworkName[]
const FINE = '{"id":0}'
const POISON = '{"id":1,"poison":true}'
const UNREADABLE = 'no object'
const VALUES: Readonly<Record<FrameworkName, readonly string[]>> = {
  'spring-blocking': [FINE, POISON, FINE],
  'spring-retry': [FINE, POISON, FINE],
  'spring-deserializer': [FINE, UNREADABLE, FINE],
  streams: [FINE, POISON, UNREADABLE],
  share: [FINE, POISON, FINE],
}
const TIME = 1_600_000_000_000n
/** Later than `TIME` by years. */
const NEW_TIME = expect.stringMatching(/^1[7-9][0-9]{11}$|^[2-9][0-9]{12}$/) as unknown
const HEADERS: readonly RecordHeader[] = [header('trace', 't-1'), header('trace', null), header('empty', '')]

const bootstrapServers = inject('bootstrapServers')
const ledger = ['--ledger', `topic:${unique('ledger')}`] as const
const dlqs = (names: readonly FrameworkName[]): string[] => names.map(name => FRAMEWORK_TOPICS[name].dlq)
let cluster: Cluster
let frameworks: Frameworks

interface Letter {
  readonly address: string
  readonly failure: Failure
  readonly headers: readonly (readonly [string, unknown])[]
}

/** By framework, each by origin offset. */
type Letters = Readonly<Record<FrameworkName, readonly Letter[]>>

function byFramework<T>(value: (name: FrameworkName) => T): Record<FrameworkName, T> {
  return {
    'spring-blocking': value('spring-blocking'),
    'spring-retry': value('spring-retry'),
    'spring-deserializer': value('spring-deserializer'),
    streams: value('streams'),
    share: value('share'),
  }
}

beforeAll(async () => {
  frameworks = await startFrameworks({bootstrapServers, dir: join(inject('kafkaDir'), 'frameworks')})
  cluster = await connectPlain(bootstrapServers)
  await using session = await cluster.writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 30_000,
  })
  for (const name of NAMES) {
    const records = new RecordBatchBuilder()
    for (const [index, value] of VALUES[name].entries()) {
      records.append({
        timestamp: TIME + BigInt(index),
        key: Buffer.from(`k-${index}`),
        value: Buffer.from(value),
        headers: HEADERS,
      })
    }
    const [result] = await session.produce([{topic: FRAMEWORK_TOPICS[name].source, partition: PARTITION, records}])
    if (result?.error !== null) throw new Error(`nothing was written for ${name}`, {cause: result?.error})
  }
})

afterAll(async () => {
  await cluster?.close()
  await frameworks?.close()
})

/** Dead letters that a topic holds now, over all partitions. */
async function countLetters(topic: string): Promise<number> {
  const [description] = await cluster.reader.topics([topic])
  const queries = (description?.partitions ?? []).map(({partition}) => ({topic, partition, at: 'latest'}) as const)
  const ends = await cluster.reader.offsets(queries)
  return ends.reduce((sum, {offset}) => sum + Number(offset ?? 0n), 0)
}

/** What the frameworks parked of the records from this source offset on, once all of it is there. */
async function deadLetters(fromOffset: number, deaths: number): Promise<Letters> {
  await Promise.all(
    NAMES.map(async name => {
      const {dlq} = FRAMEWORK_TOPICS[name]
      const count = name === 'streams' ? 2 * deaths : deaths
      await eventually(`${count} dead letters in ${dlq}: see ${frameworks.logFile}`, async () =>
        (await countLetters(dlq)) >= count ? true : null,
      )
    }),
  )
  const {stdout} = await kdlq(bootstrapServers, 0, 'inspect', ...dlqs(NAMES), '--json')
  const {records} = (JSON.parse(stdout) as {result: {records: readonly Letter[]}}).result
  const offsetOf = ({failure: {origin}}: Letter): number => Number(origin?.offset)
  return byFramework(name =>
    records
      .filter(letter => letter.address.startsWith(`${FRAMEWORK_TOPICS[name].dlq}:`) && offsetOf(letter) >= fromOffset)
      .toSorted((one, other) => offsetOf(one) - offsetOf(other)),
  )
}

async function replay(names: readonly FrameworkName[], ...flags: readonly string[]): Promise<unknown> {
  const {stdout} = await kdlq(bootstrapServers, 0, 'replay', ...dlqs(names), ...ledger, ...flags, '--yes', '--json')
  return (JSON.parse(stdout) as {result: {counts: unknown}}).result.counts
}

/** What a dead letter says, whatever its offset. `later` is there only when headers of more than one failure are. */
function told({failure}: Letter): object {
  const {dialect, group, attempts, stage, payload, rawValue, origin, exception, hops, chain, last, warnings} = failure
  return {
    dialect,
    group,
    attempts,
    stage,
    payload,
    rawValue,
    origin: `${origin?.topic}:${origin?.partition}`,
    cause: exception?.cause ?? exception?.class,
    message: exception?.message?.split('; ').at(-1),
    later: {hops, chain, last, warnings},
  }
}

const PROCESSING = {
  failing: {cause: 'java.lang.IllegalArgumentException', message: 'amount must not be negative: -5'},
  again: {cause: 'java.lang.IllegalStateException', message: 'ledger 7 is closed'},
} as const
const READING = {failing: 'not an object: byte 0 is 110', again: 'still not an object'} as const

/** What the dead letters of a first failure say. */
function firstFailures(mode: 'failing' | 'again'): Record<FrameworkName, object[]> {
  const later = {}
  const spring = {later, ...PROCESSING[mode]}
  const streams = {dialect: 'streams', origin: 'fw-streams:1', later}
  return {
    'spring-blocking': [{...spring, dialect: 'spring-dlt', group: 'fw-billing', origin: 'fw-orders:1'}],
    'spring-retry': [{...spring, dialect: 'spring-retry', group: 'fw-trips-app', origin: 'fw-trips:1', attempts: 3}],
    'spring-deserializer': [
      {
        later,
        dialect: 'spring-dlt',
        group: 'fw-invoices-app',
        origin: 'fw-invoices:1',
        stage: 'deserialize-value',
        rawValue: Buffer.from(UNREADABLE).toString('hex'),
        cause: 'org.springframework.kafka.support.serializer.DeserializationException',
        message: 'failed to deserialize',
      },
    ],
    streams: [
      {...streams, ...PROCESSING[mode]},
      {...streams, cause: 'org.apache.kafka.common.errors.SerializationException', message: READING[mode]},
    ],
    share: [
      {
        later,
        dialect: 'share-group',
        group: 'fw-share-group',
        origin: 'fw-shared:1',
        attempts: 1,
        payload: 'absent',
        message: 'Offset rejected by client.',
      },
    ],
  }
}

const saying = (letters: Letters): unknown => byFramework(name => letters[name].map(told))
const headerNames = (letters: Letters): unknown =>
  byFramework(name =>
    letters[name].map(({headers}) => headers.map(([own]) => own).filter(own => own !== 'kdlq.replay')),
  )

describe('dead letters of real frameworks', () => {
  let first: Letters

  test('say who wrote them, where the record failed, why, and how often', async () => {
    first = await deadLetters(0, 1)
    expect(saying(first)).toEqual(firstFailures('failing'))
    expect(first.streams.map(({failure}) => failure.origin?.offset)).toEqual(['1', '2'])
  })

  test('[BR-13] [BR-11] go back, fail again, and look as after a first failure', async () => {
    await frameworks.setMode('again')
    const copies = NAMES.filter(name => name !== 'share')
    expect(await replay(copies, '--create-ledger')).toMatchObject({selected: 5, replayed: 5})
    expect(await replay(['share'], '--from-origin')).toMatchObject({selected: 1, replayed: 1})
    const second = await deadLetters(3, 2)
    expect(saying(second)).toEqual(firstFailures('again'))
    expect(headerNames(second)).toEqual(headerNames(first))
  })

  test('are processed once the fault is mended, equal to their originals', async () => {
    await frameworks.setMode('healed')
    const rest: readonly FrameworkName[] = ['spring-blocking', 'spring-retry', 'streams']
    expect(await replay(rest)).toMatchObject({replayed: 4, skipped: 4})
    expect(await replay(['share', 'spring-deserializer'], '--from-origin')).toMatchObject({replayed: 2, skipped: 2})
    for (const name of NAMES) {
      for (const [index, value] of VALUES[name].entries()) {
        const {record} = await eventually(`${name} processed ${value}: see ${frameworks.logFile}`, async () => {
          const isIt = (each: {by: FrameworkName; record: ArchiveRecord}): boolean =>
            each.by === name && bytesOf(each.record.key)?.toString() === `k-${index}`
          return frameworks.processed().find(isIt) ?? null
        })
        expect({...record, headers: record.headers.filter(([own]) => own !== 'kdlq.replay')}).toMatchObject({
          value: {base64: Buffer.from(value).toString('base64')},
          // Retry topics measure their timeout from the record's time: a replay gives it a new one.
          timestamp: name === 'spring-retry' && value !== FINE ? NEW_TIME : String(TIME + BigInt(index)),
          headers: HEADERS.map(({name: own, value: text}) => [
            own.toString(),
            text === null ? null : {base64: text.toString('base64')},
          ]),
        })
      }
    }
  })
})
