import {csvRow} from './csv.ts'
import {jsonText} from './json.ts'
import {markdownHeader, markdownRow} from './markdown.ts'
import {sanitize} from './sanitize.ts'
import {BLOCK_ROWS, renderTable} from './table.ts'
import type {Column, RenderContext, View} from './view.ts'

/** Formats that are a plain sequence of rows; `json` is a document and has its own renderer. */
export type RowFormat = 'table' | 'jsonl' | 'csv' | 'markdown'

export interface RenderOptions {
  readonly format: RowFormat
  /** Names of columns, in order; must exist in the view. */
  readonly columns: readonly string[]
  readonly context: RenderContext
  /** Show each row at once instead of in blocks. */
  readonly follow?: boolean
  /** Told the headers of columns that a table has no room for. */
  readonly onDropped?: (headers: readonly string[]) => void
}

/** Items in one format, as text chunks, while they come. Nothing is kept but the current block of rows. */
export function renderItems<T>(
  items: AsyncIterable<T> | Iterable<T>,
  view: View<T>,
  options: RenderOptions,
): AsyncGenerator<string> {
  const columns = pickColumns(view, options.columns)
  const {context} = options
  const renderers: Record<RowFormat, () => AsyncGenerator<string>> = {
    table: () =>
      renderTable(items, columns, context, {
        blockRows: options.follow === true ? 1 : BLOCK_ROWS,
        onDropped: options.onDropped,
      }),
    jsonl: () => renderLines(items, item => `${jsonText(view.toJson(item), context.forTerminal)}\n`),
    csv: () => renderCsv(items, columns, context),
    markdown: () => renderMarkdown(items, columns, context),
  }
  return renderers[options.format]()
}

function pickColumns<T>(view: View<T>, names: readonly string[]): readonly Column<T>[] {
  return names.flatMap(name => view.columns.find(column => column.name === name) ?? [])
}

async function* renderLines<T>(
  items: AsyncIterable<T> | Iterable<T>,
  toLine: (item: T) => string,
): AsyncGenerator<string> {
  for await (const item of items) yield toLine(item)
}

async function* renderCsv<T>(
  items: AsyncIterable<T> | Iterable<T>,
  columns: readonly Column<T>[],
  {forTerminal}: RenderContext,
): AsyncGenerator<string> {
  // A file or a pipe gets the true text; a terminal gets nothing that it would obey.
  const clean = (text: string | null): string | null => (text === null || !forTerminal ? text : sanitize(text))
  yield csvRow(columns.map(({name}) => name))
  yield* renderLines(items, item => csvRow(columns.map(column => clean(column.text(item)))))
}

async function* renderMarkdown<T>(
  items: AsyncIterable<T> | Iterable<T>,
  columns: readonly Column<T>[],
  context: RenderContext,
): AsyncGenerator<string> {
  yield markdownHeader(columns)
  // Markdown is a document: times are absolute and nothing is cut, also on a terminal.
  const document: RenderContext = {...context, width: null}
  yield* renderLines(items, item =>
    markdownRow(
      columns.map(column =>
        sanitize((column.display === undefined ? column.text(item) : column.display(item, document)) ?? '', {
          ascii: !context.unicode,
        }),
      ),
    ),
  )
}
