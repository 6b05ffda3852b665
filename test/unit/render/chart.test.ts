import {expect, test} from 'vitest'
import {bar, joinBuckets, renderBars, renderHistogram} from '../../../src/lib/render/chart.ts'
import {createPaint} from '../../../src/lib/render/paint.ts'

const context = {width: 60, unicode: false, paint: createPaint(0), nowMs: 0, forTerminal: true}

test('bars are in eighths with Unicode, in # without, and never vanish', () => {
  expect(bar(5, 10, 8, true)).toBe('████')
  expect(bar(1, 64, 8, true)).toBe('▏')
  expect(bar(5, 10, 8, false)).toBe('####')
  expect(bar(1, 1000, 8, false)).toBe('#')
  expect(bar(0, 10, 8, true)).toBe('')
})

test('a histogram names the start of each bucket and its count', () => {
  const buckets = [
    {from: '1764460800000', to: '1764464400000', count: 4},
    {from: '1764464400000', to: '1764468000000', count: 0},
    {from: '1764468000000', to: '1764471600000', count: 2},
  ]
  expect([...renderHistogram(buckets, context)]).toEqual([
    `2025-11-30 00:00  4  ${'#'.repeat(39)}\n`,
    '2025-11-30 01:00  0\n',
    `2025-11-30 02:00  2  ${'#'.repeat(20)}\n`,
  ])
  expect([...renderHistogram([], context)]).toEqual([])
})

test('joined buckets keep the counts and the span', () => {
  const buckets = Array.from({length: 7}, (_, index) => ({from: `${index}`, to: `${index + 1}`, count: 1}))
  expect(joinBuckets(buckets, 3)).toEqual([
    {from: '0', to: '3', count: 3},
    {from: '3', to: '6', count: 3},
    {from: '6', to: '7', count: 1},
  ])
})

test('bars of groups are as wide as the terminal allows, the largest fills its room', () => {
  const bars = [
    {label: 'f-00000001 DataException', count: 1200, share: 0.75},
    {label: 'f-00000002 \u202eforged', count: 400, share: 0.25},
  ]
  const ascii = [...renderBars(bars, {...context, width: 80})]
  expect(ascii).toEqual([
    `f-00000001 DataException   1,200  75.0 %  ${'#'.repeat(38)}\n`,
    `f-00000002 \\u{202e}forged    400  25.0 %  ${'#'.repeat(13)}\n`,
  ])
  const wide = [...renderBars(bars, {...context, width: 120, unicode: true})]
  expect(wide[0]).toContain('█'.repeat(60))
  for (const width of [40, 80, 120]) {
    for (const line of renderBars(bars, {...context, width})) expect(line.length - 1).toBeLessThanOrEqual(width)
  }
})

test('a long label is cut, at most ten groups have a bar, one alone has none', () => {
  const bars = Array.from({length: 12}, (_, index) => ({label: 'x'.repeat(100), count: 12 - index, share: 0.1}))
  const lines = [...renderBars(bars, context)]
  expect(lines).toHaveLength(10)
  expect(lines[0]).toContain(`${'x'.repeat(23)}~`)
  expect([...renderBars(bars.slice(0, 1), context)]).toEqual([])
})
