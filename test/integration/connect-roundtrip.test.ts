import {readFile, rm} from 'node:fs/promises'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, inject, test} from 'vitest'
import type {ArchiveRecord, SourceRecord} from '../../sandbox/archive-record.ts'
import {consoleConsume} from '../../sandbox/tools.ts'
import {BYTES, type ConnectBench, type SinkFlow, startConnectBench} from '../support/connect-sink.ts'
import {bytesOf, essence, inOrder, kdlq, unique} from '../support/sandbox.ts'

const bootstrapServers = inject('bootstrapServers')
const kafkaDir = inject('kafkaDir')
let bench: ConnectBench

beforeAll(async () => {
  bench = await startConnectBench(bootstrapServers, kafkaDir)
})

afterAll(() => bench[Symbol.asyncDispose]())

const hex = (text: string): {base64: string} => ({base64: Buffer.from(text, 'hex').toString('base64')})
const T0 = Date.UTC(2026, 0, 15, 8)
const at = (minute: number): string => String(T0 + minute * 60_000)

/** Headers that maps, joins and text handling break: repeats around another name, null, empty, no UTF-8, no name. */
const hostileHeaders: SourceRecord['headers'] = [
  ['a', '1'],
  ['b', '2'],
  ['a', '3'],
  ['a', null],
  ['empty', ''],
  ['', hex('ff00')],
  ['p', hex('00000003')],
  ['a', '1,3'],
]

type Planned = SourceRecord & {readonly stage: string | null}

const plannedOrders: readonly Planned[] = [
  {topic: '', partition: 0, timestamp: at(0), key: 'k-0', value: '{"id":1,"amount":10,"currency":"EUR"}', stage: null},
  {
    topic: '',
    partition: 0,
    timestamp: at(5),
    key: hex('00'),
    value: hex('0a00ff0a'),
    headers: hostileHeaders,
    stage: 'VALUE_CONVERTER',
  },
  {
    topic: '',
    partition: 0,
    timestamp: at(3),
    key: 'k-0',
    value: '{"id":2,"amount":"twelve"}',
    headers: [['note', '']],
    stage: 'TRANSFORMATION',
  },
  {
    topic: '',
    partition: 5,
    timestamp: at(4),
    key: null,
    value: '{"id":3,"amount":-5}',
    headers: [['x', null]],
    stage: 'TASK_PUT',
  },
  {
    topic: '',
    partition: 5,
    timestamp: at(1),
    key: '',
    value: '{"id":4,"amount":1,"customer":null}',
    headers: hostileHeaders,
    stage: 'TASK_PUT',
  },
  {topic: '', partition: 5, timestamp: at(2), key: 'k-5', value: '{"id":5,"amount":1,"currency":"USD"}', stage: null},
  {
    topic: '',
    partition: 11,
    timestamp: at(9),
    key: 'k-11',
    value: `{"broken":"${'x'.repeat(600_000)}`,
    stage: 'VALUE_CONVERTER',
  },
  {
    topic: '',
    partition: 11,
    timestamp: at(8),
    key: 'k-11',
    value: '{"id":6,"amount":true,"currency":"\\u001b[31mR"}',
    stage: 'TASK_PUT',
  },
]

const failing = {
  'sink.reject': 'negative-amount,no-customer,unknown-currency',
  transforms: 'cast',
  'transforms.cast.type': 'org.apache.kafka.connect.transforms.Cast$Value',
  'transforms.cast.spec': 'amount:float64',
}

interface Listed {
  readonly address: string
  readonly headers: readonly (readonly [string, unknown])[]
  readonly failure: {
    readonly dialect: string
    readonly stage?: string
    readonly connector?: string
    readonly origin?: {readonly topic: string; readonly partition: number; readonly offset: string}
    readonly exception?: {readonly class: string; readonly message?: string}
  }
}

async function inspect(...args: string[]): Promise<Listed[]> {
  const {stdout} = await kdlq(bootstrapServers, 0, 'inspect', ...args, '--json')
  return (JSON.parse(stdout) as {result: {records: Listed[]}}).result.records
}

interface Replayed {
  readonly run: string
  readonly counts: Readonly<Record<string, number>>
  readonly targets: readonly {readonly topic: string; readonly partition: number; readonly count: number}[]
}

async function replay(...args: string[]): Promise<Replayed> {
  const {stdout} = await kdlq(bootstrapServers, 0, 'replay', ...args, '--create-ledger', '--yes', '--json')
  return (JSON.parse(stdout) as {result: Replayed}).result
}

/** Everything in a topic, read by Kafka's own console consumer. */
async function readByKafka(topic: string, count: number): Promise<ArchiveRecord[]> {
  return inOrder(await consoleConsume(bench.libs, {bootstrapServers, topic, count}))
}

/** The records of a topic that were not there at first: by partition, after the source records of that partition. */
function added(all: readonly ArchiveRecord[], sources: readonly SourceRecord[]): ArchiveRecord[] {
  const first = (partition: number): number => sources.filter(record => record.partition === partition).length
  return all.filter(record => Number(record.offset) >= first(record.partition))
}

function byPartition(records: readonly SourceRecord[]): SourceRecord[] {
  return records.toSorted((a, b) => (a.partition ?? 0) - (b.partition ?? 0))
}

test('[BR-09] [BR-21] dead letters of three stages go back byte for byte and the mended sink processes them', async () => {
  const flow = await bench.createFlow('orders', 12, plannedOrders)
  const dead = plannedOrders.filter(({stage}) => stage !== null)
  await flow.configure(failing)
  await flow.waitForDeadLetters(dead.length)

  const listed = await inspect(flow.dlq)
  const stageOf = (record: Listed): string => {
    const {origin, stage} = record.failure
    return `${origin?.topic}:${origin?.partition} ${stage} ${record.failure.connector}`
  }
  expect(listed.map(stageOf).sort()).toEqual(
    dead.map(({partition, stage}) => `${flow.topic}:${partition} ${stage} ${flow.connector}`).sort(),
  )

  await flow.configure(BYTES)
  const before = await flow.processed()
  const result = await replay(flow.dlq, '--no-provenance')
  expect(result.counts).toMatchObject({selected: dead.length, replayed: dead.length, failed: 0, skipped: 0, unknown: 0})
  expect(result.targets.toSorted((a, b) => a.partition - b.partition)).toEqual([
    {topic: flow.topic, partition: 0, count: 2},
    {topic: flow.topic, partition: 5, count: 2},
    {topic: flow.topic, partition: 11, count: 2},
  ])

  const all = await readByKafka(flow.topic, plannedOrders.length + dead.length)
  const back = added(all, plannedOrders)
  expect(back.map(essence)).toEqual(byPartition(dead).map(essence))

  const processed = (await flow.waitForProcessed(before.length + dead.length)).slice(0)
  const places = new Set(back.map(({partition, offset}) => `${partition}:${offset}`))
  const fromReplay = processed.filter(({partition, offset}) => places.has(`${partition}:${offset}`))
  expect(fromReplay.map(({value}) => bytesOf(value)?.toString('hex'))).toEqual(
    back.map(({value}) => bytesOf(value)?.toString('hex')),
  )
  await flow.waitForDeadLetters(dead.length)
})

/** Every shape of key, value and headers that a record can have, with a key of int32 0 and the text null among them. */
const shapes: readonly SourceRecord[] = [
  {topic: '', partition: 0, timestamp: at(10), key: null, value: ''},
  {topic: '', partition: 0, timestamp: at(11), key: '', value: 'null', headers: hostileHeaders},
  {topic: '', partition: 0, timestamp: '0', key: hex('00000000'), value: hex('8b'), headers: [['a', hex('ff')]]},
  {
    topic: '',
    partition: 1,
    timestamp: at(7),
    key: 'k',
    value: null,
    headers: [
      ['trace', 'x'],
      ['trace', 'x'],
    ],
  },
  {
    topic: '',
    partition: 1,
    timestamp: at(6),
    key: hex('ff00'),
    value: `line\r\nline\u0000\u009b`,
    headers: [['kdlq', '']],
  },
  {topic: '', partition: 2, timestamp: at(6), key: 'k', value: hex('00'.repeat(1000))},
]

async function rejectedShapes(): Promise<SinkFlow> {
  const flow = await bench.createFlow('shapes', 3, shapes)
  await flow.configure({...BYTES, 'sink.reject': 'all'})
  await flow.waitForDeadLetters(shapes.length)
  return flow
}

test('[BR-56] [BR-58] every shape of record goes back with exactly one more header', async () => {
  const flow = await rejectedShapes()
  await kdlq(bootstrapServers, 6, 'replay', flow.dlq, '--yes', '--json')
  expect(await bench.helper.endOffsets(flow.topic)).toEqual(['3', '2', '1'])

  await flow.configure(BYTES)
  const {run} = await replay(flow.dlq, '--allow', 'tombstone')
  const back = added(await readByKafka(flow.topic, shapes.length * 2), shapes)
  const withoutLast = back.map(record => Object.assign({}, record, {headers: record.headers.slice(0, -1)}))
  expect(withoutLast.map(essence)).toEqual(byPartition(shapes).map(essence))
  for (const {headers} of back) {
    const [name, value = null] = headers.at(-1) ?? []
    expect(name).toBe('kdlq.replay')
    expect(JSON.parse(bytesOf(value)?.toString('utf8') ?? '')).toMatchObject({run, attempt: 1})
  }

  const processed = await flow.waitForProcessed(shapes.length)
  expect(processed.map(({key, value}) => ({key, value}))).toEqual(back.map(({key, value}) => ({key, value})))
})

test('[BR-26] without provenance every shape of record goes back byte for byte', async () => {
  const flow = await rejectedShapes()
  await flow.configure(BYTES)
  await replay(flow.dlq, '--no-provenance', '--allow', 'tombstone')
  const back = added(await readByKafka(flow.topic, shapes.length * 2), shapes)
  expect(back.map(essence)).toEqual(byPartition(shapes).map(essence))
})

test('[BR-65] one record and a hundred are put back alike', async () => {
  const record = {topic: '', partition: 0, timestamp: at(0), key: 'k', value: 'same', headers: hostileHeaders}
  const sources = Array.from({length: 101}, (): SourceRecord => record)
  const flow = await bench.createFlow('equal', 1, sources)
  await flow.configure({...BYTES, 'sink.reject': 'all'})
  await flow.waitForDeadLetters(101)
  await flow.configure(BYTES)
  expect((await replay(`${flow.dlq}:0:0`, '--no-provenance')).counts).toMatchObject({selected: 1, replayed: 1})
  expect((await replay(flow.dlq, '--from', '1', '--no-provenance')).counts).toMatchObject({
    selected: 100,
    replayed: 100,
  })
  const back = (await bench.helper.consume(flow.topic)).slice(101)
  expect(back).toHaveLength(101)
  expect(new Set(back.map(each => JSON.stringify(essence(each))))).toEqual(new Set([JSON.stringify(essence(record))]))
})

test('[BR-15] an exception without a message has none, and its header is shown as null', async () => {
  const source = {topic: '', partition: 0, timestamp: at(0), key: 'k', value: '{"customer":null}'}
  const flow = await bench.createFlow('nameless', 1, [source])
  await flow.configure({'sink.reject': 'no-customer'})
  await flow.waitForDeadLetters(1)
  const [letter] = await inspect(flow.dlq)
  expect(letter?.failure).toMatchObject({stage: 'TASK_PUT', exception: {class: 'java.lang.NullPointerException'}})
  expect(letter?.failure.exception).not.toHaveProperty('message')
  expect(letter?.headers).toContainEqual(['__connect.errors.exception.message', null])
})

test('[BR-17] dead letters without error headers are listed, and go back only to a topic that is named', async () => {
  const source = {topic: '', partition: 0, timestamp: at(0), key: 'k', value: '{"broken', headers: hostileHeaders}
  const flow = await bench.createFlow('headless', 1, [source])
  await flow.configure({'errors.deadletterqueue.context.headers.enable': 'false'})
  await flow.waitForDeadLetters(1)
  // Only Connect knows whose they are, and it knows why they say nothing.
  const found = await kdlq(
    bootstrapServers,
    0,
    'topics',
    '--json',
    '--connect-url',
    bench.connectUrl,
    '--pattern',
    flow.dlq,
  )
  expect(JSON.parse(found.stdout)).toMatchObject({
    result: {
      topics: [
        {
          topic: flow.dlq,
          kind: 'dead-letter',
          sources: ['connect', 'name'],
          owners: [`connector ${flow.connector}`],
          origins: [flow.topic],
          depth: 1,
          warnings: ['no-context-headers', 'no-error-headers'],
        },
      ],
    },
  })
  const [letter] = await inspect(flow.dlq)
  expect(letter?.failure).toMatchObject({dialect: 'none'})

  const refused = await kdlq(bootstrapServers, 6, 'replay', flow.dlq, '--yes', '--json')
  const {result} = JSON.parse(refused.stdout) as {result: {checks: {id: string; level: string; count: number}[]}}
  expect(result.checks.find(({id}) => id === 'no-origin')).toMatchObject({level: 'refuse', count: 1})
  expect(await bench.helper.endOffsets(flow.topic)).toEqual(['1'])

  await flow.configure(BYTES)
  await replay(flow.dlq, '--target-topic', flow.topic, '--partition-rule', 'key', '--no-provenance')
  const [, back] = await bench.helper.consume(flow.topic)
  expect(back === undefined ? null : essence(back)).toEqual(essence(source))
})

test('[BR-53] [CR-02] export and import give Kafka the same bytes', async () => {
  const flow = await rejectedShapes()
  const file = join(kafkaDir, `${unique('export')}.ndjson`)
  const copy = unique('copy')
  await kdlq(bootstrapServers, 0, 'export', flow.topic, '--out', file)
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  expect(lines).toHaveLength(shapes.length)
  await kdlq(bootstrapServers, 0, 'import', file, '--topic', copy, '--create', '--keep-partition', '--yes')
  const there = await readByKafka(copy, shapes.length)
  expect(there.map(essence)).toEqual(byPartition(shapes).map(essence))
  await rm(file)
})
