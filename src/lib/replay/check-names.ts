import {UsageError} from '../errors.ts'
import {didYouMean} from '../suggest.ts'
import {CHECKS} from './checks.ts'
import type {CheckDefinition} from './checks.ts'

/** What to do with records on which a check finds something. */
export interface CheckDecisions {
  readonly allow: ReadonlySet<string>
  readonly skip: ReadonlySet<string>
}

/**
 * Check the names given to `--allow` and `--skip`.
 * @throws UsageError for an unknown name (with the nearest known one), a check that cannot be allowed, and a name in both
 */
export function parseCheckDecisions(allow: readonly string[], skip: readonly string[]): CheckDecisions {
  for (const id of skip) checkNamed(id, '--skip')
  for (const id of allow) {
    const check = checkNamed(id, '--allow')
    if (!check.allowable) {
      throw new UsageError(`check ${id} cannot be allowed`, {
        code: 'E_CHECK_NOT_ALLOWABLE',
        hints: [check.hint],
        context: {check: id},
      })
    }
    if (skip.includes(id)) throw new UsageError(`check ${id} is both allowed and skipped`, {context: {check: id}})
  }
  return {allow: new Set(allow), skip: new Set(skip)}
}

function checkNamed(id: string, flag: string): CheckDefinition {
  const known = CHECKS.find(check => check.id === id)
  if (known !== undefined) return known
  const names = CHECKS.map(check => check.id)
  throw new UsageError(`unknown check ${JSON.stringify(id)} for ${flag}`, {
    code: 'E_UNKNOWN_CHECK',
    hints: [...didYouMean(id, names), `checks: ${names.join(', ')}`],
    context: {check: id},
  })
}
