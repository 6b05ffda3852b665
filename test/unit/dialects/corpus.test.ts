import {describe, expect, test} from 'vitest'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import type {Failure} from '../../../src/lib/dialects/model.ts'
import {DIALECTS} from '../../../src/lib/dialects/registry.ts'
import {
  carriedHeaders,
  headerStripper,
  originalPayload,
  originalTimestamp,
  replayBlocks,
} from '../../../src/lib/dialects/restore.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {CORPUS, corpusLetters} from '../../support/corpus.ts'
import type {CorpusLetter} from '../../support/corpus.ts'

const LETTERS = new Map<string, readonly CorpusLetter[]>()
for (const name of CORPUS) LETTERS.set(name, await corpusLetters(name))

/** Families that neither keep nor write the time of the source record. */
const TIME_IS_LOST = new Set(['generic', 'share-group', 'smallrye'])

const textOf = (names: readonly {readonly name: Buffer}[]): string[] => names.map(({name}) => name.toString('utf8'))

function kept(record: KafkaRecord, failure: Failure, keepSideHeaders: boolean): KafkaRecord['headers'] {
  const strips = headerStripper(record, failure, {keepSideHeaders})
  return carriedHeaders(record, failure).filter(({name}, index) => !strips(name, index))
}

describe.each(CORPUS)('%s', name => {
  const letters = LETTERS.get(name) ?? []

  test('decodes every dead letter to what is expected of it', () => {
    expect(letters.length).toBeGreaterThan(20)
    for (const {record, expected} of letters) {
      const {keep: _, ...members} = expected.expect
      expect({at: expected.offset, ...decodeFailure(record)}).toMatchObject({at: expected.offset, ...members})
    }
  })

  test('keeps exactly the headers that no failure added', () => {
    for (const {record, expected} of letters) {
      expect(textOf(kept(record, decodeFailure(record), true))).toEqual(expected.expect.keep)
    }
  })

  test('gives the source record back, or says why it cannot', () => {
    let compared = 0
    for (const {record, expected, source} of letters) {
      // A second life that was sent with the headers of the first is not what the source was.
      if (source === undefined || expected.truth.replayPolicy !== undefined) continue
      const failure = decodeFailure(record)
      const {key, value} = originalPayload(record, failure)
      const {keyIntact, valueIntact, headersIntact} = expected.truth
      const intact = <T>(known: boolean | undefined, part: T): T | null => (known === true ? part : null)
      expect({
        key: intact(keyIntact, key),
        value: intact(valueIntact, value),
        headers: intact(headersIntact, kept(record, failure, false)),
      }).toEqual({
        key: intact(keyIntact, source.key),
        value: intact(valueIntact, source.value),
        headers: intact(headersIntact, source.headers),
      })
      if (replayBlocks(failure).length > 0) continue
      const lost = TIME_IS_LOST.has(failure.dialect)
      expect(originalTimestamp(record, failure)).toBe(lost ? null : source.timestamp)
      compared++
    }
    expect(compared).toBeGreaterThan(name.startsWith('camel') ? 5 : 15)
  })
})

test('the type headers that the dead letter of a JSON serializer got are not sent back', () => {
  const gained = [...LETTERS.values()].flat().filter(({record, expected, source}) => {
    if (expected.truth.headersIntact !== false || source === undefined) return false
    return record.headers.some(({name}) => name.toString() === '__TypeId__')
  })
  expect(gained.length).toBe(12)
  for (const {record, source} of gained) {
    expect(kept(record, decodeFailure(record), false)).toEqual(source?.headers)
  }
})

describe('writing', () => {
  /** What the frameworks add besides the set of one failure. */
  const BESIDES = /^(?:spring|kafka_deliveryAttempt|kafka_listenerInfo|deserialization-failure-)/

  test.each([
    ['spring-dlt', 90],
    ['spring-retry', 5],
    ['streams', 50],
    ['scst', 20],
    ['smallrye', 40],
    ['smallrye-retry', 5],
  ] as const)('%s: the bytes that the framework itself wrote, in its order', (id, atLeast) => {
    const dialect = DIALECTS.find(known => known.id === id)
    let compared = 0
    for (const {record} of [...LETTERS.values()].flat()) {
      const failure = decodeFailure(record)
      const sets = record.headers.filter(({name}) => name.toString() === 'retry_topic-attempts').length
      if (failure.dialect !== id || failure.chain !== undefined || failure.hops !== undefined || sets > 1) continue
      const strips = headerStripper(record, failure, {keepSideHeaders: true})
      const set = record.headers.filter(({name}, index) => strips(name, index) && !BESIDES.test(name.toString()))
      expect(dialect?.write?.(failure)).toEqual(set)
      compared++
    }
    expect(compared).toBeGreaterThanOrEqual(atLeast)
  })
})
