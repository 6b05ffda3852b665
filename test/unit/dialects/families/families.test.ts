import {readFileSync} from 'node:fs'
import {expect, test} from 'vitest'
import {decodeFailure} from '../../../../src/lib/dialects/decode.ts'
import {DIALECTS} from '../../../../src/lib/dialects/registry.ts'
import {parseVectors, runVector, vectorDifferences} from '../../../support/dialect-vectors.ts'
import {recordWith} from '../../../support/records.ts'

const path = new URL('../../../fixtures/dialects/families.jsonl', import.meta.url)
const vectors = parseVectors(readFileSync(path, 'utf8'))

test.each(vectors.map(vector => [vector.id, vector.note, vector] as const))('decodes %s: %s', (_id, _note, vector) => {
  expect(vectorDifferences(vector, runVector(vector))).toEqual([])
})

test('every family has one name, and look-alikes come last', () => {
  const ids = DIALECTS.map(({id}) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(DIALECTS.findIndex(({lastResort}) => lastResort === true)).toBe(ids.length - 1)
})

test('an envelope is the outermost hop, whatever headers stand behind it', () => {
  const value = JSON.stringify({requestContext: {}, KafkaBatchInfo: {}})
  const record = recordWith([['__connect.errors.topic', 'orders']], {value: Buffer.from(value)})
  expect(decodeFailure(record)).toMatchObject({dialect: 'aws-lambda', chain: ['aws-lambda', 'connect'], hops: 2})
})

test('a value far beyond the bound is not parsed', () => {
  const value = Buffer.concat([
    Buffer.from('{"requestContext":{},"KafkaBatchInfo":{},"x":"'),
    Buffer.alloc(16 * 1024 * 1024, 0x61),
    Buffer.from('"}'),
  ])
  expect(decodeFailure(recordWith([], {value})).dialect).toBe('none')
})
