import {headlineOf} from '../dialects/root-cause.ts'
import {createGlob, isGlob} from '../select/glob.ts'
import type {DeadLetter} from './model.ts'
import {type Verdict, VERDICT_RULES, type VerdictRule} from './verdict-rules.ts'

/** JSON as it is. */
export interface Judgement {
  readonly verdict: Verdict
  readonly reason: string
}

/** Null when no rule fits. */
export type Judge = (deadLetter: Pick<DeadLetter, 'failure' | 'fingerprint' | 'unredacted'>) => Judgement | null

/** Longest part of a message that is looked at, in characters. */
const MAX_CHARS = 2048

interface Facts {
  readonly stage: string | undefined
  readonly fingerprint: () => string | null
  readonly message: string
  readonly lowerMessage: string
}

interface CompiledRule {
  readonly rule: VerdictRule
  readonly names: ReadonlySet<string>
  readonly globs: readonly ((name: string) => boolean)[]
}

/**
 * Judges by rules: the first that fits the root cause counts, then the first that fits the exception around it.
 * @param own go before the built-in ones, in their order
 */
export function createJudge(own: readonly VerdictRule[] = []): Judge {
  const rules = [...own, ...VERDICT_RULES].map(compileRule)
  return deadLetter => {
    // What is hidden still decides: a rule gives away nothing of it.
    const {stage, exception} = (deadLetter.unredacted ?? deadLetter).failure
    const headline = headlineOf(exception)
    const message = (headline.message ?? '').slice(0, MAX_CHARS)
    const facts: Facts = {
      stage,
      fingerprint: () => deadLetter.fingerprint,
      message,
      lowerMessage: message.toLowerCase(),
    }
    const outer = exception?.class ?? null
    const found =
      rules.find(rule => fits(rule, headline.class, facts)) ??
      (outer === headline.class ? undefined : rules.find(rule => fits(rule, outer, facts)))
    return found === undefined ? null : {verdict: found.rule.verdict, reason: found.rule.reason}
  }
}

function compileRule(rule: VerdictRule): CompiledRule {
  const names = (rule.exceptions ?? []).filter(name => !isGlob(name))
  const globs = (rule.exceptions ?? []).filter(isGlob).map(createGlob)
  return {rule, names: new Set(names), globs: globs.map(glob => (name: string) => glob.matches(name))}
}

function fits({rule, names, globs}: CompiledRule, className: string | null, facts: Facts): boolean {
  if (rule.exceptions !== undefined && !(className !== null && isNamed(className, names, globs))) return false
  if (rule.stages !== undefined && !(facts.stage !== undefined && rule.stages.includes(facts.stage))) return false
  if (rule.messages !== undefined) {
    const hasText = rule.messages.some(wanted =>
      typeof wanted === 'string' ? facts.lowerMessage.includes(wanted.toLowerCase()) : wanted(facts.message),
    )
    if (!hasText) return false
  }
  if (rule.fingerprints !== undefined) {
    const id = facts.fingerprint()
    if (id === null || !rule.fingerprints.includes(id)) return false
  }
  return true
}

/** Last parts of a name, as languages separate them. */
const SEPARATORS = ['.', '$', '::', '\\', '+'] as const

function isNamed(
  className: string,
  names: ReadonlySet<string>,
  globs: readonly ((name: string) => boolean)[],
): boolean {
  if (names.has(className) || globs.some(matches => matches(className))) return true
  return SEPARATORS.some(separator => {
    const at = className.lastIndexOf(separator)
    if (at === -1) return false
    const simple = className.slice(at + separator.length)
    return names.has(simple) || globs.some(matches => matches(simple))
  })
}
