import type {DeadLetter} from '../dead-letter/model.ts'
import type {LedgerIndex} from './ledger/index-table.ts'
import {LEFT_OUT_STATES} from './ledger/types.ts'
import type {HandledFact, SourceAddress, SourceRef} from './ledger/types.ts'
import type {HandledRule} from './plan.ts'
import {isProvenanceName, nextAttempt} from './provenance.ts'

/** What a ledger knows, and how it names the topics that are read. */
export interface LedgerView {
  readonly index: LedgerIndex
  readonly refOf: (topic: string) => SourceRef
}

/** What the ledger says about one dead letter. */
export interface LedgerVerdict {
  /** What has to happen: send it, leave it out as handled (or, with `only`, as not handled), or as a copy. */
  readonly kind: 'open' | 'handled' | 'not-handled' | 'copy'
  /** The newest entry; null = none. A `stale` one counts for nothing. */
  readonly fact: HandledFact | null
  /** Replays that its chain has behind it. */
  readonly attempts: number
  /** Only `copy`: another dead letter of the same origin was replayed. */
  readonly copyOf: {readonly address: string; readonly run: string; readonly differs: boolean} | null
}

/** The address of a dead letter as the ledger knows it. */
export function sourceOf(
  view: Pick<LedgerView, 'refOf'>,
  {topic, partition, offset}: {readonly topic: string; readonly partition: number; readonly offset: bigint},
): SourceAddress {
  return {...view.refOf(topic), topic, partition, offset}
}

/** What a plan says about dead letters that the ledger knows. */
export interface LedgerRules {
  readonly handled: HandledRule
  /** `sending` entries of earlier runs do not count as handled. */
  readonly resendUnknown?: boolean | undefined
  /** What was held at the cap is open again when the cap is raised, or allowed. */
  readonly maxAttempts?: number | undefined
  readonly allow?: readonly string[] | undefined
}

/** Begins the reason of an entry about a dead letter that was replayed too often. */
const AT_CAP = 'attempt-cap'

/** Why a dead letter at the cap is held or parked, as the ledger keeps it. */
export function capReason(attempts: number): string {
  return `${AT_CAP}: replayed ${attempts} time${attempts === 1 ? '' : 's'}`
}

/** True for the reason of a dead letter that was held or parked because it was replayed too often. */
export function isCapReason(reason: string | null): boolean {
  return reason?.startsWith(AT_CAP) === true
}

function isFreed({state, reason}: HandledFact, attempts: number, {maxAttempts, allow}: LedgerRules): boolean {
  if (state !== 'held' || !isCapReason(reason)) return false
  return (maxAttempts !== undefined && attempts < maxAttempts) || allow?.includes(AT_CAP) === true
}

/** Hold a dead letter against the ledger; without one only its own headers count. */
export function judgeByLedger(view: LedgerView | null, letter: DeadLetter, rules: LedgerRules): LedgerVerdict {
  const {handled: rule, resendUnknown = false} = rules
  const {record, failure} = letter
  const byHeader = nextAttempt(record.headers) - 1
  if (view === null) return {kind: 'open', fact: null, attempts: byHeader, copyOf: null}
  const {index} = view
  const ref = view.refOf(record.topic)
  const fact = index.handled(record, ref)
  const attempts = Math.max(byHeader, index.attemptsOf(record, failure, ref))
  const isHandled = fact !== null && !fact.stale && LEFT_OUT_STATES.has(fact.state)
  const resends = (resendUnknown && fact?.state === 'sending') || (fact !== null && isFreed(fact, attempts, rules))
  if (isHandled) return {kind: rule === 'hide' && !resends ? 'handled' : 'open', fact, attempts, copyOf: null}
  if (rule === 'only') return {kind: 'not-handled', fact, attempts, copyOf: null}
  // Another record stood here: that has to be decided by a person first (check `recreated`).
  if (fact?.stale === true) return {kind: 'open', fact, attempts, copyOf: null}
  const twin = record.headers.some(({name}) => isProvenanceName(name)) ? null : index.sameOrigin(record, failure, ref)
  // A later dead letter of the same partition may be the replayed record that failed again: it is the chain's next.
  const isSuccessor = twin?.address.topic === record.topic && twin.address.partition === record.partition
  if (twin === null || twin.state !== 'replayed' || (isSuccessor && record.offset > twin.address.offset)) {
    return {kind: 'open', fact, attempts, copyOf: null}
  }
  const {topic, partition, offset} = twin.address
  const copyOf = {address: `${topic}:${partition}:${offset}`, run: twin.run, differs: !twin.sameChecksum}
  return {kind: 'copy', fact, attempts, copyOf}
}
