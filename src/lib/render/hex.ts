import type {Paint} from './paint.ts'

const ROW = 16

/** How a dump looks. */
export interface HexOptions {
  /** Byte to be marked by brackets; the length of the bytes marks their end. Null or absent = none. */
  readonly mark?: number | null
  /** Rows shown on each side of the mark; absent = all rows. */
  readonly around?: number
  readonly paint?: Paint
}

/** Rows of 16 bytes: offset, hex, and the printable ASCII ones. Ends with a line break unless empty. */
export function* hexDump(bytes: Buffer, {mark = null, around = Infinity, paint}: HexOptions = {}): Generator<string> {
  const marked = (text: string): string => (paint === undefined ? text : paint('bad', text))
  const row = mark === null ? 0 : Math.floor(Math.min(mark, Math.max(0, bytes.length - 1)) / ROW)
  const first = Math.max(0, row - around)
  const last = Math.min(Math.ceil(bytes.length / ROW) - 1, row + around)
  for (let index = first; index <= last; index++) {
    const start = index * ROW
    yield `${start.toString(16).padStart(8, '0')} ${hexRow(bytes.subarray(start, start + ROW), mark === null || mark === bytes.length ? -2 : mark - start, marked)}\n`
  }
  if (mark === bytes.length) yield `${bytes.length.toString(16).padStart(8, '0')} ${marked('[end]')}\n`
}

function hexRow(row: Buffer, mark: number, marked: (text: string) => string): string {
  let hex = ''
  for (let index = 0; index < ROW; index++) {
    const byte = row[index]
    const digits = byte === undefined ? '  ' : byte.toString(16).padStart(2, '0')
    if (index === 8) hex += ' '
    if (index === mark) hex += marked(`[${digits}]`)
    else hex += index > 0 && index - 1 === mark ? digits : ` ${digits}`
  }
  const ascii = [...row].map(byte => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
  return `${hex}${mark === ROW - 1 ? ' ' : '  '}|${ascii}|`
}
