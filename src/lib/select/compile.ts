import type {DeadLetter} from '../dead-letter/model.ts'
import type {Dialect} from '../dialects/dialect.ts'
import {DIALECTS, knownStages} from '../dialects/registry.ts'
import type {RecordCursor} from '../kafka/records/types.ts'
import type {DecodedRecord} from '../serde/index.ts'
import type {FilterSpec} from './filter-spec.ts'
import type {FilterContext, FilterTest, Peek} from './filters/filter.ts'
import {FILTER_NAMES, FILTERS} from './filters/index.ts'

/** Filters ready to be asked, with their counters; one for each scan. */
export interface CompiledFilters {
  /** True when everything matches: no record has to be looked at. */
  readonly isEmpty: boolean
  /**
   * First look, at raw bytes only: `no` for records that `matches` would refuse, `yes` for those that it would take.
   * Moves the cursor's header position.
   */
  peek(cursor: RecordCursor): Peek
  /** As `peek`; false for `no`. */
  prefilter(cursor: RecordCursor): boolean
  matches(deadLetter: DeadLetter): boolean
  /** Records so far on which a `--where` could not be evaluated; these do not match, whichever twin it was. */
  readonly whereErrors: number
}

export interface FilterDeps {
  /** Header families that are read; gives the words of `--stage` and `--dialect`. */
  readonly dialects?: readonly Dialect[]
  /** Key and value by their schemas, for `--where`; left out or null: as JSON or text. */
  readonly decode?: ((deadLetter: DeadLetter) => DecodedRecord) | null
}

/** All values of one filter flag. */
interface Group {
  readonly excludes: boolean
  readonly tests: readonly FilterTest[]
}

/**
 * Check and prepare filters. Loads the pattern and expression engines only if one is used.
 * @throws UsageError naming the flag: an unknown stage, a broken pattern, an unknown field in an expression
 */
export async function compileFilters(spec: FilterSpec, deps: FilterDeps = {}): Promise<CompiledFilters> {
  const dialects = deps.dialects ?? DIALECTS
  let whereErrors = 0
  let failed = false
  const words = {
    stages: knownStages(dialects),
    dialects: [...dialects.map(({id}) => id), 'none'],
    decode: deps.decode ?? null,
    onError: () => {
      failed = true
    },
  }
  const groups: Group[] = []
  for (const name of FILTER_NAMES) {
    for (const excludes of [false, true]) {
      const texts = (excludes ? spec.exclude : spec.include)[name] ?? []
      if (texts.length === 0) continue
      const context: FilterContext = {...words, flag: `--${excludes ? 'not-' : ''}${name}`}
      const tests: FilterTest[] = []
      for (const text of texts) tests.push(await FILTERS[name].compile(text, context))
      groups.push({excludes, tests})
    }
  }
  const peek = (cursor: RecordCursor): Peek => {
    let sure = true
    for (const group of groups) {
      const answer = peekGroup(group, cursor)
      if (answer === 'no') return 'no'
      if (answer === 'maybe') sure = false
    }
    return sure ? 'yes' : 'maybe'
  }
  const passes = ({excludes, tests}: Group, deadLetter: DeadLetter): boolean => {
    failed = false
    if (tests.some(test => test.matches(deadLetter))) return !excludes
    // Nobody knows whether the record would have matched: it is not taken, and counted.
    if (failed) whereErrors += 1
    return excludes && !failed
  }
  return {
    isEmpty: groups.length === 0,
    peek,
    prefilter: cursor => peek(cursor) !== 'no',
    matches: deadLetter => groups.every(group => passes(group, deadLetter)),
    get whereErrors() {
      return whereErrors
    },
  }
}

function peekGroup({excludes, tests}: Group, cursor: RecordCursor): Peek {
  let unsure = false
  for (const test of tests) {
    const answer = test.peek === null ? 'maybe' : test.peek(cursor)
    if (answer === 'yes') return excludes ? 'no' : 'yes'
    if (answer === 'maybe') unsure = true
  }
  if (unsure) return 'maybe'
  return excludes ? 'yes' : 'no'
}
