import {describe, expect, test} from 'vitest'
import {createRunId, isRunId} from '../../../src/lib/replay/run-id.ts'

describe('createRunId', () => {
  test('is r- and a ULID: time first, then the random part', () => {
    // 1469918176385 is 01ARYZ6S41 in the ULID specification's example.
    expect(createRunId(1_469_918_176_385, bytes => bytes.fill(0))).toBe('r-01ARYZ6S410000000000000000')
    expect(createRunId(1_469_918_176_385, bytes => bytes.fill(255))).toBe('r-01ARYZ6S41ZZZZZZZZZZZZZZZZ')
  })

  test('a later run sorts behind an earlier one', () => {
    const early = createRunId(1_764_500_000_000, bytes => bytes.fill(255))
    const late = createRunId(1_764_500_000_001, bytes => bytes.fill(0))
    expect([late, early].toSorted()).toEqual([early, late])
  })

  test('isRunId knows its own and nothing else', () => {
    expect(isRunId('r-01ARYZ6S410000000000000000')).toBe(true)
    for (const text of [
      '',
      'r-',
      '01ARYZ6S410000000000000000',
      'r-01ARYZ6S41000000000000000I',
      'r-81ARYZ6S410000000000000000',
    ]) {
      expect(isRunId(text)).toBe(false)
    }
  })
})
