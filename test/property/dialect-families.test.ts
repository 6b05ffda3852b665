import {readFileSync} from 'node:fs'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {decodeFailure} from '../../src/lib/dialects/decode.ts'
import {headerStripper, originalPayload, originalTimestamp, replayBlocks} from '../../src/lib/dialects/restore.ts'
import type {RecordHeader} from '../../src/lib/kafka/record.ts'
import {parseVectors, vectorRecord} from '../support/dialect-vectors.ts'
import {recordWith} from '../support/records.ts'

const path = new URL('../fixtures/dialects/families.jsonl', import.meta.url)
const examples = parseVectors(readFileSync(path, 'utf8')).map(vectorRecord)
const names = [...new Set(examples.flatMap(({headers}) => headers.map(({name}) => name.toString('latin1'))))]
const envelopes = examples.flatMap(({key, value, headers}) => (headers.length === 0 ? [{key, value}] : []))

const bytes = fc.uint8Array({maxLength: 24}).map(array => Buffer.from(array))
const someValue = fc.oneof(
  fc.constant(null),
  bytes,
  fc.string({unit: 'binary'}).map(text => Buffer.from(text)),
  fc.bigInt().map(number => Buffer.from(number.toString())),
  fc
    .constantFrom('kafka://', 'kafka://h/', '/kafka/', '?', ' in ', 'kafka://topic/', '====')
    .map(text => Buffer.from(text)),
)
const header: fc.Arbitrary<RecordHeader> = fc.record({
  name: fc.constantFrom(...names).map(name => Buffer.from(name, 'latin1')),
  value: someValue,
})

describe('all families', () => {
  test('reading, stripping and restoring never throws, and a failure is JSON', () => {
    fc.assert(
      fc.property(fc.array(header, {maxLength: 30}), someValue, (headers, value) => {
        const record = {...recordWith([]), headers, value}
        const failure = decodeFailure(record)
        expect(JSON.parse(JSON.stringify(failure))).toEqual(failure)
        const strips = headerStripper(record, failure)
        headers.forEach(({name}, index) => strips(name, index))
        originalPayload(record, failure)
        originalTimestamp(record, failure)
        replayBlocks(failure)
      }),
    )
  })

  test('one byte changed, cut or added in an envelope never throws', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...envelopes),
        fc.nat(),
        fc.integer({min: 0, max: 255}),
        fc.constantFrom('change', 'cut', 'add'),
        ({key, value}, position, byte, how) => {
          const damaged = (buffer: Buffer | null): Buffer | null => {
            if (buffer === null || buffer.length === 0) return buffer
            const at = position % buffer.length
            const tail = how === 'cut' ? Buffer.alloc(0) : buffer.subarray(how === 'add' ? at : at + 1)
            return Buffer.concat([buffer.subarray(0, at), Buffer.from([byte]), tail])
          }
          const record = recordWith([], {key: damaged(key), value: damaged(value)})
          const failure = decodeFailure(record)
          expect(JSON.parse(JSON.stringify(failure))).toEqual(failure)
          originalPayload(record, failure)
        },
      ),
    )
  })

  test('headers that no family uses change only what is kept', () => {
    const own = fc.record({name: fc.string().map(text => Buffer.from(`own ${text}`)), value: someValue})
    fc.assert(
      fc.property(
        fc.constantFrom(...examples.filter(({headers}) => headers.length > 0)),
        fc.array(own, {maxLength: 5}),
        fc.array(own, {maxLength: 5}),
        (record, before, after) => {
          const padded = {...record, headers: [...before, ...record.headers, ...after]}
          const failure = decodeFailure(padded)
          expect(failure).toEqual(decodeFailure(record))
          if (failure.dialect === 'none' || failure.dialect === 'confluent-reporter') return
          const strips = headerStripper(padded, failure)
          for (const header of [...before, ...after]) expect(strips(header.name, 0)).toBe(false)
        },
      ),
    )
  })
})
