import {readdirSync, readFileSync} from 'node:fs'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {decodeFailure} from '../../src/lib/dialects/decode.ts'
import {
  carriedHeaders,
  headerStripper,
  isHarmfulHeader,
  originalPayload,
  originalTimestamp,
  payloadState,
  replayBlocks,
} from '../../src/lib/dialects/restore.ts'
import {writableDialects, writeFailure} from '../../src/lib/dialects/write.ts'
import type {KafkaRecord, RecordHeader} from '../../src/lib/kafka/record.ts'
import {parseVectors, vectorRecord} from '../support/dialect-vectors.ts'
import {javaException} from '../support/java-exception.ts'
import {recordWith} from '../support/records.ts'
import {assertLinear} from '../support/linear.ts'

const folder = new URL('../fixtures/dialects/', import.meta.url)
const examples = readdirSync(folder)
  .flatMap(name => parseVectors(readFileSync(new URL(name, folder), 'utf8')))
  .map(vectorRecord)
  .filter(({headers}) => headers.every(({value}) => (value?.length ?? 0) < 10_000))
/** Every header name that any vector has, one character a byte. */
const NAMES = [...new Set(examples.flatMap(({headers}) => headers.map(({name}) => name.toString('latin1'))))]
const VALUES = examples.flatMap(({headers}) => headers.map(({value}) => value))

const bytes = fc.uint8Array({maxLength: 32}).map(array => Buffer.from(array))
const value = fc.oneof(
  fc.constant(null),
  bytes,
  fc.constantFrom(...VALUES),
  fc.bigInt().map(number => Buffer.from(number.toString())),
  bytes.map(data => javaException(data)),
)
const header: fc.Arbitrary<RecordHeader> = fc.record({
  name: fc.oneof(
    {weight: 8, arbitrary: fc.constantFrom(...NAMES).map(name => Buffer.from(name, 'latin1'))},
    {weight: 1, arbitrary: bytes},
  ),
  value,
})

const withHeaders = (headers: readonly RecordHeader[]): KafkaRecord => ({...recordWith([]), headers})

describe('any headers whatsoever', () => {
  test('are read, stripped, restored and written without a throw; a failure is JSON', () => {
    fc.assert(
      fc.property(fc.array(header, {maxLength: 40}), value, value, (headers, key, payload) => {
        const record = {...withHeaders(headers), key, value: payload}
        const failure = decodeFailure(record)
        expect(JSON.parse(JSON.stringify(failure))).toEqual(failure)
        const strips = headerStripper(record, failure)
        const carried = carriedHeaders(record, failure)
        const kept = carried.filter(({name}, index) => !strips(name, index))
        // What stays is a subsequence: nothing is sorted, merged or made up.
        expect(carried.filter(each => kept.includes(each))).toEqual(kept)
        expect(carried === record.headers || failure.payload === 'envelope').toBe(true)
        for (const {name} of headers) isHarmfulHeader(name, failure)
        originalPayload(record, failure)
        originalTimestamp(record, failure)
        payloadState(record, failure)
        replayBlocks(failure)
        for (const id of writableDialects()) writeFailure(headers, failure, id)
      }),
    )
  })

  test('cost steps in proportion to their number', () => {
    const steps = (count: number, names: readonly string[]): number => {
      let touched = 0
      const headers = Array.from({length: count}, (_, index): RecordHeader => {
        const name = Buffer.from(names[index % names.length] ?? '', 'latin1')
        return {
          get name() {
            touched++
            return name
          },
          get value() {
            touched++
            return Buffer.from('1')
          },
        }
      })
      const record = withHeaders(headers)
      const failure = decodeFailure(record)
      const strips = headerStripper(record, failure)
      headers.forEach((each, index) => strips(each.name, index))
      originalTimestamp(record, failure)
      return touched
    }
    fc.assert(
      fc.property(fc.integer({min: 3, max: 5}), fc.shuffledSubarray(NAMES, {minLength: 1}), (times, names) => {
        // Each name several times: what more of them cost is then only their number, not another family.
        const n = times * names.length
        const once = steps(n, names)
        expect(steps(2 * n, names)).toBeLessThanOrEqual(2 * once + 50)
        expect(steps(4 * n, names)).toBeLessThanOrEqual(4 * once + 50)
      }),
      {numRuns: 20},
    )
  })

  test('a hundred thousand of them take one pass', async () => {
    const headers = Array.from({length: 100_000}, (_, index) => ({
      name: Buffer.from(index % 3 === 0 ? `own-${index}` : (NAMES[index % NAMES.length] ?? ''), 'latin1'),
      value: Buffer.from(String(index)),
    }))
    await assertLinear(headers.length, count => {
      const failure = decodeFailure(withHeaders(headers.slice(0, count)))
      expect(failure.chain?.length).toBeGreaterThan(5)
    })
  })
})

test('the order of headers that no family uses changes nothing', () => {
  const own = fc.record({name: bytes.map(noise => Buffer.concat([Buffer.from('own '), noise])), value})
  fc.assert(
    fc.property(fc.constantFrom(...examples), fc.array(own, {maxLength: 6}), fc.nat(), (record, extra, seed) => {
      const at = record.headers.length === 0 ? 0 : seed % record.headers.length
      // Headers alone keep a key from being taken for an envelope.
      if (record.headers.length === 0) return
      const mixed = [...record.headers.slice(0, at), ...extra, ...record.headers.slice(at)]
      const turned = [...record.headers.slice(0, at), ...extra.toReversed(), ...record.headers.slice(at)]
      expect(decodeFailure({...record, headers: mixed})).toEqual(decodeFailure(record))
      expect(decodeFailure({...record, headers: turned})).toEqual(decodeFailure(record))
    }),
  )
})
