import {badValue} from '../usage.ts'
import type {FilterDefinition} from './filter.ts'

const COMPARISONS: Readonly<Record<Comparison['operator'], (left: number, right: number) => boolean>> = {
  '>=': (left, right) => left >= right,
  '<=': (left, right) => left <= right,
  '!=': (left, right) => left !== right,
  '>': (left, right) => left > right,
  '<': (left, right) => left < right,
  '=': (left, right) => left === right,
}

export interface Comparison {
  readonly operator: '>=' | '<=' | '!=' | '>' | '<' | '='
  readonly number: number
}

/**
 * `>=3`, `<=3`, `>3`, `<3`, `=3`, `!=3`; a number alone means equal.
 * @throws UsageError naming the flag
 */
export function parseComparison(text: string, flag: string): Comparison {
  const match = /^(>=|<=|!=|>|<|=)? ?([0-9]{1,10})$/.exec(text)
  const operator = match?.[1] ?? '='
  if (match === null || !isOperator(operator)) {
    throw badValue(flag, text, "give a comparison such as '>=3', '<5' or 3")
  }
  return {operator, number: Number(match[2])}
}

function isOperator(text: string): text is Comparison['operator'] {
  return Object.hasOwn(COMPARISONS, text)
}

/** Text that `parseComparison` reads as the same comparison. */
export function formatComparison({operator, number}: Comparison): string {
  return `${operator}${number}`
}

export const attemptsFilter: FilterDefinition = {
  summary: "Failed attempts as the headers count them, such as '>=3'.",
  placeholder: 'COMPARISON',
  compile(text, {flag}) {
    const {operator, number} = parseComparison(text, flag)
    const holds = COMPARISONS[operator]
    return {
      matches: ({failure: {attempts}}) => attempts !== undefined && holds(attempts, number),
      peek: null,
    }
  },
}

export const fingerprintFilter: FilterDefinition = {
  summary: 'Fingerprint of the failure, as stats prints it.',
  placeholder: 'ID',
  compile(text, {flag}) {
    if (!/^f-[0-9a-f]{8}$/.test(text)) throw badValue(flag, text, 'give f- and 8 hex digits, such as f-3c9a1b2d')
    return {matches: ({fingerprint}) => fingerprint === text, peek: null}
  },
}
