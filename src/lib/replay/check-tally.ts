import {CHECKS} from './checks.ts'
import type {CheckDefinition, CheckSubject} from './checks.ts'
import type {CheckDecisions} from './check-names.ts'
import type {CheckResult} from './plan.ts'
import type {TargetFacts} from './target.ts'

/** Most addresses that one check names. */
const MAX_ADDRESSES = 20

/** What becomes of one dead letter. */
export type Fate = 'send' | 'skip' | 'refuse'

interface Tally {
  count: number
  refused: number
  readonly addresses: string[]
  detail: string
  blind: string | null
}

/** Runs the record checks and keeps their results, at most 20 addresses a check. */
export class CheckTally {
  readonly #decisions: CheckDecisions
  readonly #tallies = new Map<string, Tally>()
  readonly #checks: readonly CheckDefinition[]

  constructor(decisions: CheckDecisions, checks: readonly CheckDefinition[] = CHECKS) {
    this.#decisions = decisions
    this.#checks = checks
    for (const {id} of checks) this.#tallies.set(id, {count: 0, refused: 0, addresses: [], detail: '', blind: null})
  }

  /** What the checks say about one record; a skipped record refuses nothing. */
  judge(subject: CheckSubject, address: string): Fate {
    const found: {check: CheckDefinition; detail: string}[] = []
    for (const check of this.#checks) {
      const detail = check.find?.(subject) ?? null
      if (detail !== null) found.push({check, detail})
    }
    const skipped = found.some(({check}) => this.#decisions.skip.has(check.id))
    let refused = false
    for (const {check, detail} of found) {
      const refuses = !skipped && check.level === 'refuse' && !this.#decisions.allow.has(check.id)
      refused ||= refuses
      this.note(check.id, address, detail, refuses)
    }
    return skipped ? 'skip' : refused ? 'refuse' : 'send'
  }

  /** Count something that the planner found by itself. */
  note(id: string, address: string, detail: string, refuses: boolean): void {
    const tally = this.#tallies.get(id)
    if (tally === undefined) return
    // The records that stop the run are the ones a person has to see.
    if (refuses && tally.refused === 0) {
      tally.addresses.length = 0
      tally.detail = ''
    }
    tally.count++
    if (refuses) tally.refused++
    if (refuses === tally.refused > 0 && tally.addresses.length < MAX_ADDRESSES) tally.addresses.push(address)
    if (tally.detail === '') tally.detail = detail
  }

  /** Note why checks cannot be made against a target. */
  facts(facts: TargetFacts): void {
    for (const check of this.#checks) {
      const reason = check.blind?.(facts) ?? null
      if (reason !== null) this.unknown(check.id, `${facts.topic}: ${reason}`)
    }
  }

  /** Note why a check could not be made (for some records at least). */
  unknown(id: string, reason: string): void {
    const tally = this.#tallies.get(id)
    if (tally !== undefined) tally.blind ??= reason
  }

  /** Results in the order of the checks; one for each. */
  results(): readonly CheckResult[] {
    return this.#checks.map(check => {
      const tally = this.#tallies.get(check.id) ?? {count: 0, refused: 0, addresses: [], detail: '', blind: null}
      const level = this.#level(check, tally)
      return {
        id: check.id,
        level,
        count: tally.count,
        detail: level === 'unknown' ? (tally.blind ?? '') : tally.detail,
        addresses: tally.addresses,
        ...(level === 'refuse' || (level === 'warn' && check.hintsAtWarning === true) ? {hint: check.hint} : {}),
      }
    })
  }

  #level(check: CheckDefinition, tally: Tally): CheckResult['level'] {
    if (tally.refused > 0) return 'refuse'
    if (tally.count === 0) return tally.blind === null ? 'ok' : 'unknown'
    if (this.#decisions.skip.has(check.id)) return 'skipped'
    if (this.#decisions.allow.has(check.id)) return 'allowed'
    if (check.level === 'leave-out') return 'left-out'
    // Found only on records that another check leaves out.
    return check.level === 'refuse' ? 'skipped' : 'warn'
  }
}
