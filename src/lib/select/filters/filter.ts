import type {DeadLetter} from '../../dead-letter/model.ts'
import type {RecordCursor} from '../../kafka/records/types.ts'
import type {DecodedRecord} from '../../serde/index.ts'

/** What the raw bytes of a record say about a filter. `yes` and `no` only if `matches` must answer the same. */
export type Peek = 'yes' | 'no' | 'maybe'

/** One value of a filter, ready to be asked. */
export interface FilterTest {
  matches(deadLetter: DeadLetter): boolean
  /** Answers from header, key and value bytes alone, without making an object; null when they cannot tell. */
  readonly peek: ((cursor: RecordCursor) => Peek) | null
}

export interface FilterContext {
  /** The flag as typed, e.g. `--not-stage`; for error messages. */
  readonly flag: string
  /** Words that `--stage` knows. */
  readonly stages: readonly string[]
  /** Dialect ids that `--dialect` knows. */
  readonly dialects: readonly string[]
  /** Key and value by their schemas; null = as JSON or text. */
  readonly decode: ((deadLetter: DeadLetter) => DecodedRecord) | null
  /** To be called when a test could not be made on a record. */
  readonly onError: () => void
}

/** One filter flag. Adding one: a file in this folder, and a line in `index.ts`. */
export interface FilterDefinition {
  /** For the flag's help, one sentence. */
  readonly summary: string
  /** What stands for the value in help and usage. */
  readonly placeholder: string
  /**
   * Check and prepare one value as it was typed.
   * @throws UsageError naming `context.flag`
   */
  compile(text: string, context: FilterContext): FilterTest | Promise<FilterTest>
}
