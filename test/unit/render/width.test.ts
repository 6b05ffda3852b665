import {expect, test, vi} from 'vitest'
import {cutToWidth, displayWidth} from '../../../src/lib/render/width.ts'

test('counts wide characters twice and combining marks not at all', () => {
  expect(displayWidth('abc')).toBe(3)
  expect(displayWidth('注文')).toBe(4)
  expect(displayWidth('e\u0301')).toBe(1)
  expect(displayWidth('👍')).toBe(2)
})

test('cuts with a marker and never beyond the width', () => {
  expect(cutToWidth('orders-dlq', 10)).toBe('orders-dlq')
  expect(cutToWidth('orders-dlq', 7)).toBe('orders…')
  expect(cutToWidth('orders-dlq', 7, '~')).toBe('orders~')
  expect(cutToWidth('注文注文', 5)).toBe('注文…')
  expect(cutToWidth('注文注文', 4)).toBe('注…')
})

test('does not split a character from its marks', () => {
  expect(cutToWidth('e\u0301e\u0301e\u0301', 2)).toBe('e\u0301…')
})

test('looks at as much of a huge text as can be shown', () => {
  const segment = vi.spyOn(Intl.Segmenter.prototype, 'segment')
  expect(cutToWidth('ü'.repeat(5_000_000), 10)).toBe(`${'ü'.repeat(9)}…`)
  const looked = segment.mock.calls.map(([text]) => text.length)
  segment.mockRestore()
  expect(looked).not.toEqual([])
  expect(Math.max(...looked)).toBeLessThan(200)
})
