import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'

import fc from 'fast-check'
import {afterAll, beforeAll, expect, test} from 'vitest'

import {IoError} from '../../src/lib/errors.ts'
import {formatArchiveLine, openArchive, parseArchiveLine} from '../../src/lib/kafka/archive/index.ts'
import {checkArchiveLine} from '../../src/lib/kafka/archive/line-codec.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {everything, readRecords} from '../unit/kafka/archive/archives.ts'
import {runs} from '../support/runs.ts'

const INT64_MAX = 2n ** 63n - 1n
const text = fc.string({unit: 'binary', maxLength: 40}).map(value => Buffer.from(value))
const bytes = fc.oneof(
  text,
  fc.uint8Array({maxLength: 60}).map(array => Buffer.from(array)),
)
const nullable = fc.option(bytes, {nil: null})
const record: fc.Arbitrary<KafkaRecord> = fc.record({
  topic: fc.constantFrom('orders-dlq', 'a', 'b.c'),
  partition: fc.nat({max: 3}),
  offset: fc.oneof(fc.bigInt({min: 0n, max: 300n}), fc.bigInt({min: 0n, max: INT64_MAX - 1n})),
  timestamp: fc.option(
    fc.bigInt({min: -INT64_MAX, max: INT64_MAX}).filter(time => time !== -1n),
    {nil: null},
  ),
  timestampType: fc.constantFrom('CreateTime', 'LogAppendTime', 'NoTimestampType'),
  key: nullable,
  value: nullable,
  headers: fc.array(fc.record({name: bytes, value: nullable}), {maxLength: 5}),
})

let directory = ''
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kdlq-test-'))
})
afterAll(() => rmSync(directory, {recursive: true}))

test('a line gives back its record', () => {
  fc.assert(
    fc.property(record, source => {
      const line = formatArchiveLine(source)
      expect(line).not.toContain('\n')
      expect(parseArchiveLine(line, 1)).toEqual(source)
      expect(parseArchiveLine(Buffer.from(line), 1)).toEqual(source)
    }),
    {numRuns: runs(1000)},
  )
})

test('any text is a record or a broken line, nothing else', () => {
  const json = fc.json().map(value => value)
  const shaped = fc
    .record({
      topic: fc.oneof(fc.constant('t'), fc.jsonValue()),
      partition: fc.oneof(fc.constant(0), fc.jsonValue()),
      offset: fc.oneof(fc.constant('0'), fc.jsonValue()),
      key: fc.oneof(fc.string({unit: 'binary'}), fc.record({base64: fc.base64String()}), fc.jsonValue()),
      value: fc.oneof(fc.constant(null), fc.record({base64: fc.string()}), fc.jsonValue()),
      headers: fc.oneof(fc.array(fc.tuple(fc.string(), fc.option(fc.string()))), fc.jsonValue()),
    })
    .map(value => JSON.stringify(value))
  fc.assert(
    fc.property(fc.oneof(json, shaped, fc.string()), line => {
      const outcome = (read: () => {topic: string}): unknown => {
        try {
          return read().topic
        } catch (error) {
          return error instanceof IoError ? error.message : error
        }
      }
      const parsed = outcome(() => parseArchiveLine(line, 1))
      expect(typeof parsed).toBe('string')
      // The check of the index says the same.
      expect(outcome(() => checkArchiveLine(line, 1, null))).toBe(parsed)
    }),
    {numRuns: runs(1000)},
  )
})

test('lines in any order are read by topic, partition and offset, each once', async () => {
  const path = join(directory, 'archive.ndjson')
  const list = fc.uniqueArray(record, {
    maxLength: 60,
    selector: ({topic, partition, offset}) => `${topic}:${partition}:${offset}`,
  })
  await fc.assert(
    fc.asyncProperty(list, async records => {
      writeFileSync(path, records.map(source => `${formatArchiveLine(source)}\n`).join(''))
      await using cluster = await openArchive(path)
      const expected = [...records].sort(
        (a, b) =>
          (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : 0) ||
          a.partition - b.partition ||
          (a.offset < b.offset ? -1 : a.offset > b.offset ? 1 : 0),
      )
      expect(await readRecords(cluster, await everything(cluster))).toEqual(expected)
    }),
    {numRuns: runs(100)},
  )
})
