import fc from 'fast-check'
import {expect, test} from 'vitest'
import {csvRow} from '../../src/lib/render/csv.ts'

/** A reader by RFC 4180, written from the grammar; an empty field is null, a quoted empty one the empty text. */
function parseCsv(text: string): (string | null)[][] {
  const rows: (string | null)[][] = []
  let row: (string | null)[] = []
  let at = 0
  while (at < text.length) {
    let field: string | null = null
    if (text[at] === '"') {
      field = ''
      at += 1
      while (text[at] !== '"' || text[at + 1] === '"') {
        field += text[at]
        at += text[at] === '"' ? 2 : 1
      }
      at += 1
    } else {
      const start = at
      while (at < text.length && text[at] !== ',' && !text.startsWith('\r\n', at)) at += 1
      field = at === start ? null : text.slice(start, at)
    }
    row.push(field)
    if (text[at] === ',') {
      at += 1
      if (at < text.length && !text.startsWith('\r\n', at)) continue
      row.push(null)
    }
    rows.push(row)
    row = []
    at += 2
  }
  return rows
}

const field = fc.option(
  fc.string({
    unit: fc.oneof(
      fc.constantFrom('"', ',', '\r', '\n', ' ', 'a', 'ü'),
      fc.string({unit: 'grapheme', minLength: 1, maxLength: 1}),
    ),
    maxLength: 12,
  }),
)

test('rows parse back to the same values', () => {
  fc.assert(
    fc.property(fc.array(fc.array(field, {minLength: 2, maxLength: 5}), {minLength: 1, maxLength: 5}), rows => {
      expect(parseCsv(rows.map(csvRow).join(''))).toEqual(rows)
    }),
  )
})
