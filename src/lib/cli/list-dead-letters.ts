import type {DeadLetterScan} from '../dead-letter/scan.ts'
import type {DeadLetter} from '../dead-letter/model.ts'
import {PLAIN_COLUMNS} from '../render/dead-letter-view.ts'
import {renderItems} from '../render/formats.ts'
import {streamedEnvelope} from '../render/json.ts'
import {BLOCK_ROWS} from '../render/table.ts'
import type {RenderContext, View} from '../render/view.ts'
import type {OutputFormat} from './flags.ts'
import {unknownWord} from './usage-errors.ts'

/** Records that table and markdown show without --limit or --tail. */
export const DEFAULT_ROWS = 100

/**
 * Names of the columns for `--columns` and `--wide`; null = the usual ones.
 * @throws UsageError for a name that is none
 */
export function chooseColumns<T>(
  view: View<T>,
  flags: {readonly columns?: readonly string[] | undefined; readonly wide?: boolean | undefined},
): readonly string[] | null {
  const known = view.columns.map(({name}) => name)
  const asked = flags.columns?.map(name => name.trim())
  const unknown = asked?.find(name => !known.includes(name))
  if (unknown !== undefined) throw unknownWord('column', unknown, known)
  if (asked !== undefined && asked.length > 0) return asked
  return flags.wide === true ? view.wideColumns : null
}

export interface ListOptions {
  readonly command: string
  readonly format: OutputFormat
  /** Null = the usual ones of the format. */
  readonly columns: readonly string[] | null
  /** --limit or --tail was given: all matching records are shown. */
  readonly limited: boolean
  readonly follow: boolean
  readonly context: RenderContext
  readonly warnings: () => readonly string[]
  /** An error as data, for the end of a JSON document that has begun. */
  readonly onError: (error: unknown) => unknown
}

/** Counts while the list is printed. */
export interface ListState {
  matched: number
  /** Matched but not shown. */
  hidden: number
  /** Address of the first one; null before it. */
  first: string | null
  /** Headers of columns that the terminal has no room for. */
  dropped: readonly string[]
}

/** A scan as text chunks in any format; nothing is kept but a block of rows. */
export function listDeadLetters(
  scan: DeadLetterScan,
  view: View<DeadLetter>,
  options: ListOptions,
): {readonly chunks: AsyncIterable<string>; readonly state: ListState} {
  const state: ListState = {matched: 0, hidden: 0, first: null, dropped: []}
  const {format, context} = options
  const isForPeople = format === 'table' || format === 'markdown'
  const most = isForPeople && !options.limited && !options.follow ? DEFAULT_ROWS : Infinity
  const items = counted(scan, state, most)
  if (format === 'json') {
    const {command, warnings, onError} = options
    return {
      state,
      chunks: streamedEnvelope(items, {
        command,
        list: view.list,
        toJson: item => view.toJson(item),
        warnings,
        onError,
        forTerminal: context.forTerminal,
        rest: () => ({scanned: scan.scanned()}),
      }),
    }
  }
  return {
    state,
    chunks: rows(items, view, format, {
      ...options,
      onDropped: headers => {
        state.dropped = headers
      },
    }),
  }
}

async function* rows(
  items: AsyncGenerator<DeadLetter>,
  view: View<DeadLetter>,
  format: Exclude<OutputFormat, 'json'>,
  options: ListOptions & {readonly onDropped: (headers: readonly string[]) => void},
): AsyncGenerator<string> {
  const {context, follow, onDropped} = options
  if (options.columns !== null || format !== 'table' || follow) {
    yield* renderItems(items, view, {
      format,
      context,
      follow,
      onDropped,
      columns: options.columns ?? view.defaultColumns,
    })
    return
  }
  // A plain topic has no failures to show: its keys and values are worth the room.
  const begin: DeadLetter[] = []
  while (begin.length < BLOCK_ROWS) {
    const next = await items.next()
    if (next.done === true) break
    begin.push(next.value)
  }
  const isPlain = begin.length > 0 && begin.every(({failure}) => failure.dialect === 'none')
  yield* renderItems(joined(begin, items), view, {
    format,
    context,
    onDropped,
    columns: isPlain ? PLAIN_COLUMNS : view.defaultColumns,
  })
}

async function* joined<T>(begin: readonly T[], rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield* begin
  yield* rest
}

async function* counted(scan: AsyncIterable<DeadLetter>, state: ListState, most: number): AsyncGenerator<DeadLetter> {
  for await (const deadLetter of scan) {
    state.matched += 1
    state.first ??= deadLetter.address
    if (state.matched > most) state.hidden += 1
    else yield deadLetter
  }
}
