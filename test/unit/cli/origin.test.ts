import {Readable} from 'node:stream'
import {expect, test} from 'vitest'
import {lookAtOrigin} from '../../../src/lib/cli/origin.ts'
import {compileRedaction} from '../../../src/lib/dead-letter/redact.ts'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {DIALECTS} from '../../../src/lib/dialects/registry.ts'
import {formatArchiveLine, openArchive} from '../../../src/lib/kafka/archive/index.ts'
import type {Cluster} from '../../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {recordWith} from '../../support/records.ts'

const ORIGINAL = {topic: 'orders', offset: 5n, key: Buffer.from('k'), value: Buffer.from('value')}
const TRACE = ['trace', 'x'] as const

type Header = readonly [string, string]

function letter(
  at: {topic?: string; offset?: string} | null,
  changes: Partial<KafkaRecord> = {},
  kept: readonly Header[] = [TRACE],
) {
  const context: readonly Header[] =
    at === null
      ? []
      : [
          ['__connect.errors.topic', at.topic ?? 'orders'],
          ['__connect.errors.partition', '0'],
          ['__connect.errors.offset', at.offset ?? '5'],
        ]
  return createDeadLetter(recordWith([...kept, ...context], {...ORIGINAL, topic: 'orders-dlq', offset: 0n, ...changes}))
}

async function orders(): Promise<Cluster> {
  const records = [recordWith([TRACE], ORIGINAL), recordWith([], {...ORIGINAL, offset: 7n})]
  return openArchive(Readable.from([Buffer.from(`${records.map(formatArchiveLine).join('\n')}\n`)]), {name: 'x'})
}

async function look(deadLetter = letter({}), shown = (record: KafkaRecord) => record) {
  await using cluster = await orders()
  return await lookAtOrigin(cluster, deadLetter, {signal: new AbortController().signal, dialects: DIALECTS, shown})
}

test('the same record is shown as it is there', async () => {
  expect(await look()).toMatchObject({state: 'same', record: {key: 'k', value: 'value', headers: [['trace', 'x']]}})
})

test.each([
  [
    'another value',
    letter({}, {value: Buffer.from('vague')}),
    {part: 'value', at: 2, deadLetterBytes: 5, originBytes: 5},
  ],
  [
    'a longer value',
    letter({}, {value: Buffer.from('value+')}),
    {part: 'value', at: 5, deadLetterBytes: 6, originBytes: 5},
  ],
  ['no value', letter({}, {value: null}), {part: 'value', at: 0, deadLetterBytes: null, originBytes: 5}],
])('[BR-80] %s: the first byte that differs', async (_name, deadLetter, part) => {
  expect(await look(deadLetter)).toMatchObject({state: 'differs', differences: ['value'], parts: [part]})
})

test('headers that the framework did not add count too', async () => {
  expect(await look(letter({}, {}, [TRACE, ['extra', 'y']]))).toMatchObject({
    state: 'differs',
    differences: ['headers'],
    parts: [],
  })
})

test('a pointer is no copy that differs, not even under the headers of a second family', async () => {
  const pointer = createDeadLetter(
    recordWith(
      [
        ['__dlq.errors.topic', 'orders'],
        ['__dlq.errors.partition', '0'],
        ['__dlq.errors.offset', '5'],
      ],
      {...ORIGINAL, topic: 'dlq.orders', key: null, value: null},
    ),
  )
  expect(await look(pointer)).toMatchObject({state: 'there', record: {value: 'value'}})
})

test('a record of another time is another record', async () => {
  expect(await look(letter({}, {timestamp: 1n}))).toMatchObject({state: 'other'})
})

test('gone, not there, not told', async () => {
  expect(await look(letter({offset: '6'}))).toMatchObject({state: 'gone'})
  expect(await look(letter({topic: 'nowhere'}))).toMatchObject({state: 'gone'})
  expect(await look(letter({offset: '-1'}))).toMatchObject({state: 'unknown'})
  expect(await look(letter(null))).toMatchObject({state: 'unknown'})
})

test('what is hidden in dead letters is hidden there too, also where the dead letter itself holds nothing of it', async () => {
  const redaction = compileRedaction(['$key', '$value'])
  if (redaction === null) throw new Error('nothing would be hidden')
  for (const dead of [letter({}), letter({}, {key: null, value: null})]) {
    expect(await look(dead, record => redaction.record(record))).toMatchObject({
      record: {key: '[redacted]', value: '[redacted]'},
    })
  }
})
