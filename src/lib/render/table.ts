import type CliTable from 'cli-table3'
import {sanitize} from './sanitize.ts'
import type {Column, RenderContext} from './view.ts'
import {cutToWidth, displayWidth} from './width.ts'

/** Rows a block: cli-table3's work grows with the square of the rows. */
export const BLOCK_ROWS = 200
const GAP = 2

interface Cell {
  readonly plain: string
  readonly width: number
}

type TableClass = typeof CliTable

export interface TableOptions {
  /** Rows that are drawn together; default 200. */
  readonly blockRows?: number
  /** Told the headers of columns that did not fit. */
  readonly onDropped?: ((headers: readonly string[]) => void) | undefined
}

/**
 * Rows as an aligned table, in blocks, the header once. On a terminal the widths come from the first block and longer
 * cells are cut; without one nothing is cut and a later block may be wider.
 */
export async function* renderTable<T>(
  items: AsyncIterable<T> | Iterable<T>,
  columns: readonly Column<T>[],
  context: RenderContext,
  options: TableOptions = {},
): AsyncGenerator<string> {
  // Only a table needs it, and starting up is worth more.
  const {default: Table} = await import('cli-table3')
  let layout: Layout<T> | null = null
  for await (const block of blocksOf(items, options.blockRows ?? BLOCK_ROWS)) {
    const before: Layout<T> | null = layout
    if (before === null || context.width === null) layout = layOut(columns, block, before, context)
    if (before === null && layout !== null) tellDropped(columns, layout, options)
    yield drawBlock(layout ?? layOut(columns, [], null, context), block, {Table, withHeader: before === null, context})
  }
  if (layout === null) yield drawBlock(layOut(columns, [], null, context), [], {Table, withHeader: true, context})
}

function tellDropped<T>(columns: readonly Column<T>[], layout: Layout<T>, {onDropped}: TableOptions): void {
  const shown = new Set(layout.map(({column}) => column))
  const dropped = columns.filter(column => !shown.has(column)).map(({header}) => header)
  if (dropped.length > 0) onDropped?.(dropped)
}

/** Columns that are shown, with their widths. */
type Layout<T> = readonly {readonly column: Column<T>; readonly width: number}[]

function layOut<T>(
  columns: readonly Column<T>[],
  block: readonly T[],
  before: Layout<T> | null,
  context: RenderContext,
): Layout<T> {
  const natural = columns.map((column, index) => ({
    column,
    width: block.reduce(
      (widest, item) => Math.max(widest, cellOf(column, item, context).width),
      Math.max(column.header.length, before?.[index]?.width ?? 0),
    ),
  }))
  return context.width === null ? natural : fitWidths(natural, context.width)
}

function cellOf<T>(column: Column<T>, item: T, context: RenderContext): Cell {
  const value = column.display === undefined ? column.text(item) : column.display(item, context)
  const plain = sanitize(value ?? '', {ascii: !context.unicode})
  return {plain, width: displayWidth(plain)}
}

/** Shrinks the widest column that may shrink until all fit; when that is not enough, columns of low priority go. */
export function fitWidths<T>(natural: Layout<T>, width: number): Layout<T> {
  let kept = natural
  const least = (entry: Layout<T>[number]): number => Math.min(entry.width, entry.column.minWidth ?? Infinity)
  const total = (of: (entry: Layout<T>[number]) => number): number =>
    kept.reduce((sum, entry) => sum + of(entry), GAP * (kept.length - 1))
  while (total(least) > width) {
    const lowest = Math.min(...kept.map(({column}) => column.priority ?? Infinity))
    if (lowest === Infinity) break
    const drop = kept.findLast(({column}) => column.priority === lowest)
    kept = kept.filter(entry => entry !== drop)
  }
  const widths = new Map(kept.map(entry => [entry, entry.width]))
  const widthOf = (entry: Layout<T>[number]): number => widths.get(entry) ?? entry.width
  for (let over = total(widthOf) - width; over > 0; over--) {
    const shrinkable = kept
      .filter(entry => widthOf(entry) > least(entry))
      .toSorted((left, right) => widthOf(right) - widthOf(left))
    const [widest] = shrinkable
    if (widest === undefined) break
    widths.set(widest, widthOf(widest) - 1)
  }
  return kept.map(entry => ({column: entry.column, width: widthOf(entry)}))
}

const NO_BORDER = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ].map(name => [name, '']),
)

function drawBlock<T>(
  layout: Layout<T>,
  items: readonly T[],
  {Table, withHeader, context}: {Table: TableClass; withHeader: boolean; context: RenderContext},
): string {
  const {paint} = context
  const marker = context.unicode ? '…' : '~'
  const table = new Table({
    chars: {...NO_BORDER, middle: ' '.repeat(GAP)},
    style: {head: [], border: [], 'padding-left': 0, 'padding-right': 0},
    colWidths: layout.map(({width}) => width),
    colAligns: layout.map(({column}) => column.align ?? 'left'),
    wordWrap: false,
  })
  if (withHeader)
    table.push(layout.map(({column, width}) => paint('heading', cutToWidth(column.header, Math.max(1, width), marker))))
  for (const item of items) {
    table.push(
      layout.map(({column, width}) => {
        const cell = cellOf(column, item, context)
        const text = cell.width > width ? cutToWidth(cell.plain, Math.max(1, width), marker) : cell.plain
        return paint(column.tone?.(item) ?? 'plain', text)
      }),
    )
  }
  if (table.length === 0) return ''
  const lines = table.toString().split('\n')
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

async function* blocksOf<T>(items: AsyncIterable<T> | Iterable<T>, size: number): AsyncGenerator<T[]> {
  let block: T[] = []
  for await (const item of items) {
    block.push(item)
    if (block.length === size) {
      yield block
      block = []
    }
  }
  if (block.length > 0) yield block
}
