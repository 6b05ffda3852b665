import {describe, expect, test} from 'vitest'
import type {SourceRecord} from '../../../src/lib/connect-engine/data.ts'
import {DataException} from '../../../src/lib/connect-engine/errors.ts'
import {consumedRecordText, LogReporter, polledRecordText} from '../../../src/lib/connect-engine/log-reporter.ts'
import {ErrorHandlingMetrics} from '../../../src/lib/connect-engine/metrics.ts'
import {ProcessingContext} from '../../../src/lib/connect-engine/processing-context.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {consumed} from '../../support/connect-engine.ts'
import {FakeClock} from '../../support/fake-clock.ts'

function reporterOf<T>(describe: (original: T) => string, enabled = true) {
  const lines: string[] = []
  const metrics = new ErrorHandlingMetrics({connector: 'job', task: 0, clock: new FakeClock()})
  const reporter = new LogReporter<T>({
    connector: 'job',
    task: 0,
    enabled,
    includeMessages: true,
    metrics,
    describe,
    log: ({message}) => {
      lines.push(message)
    },
  })
  return {reporter, lines, metrics}
}

function failed<T>(original: T | null): ProcessingContext<T> {
  const context = new ProcessingContext(original)
  context.stage = 'KEY_CONVERTER'
  context.executingClass = 'org.apache.kafka.connect.json.JsonConverter'
  context.error = new DataException('bad')
  return context
}

test("a sink's line never shows key, value or headers", () => {
  const {reporter, lines, metrics} = reporterOf(consumedRecordText)
  reporter.report(failed(consumed({topic: 'test-topic', partition: 5, offset: 100n, timestampType: 'NoTimestampType'})))
  expect(lines).toEqual([
    "Error encountered in task job-0. Executing stage 'KEY_CONVERTER' with class 'org.apache.kafka.connect.json.JsonConverter', where consumed record is {topic='test-topic', partition=5, offset=100}.",
  ])
  expect(metrics.snapshot()['total-errors-logged']).toBe(1)
})

test('a record without a timestamp shows -1', () => {
  expect(consumedRecordText(consumed({timestamp: null}))).toContain(', timestamp=-1, timestampType=CreateTime}')
})

test('without an original the line has no record part', () => {
  const {reporter, lines} = reporterOf(consumedRecordText)
  reporter.report(failed<KafkaRecord>(null))
  expect(lines[0]).toMatch(/JsonConverter'\.$/)
})

test('switched off it writes and counts nothing', () => {
  const {reporter, lines, metrics} = reporterOf(consumedRecordText, false)
  expect(reporter.report(failed(consumed())).state).toBe('done')
  expect([lines.length, metrics.snapshot()['total-errors-logged']]).toEqual([0, 0])
})

test('a failed record without a stage cannot be logged', () => {
  const {reporter} = reporterOf(consumedRecordText)
  const context = failed(consumed())
  context.stage = null
  expect(() => reporter.report(context)).toThrow(expect.objectContaining({className: 'java.lang.NullPointerException'}))
})

describe("a source's line shows the record as it was polled", () => {
  const record: SourceRecord = {
    sourcePartition: {file: 'a.txt', ids: [1, 2n]},
    sourceOffset: {position: 12},
    topic: 'lines',
    partition: 0,
    keySchema: {type: 'STRUCT', name: 'com.example.Key'},
    key: new Map<string, unknown>([
      ['id', 7],
      ['tags', null],
    ]),
    valueSchema: {type: 'BYTES', name: null},
    value: Buffer.from('abc'),
    timestamp: null,
    headers: [{key: 'h', schema: {type: 'INT32', name: null}, value: 1}],
  }

  test('maps, lists, bytes and named schemas as Java does', () => {
    expect(polledRecordText(record)).toBe(
      ", where source record is = SourceRecord{sourcePartition={file=a.txt, ids=[1, 2]}, sourceOffset={position=12}} ConnectRecord{topic='lines', kafkaPartition=0, key={id=7, tags=null}, keySchema=Schema{com.example.Key:STRUCT}, value=byte[3], valueSchema=Schema{BYTES}, timestamp=null, headers=ConnectHeaders(headers=[ConnectHeader(key=h, value=1, schema=Schema{INT32})])}",
    )
  })

  test('objects of a class show what they say themselves', () => {
    const when = new Date(0)
    expect(polledRecordText({...record, value: when})).toContain(`value=${String(when)}`)
  })
})
