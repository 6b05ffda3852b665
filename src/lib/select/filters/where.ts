import type {CelInput} from '@bufbuild/cel'
import type {DeadLetter} from '../../dead-letter/model.ts'
import type {DecodedRecord} from '../../serde/index.ts'
import {badValue} from '../usage.ts'
import type {FilterDefinition} from './filter.ts'
import {checkWhere} from './where-check.ts'
import {readField, wherePaths} from './where-fields.ts'
import {payloadForCel} from './where-payload.ts'

/** Longest expression in characters: far more than anybody types, far less than what exhausts the parser's stack. */
const LONGEST_EXPRESSION = 4096

export const whereFilter: FilterDefinition = {
  summary: 'CEL expression over the fields of a dead letter, value and key decoded.',
  placeholder: 'EXPR',
  async compile(text, {flag, onError, decode}) {
    const evaluate = await compileWhere(text, flag, decode)
    return {
      matches: deadLetter => {
        const result = evaluate(deadLetter)
        if (result === null) onError()
        return result === true
      },
      peek: null,
    }
  },
}

/**
 * Prepare a CEL expression. Loads the evaluator. Patterns in it run on RE2; a loop inside a loop is refused unless it
 * goes over a part of the outer loop's element, so that the time is linear in the record.
 * @param decode key and value by their schemas; null = as JSON or text
 * @returns true, false, or null when it cannot be evaluated on this record (an error, or no boolean)
 * @throws UsageError for a syntax error, an unknown field or function, and for too long or too deeply nested text
 */
export async function compileWhere(
  text: string,
  flag: string,
  decode: ((deadLetter: DeadLetter) => DecodedRecord) | null = null,
): Promise<(deadLetter: DeadLetter) => boolean | null> {
  if (text.length > LONGEST_EXPRESSION) {
    throw badValue(flag, text, `an expression has at most ${LONGEST_EXPRESSION} characters`)
  }
  const [{parse, plan, celEnv, isCelError}, {timestampFromMs}] = await Promise.all([
    import('@bufbuild/cel'),
    import('@bufbuild/protobuf/wkt'),
  ])
  const timestamp = (epochMs: bigint): CelInput => timestampFromMs(Number(epochMs))
  try {
    const {expr} = parse(text)
    const environment = celEnv()
    const functions = new Set([...environment.funcs].map(({name}) => name).concat(OPERATORS))
    checkWhere(expr, flag, functions)
    const run = plan(environment, expr)
    const bindings = createBindings(timestamp, decode)
    return deadLetter => {
      const result = run(bindings(deadLetter))
      return isCelError(result) || typeof result !== 'boolean' ? null : result
    }
  } catch (error) {
    if (error instanceof RangeError) throw badValue(flag, text, 'the expression is too deeply nested')
    throw isSyntaxError(error) ? badValue(flag, text, syntaxProblem(error), [SYNTAX_HINT]) : error
  }
}

/** What the evaluator does without a function of its table. */
const OPERATORS = ['_&&_', '_||_', '_?_:_', '_[_]', '@not_strictly_false', '!_']

const SYNTAX_HINT = `an expression looks like failure.stage == "VALUE_CONVERTER" && value.amount > 100`

/**
 * The names that an expression may read, each under its whole dotted path so that a missing object on the way is no
 * error; read when asked for, at most once a record.
 */
function createBindings(
  timestamp: (epochMs: bigint) => CelInput,
  decode: ((deadLetter: DeadLetter) => DecodedRecord) | null,
): (deadLetter: DeadLetter) => Record<string, CelInput> {
  const bindings: Record<string, CelInput> = {}
  const known = new Map<string, CelInput>()
  let current: DeadLetter | null = null
  for (const [path, node] of wherePaths()) {
    Object.defineProperty(bindings, path, {
      get: () => {
        let value = known.get(path)
        if (value === undefined && current !== null) {
          value =
            decode !== null && (path === 'key' || path === 'value')
              ? payloadForCel(decode(current)[path], current.record[path])
              : readField(node, current, timestamp)
          known.set(path, value)
        }
        return value
      },
    })
  }
  return deadLetter => {
    current = deadLetter
    known.clear()
    return bindings
  }
}

interface SyntaxProblem {
  readonly rawMessage: string
  readonly location: {readonly start: {readonly line: number; readonly column: number}}
}

function isSyntaxError(error: unknown): error is Error & SyntaxProblem {
  return error instanceof Error && 'rawMessage' in error && 'location' in error
}

function syntaxProblem({rawMessage, location: {start}}: SyntaxProblem): string {
  const place = start.line === 1 ? `column ${start.column}` : `line ${start.line}, column ${start.column}`
  const found = rawMessage.split(' but expecting')[0] ?? rawMessage
  return `not an expression: at ${place}, ${found}`
}
