import {describe, expect, test} from 'vitest'
import {createPaint} from '../../../src/lib/render/paint.ts'
import {renderTable} from '../../../src/lib/render/table.ts'
import type {Column, RenderContext} from '../../../src/lib/render/view.ts'

interface Row {
  readonly name: string
  readonly count: number
  readonly note: string
}

const columns: readonly Column<Row>[] = [
  {name: 'name', header: 'NAME', text: ({name}) => name},
  {name: 'count', header: 'COUNT', align: 'right', text: ({count}) => `${count}`},
  {name: 'note', header: 'NOTE', text: ({note}) => note, minWidth: 6, priority: 1},
]

function contextOf(options: Partial<RenderContext> = {}): RenderContext {
  return {width: null, unicode: true, paint: createPaint(0), nowMs: 0, forTerminal: false, ...options}
}

async function draw(rows: Iterable<Row>, context: RenderContext): Promise<string[]> {
  const chunks: string[] = []
  for await (const chunk of renderTable(rows, columns, context)) chunks.push(chunk)
  return chunks
}

const row = (name: string, count: number, note = ''): Row => ({name, count, note})

describe('renderTable', () => {
  test('aligns columns, numbers to the right, and leaves no space at the end of a line', async () => {
    const text = (await draw([row('orders', 5, 'x'), row('p', 1234)], contextOf())).join('')
    expect(text).toBe('NAME    COUNT  NOTE\norders      5  x\np        1234\n')
  })

  test('an empty list is a header', async () => {
    expect(await draw([], contextOf())).toEqual(['NAME  COUNT  NOTE\n'])
  })

  test('[BR-05] cuts the widest column to the terminal and marks the cut', async () => {
    const text = (await draw([row('orders', 5, 'a long note that does not fit')], contextOf({width: 30}))).join('')
    for (const line of text.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(30)
    expect(text).toContain('a long note th…')
  })

  test('drops the column of lowest priority when nothing else helps', async () => {
    const text = (await draw([row('a-name-of-twenty-chrs', 5, 'note')], contextOf({width: 30}))).join('')
    expect(text).not.toContain('NOTE')
    expect(text).toContain('a-name-of-twenty-chrs')
  })

  test('cuts nothing without a terminal, also in a later block', async () => {
    const rows = Array.from({length: 201}, (_, index) => row('n', index, index === 200 ? 'y'.repeat(500) : 'x'))
    const chunks = await draw(rows, contextOf())
    expect(chunks).toHaveLength(2)
    expect(chunks[1]).toContain('y'.repeat(500))
    expect(chunks.join('').match(/NAME/g)).toHaveLength(1)
  })

  test('measures sanitised text before colour', async () => {
    const context = contextOf({paint: createPaint(1), width: 80})
    const painted = columns.map(column => ({...column, tone: () => 'bad' as const}))
    let text = ''
    for await (const chunk of renderTable([row('\u001b[2J', 1, 'z'), row('plain', 2, 'z')], painted, context))
      text += chunk
    expect(text).not.toContain('\u001b[2J')
    const plain = text.replaceAll(/\u001b\[\d+m/g, '')
    expect(plain).toBe('NAME   COUNT  NOTE\n^[[2J      1  z\nplain      2  z\n')
  })

  test('rows on a wide script stay aligned', async () => {
    const text = (await draw([row('注文', 1, '|'), row('abcd', 1, '|')], contextOf())).join('')
    const [, first, second] = text.split('\n')
    expect(first).toBe('注文      1  |')
    expect(second).toBe('abcd      1  |')
  })

  test('every row is asked for its texts to measure and to draw, and 200 of them are held at a time', async () => {
    let given = 0
    const asked: number[] = []
    const counted = columns.map(column => ({...column, text: (one: Row) => (asked.push(one.count), column.text(one))}))
    function* rows(): Generator<Row> {
      for (; given < 10_000; given++) yield row('orders', given, 'x')
    }
    let chunks = 0
    for await (const chunk of renderTable(rows(), counted, contextOf())) {
      chunks++
      expect(chunk.split('\n').length - 1).toBe(chunks === 1 ? 201 : 200)
      expect(given).toBeLessThanOrEqual(200 * chunks)
    }
    expect(chunks).toBe(50)
    expect(asked).toHaveLength(2 * 10_000 * columns.length)
    expect(new Set(asked).size).toBe(10_000)
  })
})
