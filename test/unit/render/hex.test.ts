import {describe, expect, test} from 'vitest'
import {hexDump} from '../../../src/lib/render/hex.ts'

const bytes = Buffer.from('0123456789abcdef\u0000ü')

describe('a hex dump', () => {
  test('shows offset, bytes and printable characters', () => {
    expect([...hexDump(bytes)]).toEqual([
      '00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|\n',
      '00000010  00 c3 bc                                          |...|\n',
    ])
    expect([...hexDump(Buffer.alloc(0))]).toEqual([])
  })

  test.each([0, 1, 6, 7, 8, 9, 14, 15])('marks byte %s by brackets and moves nothing', mark => {
    const [plain = ''] = hexDump(bytes)
    const [marked = ''] = hexDump(bytes, {mark})
    const byte = (bytes[mark] ?? 0).toString(16)
    expect(marked).toContain(`[${byte}]`)
    expect(marked.replaceAll(/[[\]]/g, ' ')).toBe(plain)
  })

  test('a mark behind the last byte is a row of its own', () => {
    expect([...hexDump(bytes, {mark: bytes.length})]).toEqual([...hexDump(bytes), '00000013 [end]\n'])
    expect([...hexDump(Buffer.alloc(0), {mark: 0})]).toEqual(['00000000 [end]\n'])
  })

  test('shows only rows around the mark when asked', () => {
    const offsets = [...hexDump(Buffer.alloc(16 * 20), {mark: 165, around: 1})].map(row => row.slice(0, 8))
    expect(offsets).toEqual(['00000090', '000000a0', '000000b0'])
    expect([...hexDump(Buffer.alloc(16 * 20), {mark: 320, around: 2})]).toHaveLength(4)
  })

  test('only the mark is coloured', () => {
    const [row] = hexDump(bytes, {mark: 3, paint: (tone, text) => `<${tone}>${text}</>`})
    expect(row).toContain('32<bad>[33]</>34')
  })
})
