import {readdirSync, readFileSync} from 'node:fs'
import {describe, expect, test} from 'vitest'
import {parseVectors, runVector, vectorDifferences} from '../../support/dialect-vectors.ts'

const folder = new URL('../../fixtures/dialects/', import.meta.url)

describe.each(readdirSync(folder).filter(name => name.endsWith('.jsonl')))('%s', name => {
  const vectors = parseVectors(readFileSync(new URL(name, folder), 'utf8'))

  test('holds vectors', () => {
    expect(vectors.length).toBeGreaterThan(0)
  })

  test.each(vectors.map(vector => [vector.id, vector.note ?? '', vector] as const))('%s %s', (_id, _note, vector) => {
    expect(vectorDifferences(vector, runVector(vector))).toEqual([])
  })
})
