import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {decodeFailure} from '../../src/lib/dialects/decode.ts'
import type {Failure, FailureException, RecordCoordinates} from '../../src/lib/dialects/model.ts'
import {headerStripper, originalTimestamp} from '../../src/lib/dialects/restore.ts'
import {writableDialects, writeFailure} from '../../src/lib/dialects/write.ts'
import type {KafkaRecord, RecordHeader} from '../../src/lib/kafka/record.ts'
import {recordWith} from '../support/records.ts'
import {runs} from '../support/runs.ts'

const int32 = fc.integer({min: 0, max: 2 ** 31 - 1})
const int64 = fc.bigInt({min: 0n, max: 2n ** 63n - 1n}).map(String)
const text = fc.string({unit: 'grapheme'})
const className = fc.stringMatching(/^[a-z]{1,6}\.[A-Z][a-z]{1,6}$/)
const topic = fc.stringMatching(/^[a-z]{1,12}$/)

const coordinates: fc.Arbitrary<RecordCoordinates> = fc.record({
  topic,
  partition: int32,
  offset: int64,
  timestamp: int64,
  timestampType: fc.constantFrom('CreateTime', 'LogAppendTime'),
})
const exception: fc.Arbitrary<FailureException> = fc.record(
  {class: className, message: text, stack: text, cause: className, causeMessage: text},
  {requiredKeys: ['class', 'stack']},
)
const failure: fc.Arbitrary<Failure> = fc.record(
  {
    dialect: fc.constant('any'),
    origin: coordinates,
    exception,
    group: text,
    connector: text,
    task: int32,
    stage: fc.constant('TASK_PUT'),
    component: className,
    attempts: fc.integer({min: 1, max: 1000}),
    dueAt: int64,
    firstFailedAt: int64,
  },
  {requiredKeys: ['dialect', 'origin', 'exception']},
)
const own: fc.Arbitrary<RecordHeader> = fc.record({
  name: fc.string().map(name => Buffer.from(`own ${name}`)),
  value: fc.option(fc.uint8Array({maxLength: 16}).map(bytes => Buffer.from(bytes))),
})
const ownHeaders = fc.array(own, {maxLength: 6})

const record = (headers: readonly RecordHeader[]): KafkaRecord => ({...recordWith([]), headers})

function stripped(headers: readonly RecordHeader[]): RecordHeader[] {
  const strips = headerStripper(record(headers), decodeFailure(record(headers)))
  return headers.filter(({name}, index) => !strips(name, index))
}

function park(headers: readonly RecordHeader[], said: Failure, as: string): RecordHeader[] {
  const parked = writeFailure(headers, said, as)
  if (parked === null) throw new Error(`${as} cannot be written`)
  return parked
}

test('the worlds that kdlq parks for can be written', () => {
  expect(writableDialects()).toEqual(expect.arrayContaining(['connect', 'spring-dlt', 'spring-retry', 'streams']))
  expect(writeFailure([], {dialect: 'none'}, 'nobody')).toBeNull()
})

describe.each(writableDialects())('%s', id => {
  test('strip and write again is the identity on the failure', () => {
    fc.assert(
      fc.property(ownHeaders, failure, (headers, said) => {
        const parked = park(headers, said, id)
        const read = decodeFailure(record(parked))
        expect(read.dialect).toBe(id)
        expect(read.origin).toMatchObject({topic: said.origin?.topic, partition: said.origin?.partition})
        expect(stripped(parked)).toEqual(headers)
        expect(decodeFailure(record(park(stripped(parked), read, id)))).toEqual(read)
      }),
      {numRuns: runs(50)},
    )
  })

  test('parked twice it tells the newest failure, and stripping still gives the first headers back', () => {
    fc.assert(
      fc.property(ownHeaders, failure, failure, (headers, first, second) => {
        const once = decodeFailure(record(park([], second, id)))
        const twice = park(park(headers, first, id), second, id)
        const read = decodeFailure(record(twice))
        expect(read.last?.topic ?? read.origin?.topic).toBe(second.origin?.topic)
        expect(read.exception).toEqual(once.exception)
        expect(stripped(twice)).toEqual(headers)
      }),
      {numRuns: runs(50)},
    )
  })
})

test.each(['connect', 'streams', 'scst', 'spring-dlt', 'spring-retry', 'smallrye-retry'])(
  'parked by %s, the time of the source is not lost',
  id => {
    fc.assert(
      fc.property(failure, said => {
        const parked = record(park([], {...said, dialect: id}, id))
        const kept = id === 'connect' || id === 'streams'
        const expected = kept ? parked.timestamp : BigInt(said.origin?.timestamp ?? -1)
        expect(originalTimestamp(parked, decodeFailure(parked))).toBe(expected)
      }),
      {numRuns: 20},
    )
  },
)
