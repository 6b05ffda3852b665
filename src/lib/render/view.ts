import type {Paint, Tone} from './paint.ts'

/** Facts about where the text goes. */
export interface RenderContext {
  /** Columns of the terminal; null: nothing is cut, times are absolute. */
  readonly width: number | null
  readonly unicode: boolean
  readonly paint: Paint
  /** Epoch ms, for ages on a terminal. */
  readonly nowMs: number
  /** True when the text goes to a terminal. */
  readonly forTerminal: boolean
}

export interface Column<T> {
  /** Word for `--columns`. */
  readonly name: string
  readonly header: string
  readonly align?: 'left' | 'right'
  /** Text as it is (csv); null = nothing there. */
  readonly text: (item: T) => string | null
  /** Text for a person, when it differs; sanitised by the table. */
  readonly display?: (item: T, context: RenderContext) => string | null
  readonly tone?: (item: T) => Tone
  /** The table may cut down to this many columns. Absent: never cut. */
  readonly minWidth?: number
  /** Left out first when the terminal is narrow: the lowest goes first. Absent: stays. */
  readonly priority?: number
}

/** How one kind of item is shown in every format. */
export interface View<T> {
  /** Member of `result` that holds the list. */
  readonly list: string
  readonly toJson: (item: T) => unknown
  /** All columns, by name. */
  readonly columns: readonly Column<T>[]
  /** Names for the plain table and csv. */
  readonly defaultColumns: readonly string[]
  /** Names for `--wide`. */
  readonly wideColumns: readonly string[]
}
