import {createDeadLetter} from '../dead-letter/dead-letter.ts'
import type {DeadLetter, Handled} from '../dead-letter/model.ts'
import type {Dialect} from '../dialects/dialect.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import type {LedgerView} from '../replay/ledger-judge.ts'
import {type HandledFact, LEFT_OUT_STATES, type LedgerState} from '../replay/ledger/types.ts'
import type {CompiledFilters} from '../select/compile.ts'

/** `--handled`: leave out what was handled, show all, or show nothing else. */
export type HandledChoice = 'hide' | 'show' | 'only'

/** A scan seen through a ledger. */
export interface LedgerLens {
  /** A dead letter with its `handled`. */
  readonly createDeadLetter: (record: KafkaRecord, dialects: readonly Dialect[]) => DeadLetter
  /** The filters and `--handled`; it counts before `--limit` and `--tail`, as every filter does. */
  filter(filters: CompiledFilters): CompiledFilters
  /** All entries about a record, oldest first. */
  history(record: KafkaRecord): readonly Handled[]
}

/** Look at records through what a ledger knows. */
export function ledgerLens({index, refOf}: LedgerView, choice: HandledChoice): LedgerLens {
  const handledOf = (record: KafkaRecord): Handled | null => {
    const fact = index.handled(record, refOf(record.topic))
    return fact === null ? null : toHandled(fact)
  }
  return {
    createDeadLetter: (record, dialects) => createDeadLetter(record, dialects, handledOf(record)),
    filter: filters => (choice === 'show' ? filters : withHandled(filters, choice === 'only')),
    history: record => index.history(record, refOf(record.topic)).map(toHandled),
  }
}

function withHandled(filters: CompiledFilters, wanted: boolean): CompiledFilters {
  return {
    isEmpty: false,
    // Raw bytes do not say what the ledger knows.
    peek: cursor => (filters.peek(cursor) === 'no' ? 'no' : 'maybe'),
    prefilter: cursor => filters.prefilter(cursor),
    matches: deadLetter => isHandled(deadLetter) === wanted && filters.matches(deadLetter),
    get whereErrors() {
      return filters.whereErrors
    },
  }
}

const LEFT_OUT: ReadonlySet<string> = LEFT_OUT_STATES satisfies ReadonlySet<LedgerState>

function isHandled({handled}: DeadLetter): boolean {
  return handled !== undefined && handled !== null && handled.stale !== true && LEFT_OUT.has(handled.state)
}

function toHandled({stale, ...handled}: HandledFact): Handled {
  return stale ? {...handled, stale} : handled
}
