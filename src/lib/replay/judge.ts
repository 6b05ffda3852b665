import type {DeadLetter} from '../dead-letter/model.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {CheckDecisions} from './check-names.ts'
import {CheckTally} from './check-tally.ts'
import type {Fate} from './check-tally.ts'
import {originOf, pristineRecord} from './from-origin-letter.ts'
import type {HeaderPolicy} from './header-policy.ts'
import type {LedgerVerdict} from './ledger-judge.ts'
import {OutgoingFactory} from './outgoing.ts'
import type {Outgoing, TimestampRule} from './outgoing.ts'
import {singleBatchBytes} from './record-size.ts'
import {resolveDestination} from './target.ts'
import type {Destination, TargetFacts, TargetRule} from './target.ts'

/** What decides about single dead letters: the same for the plan and for the run that executes it. */
export interface JudgeRules {
  readonly target: TargetRule
  readonly headers: HeaderPolicy
  readonly timestamp: TimestampRule
  readonly decisions: CheckDecisions
  /** Id for the provenance header; while planning any id of the right length. */
  readonly run: string
  /** Wall clock of the plan, epoch ms. */
  readonly nowMs: bigint
  readonly readTopics: ReadonlySet<string>
  /** Null = there is none. */
  readonly parking: TargetFacts | null
}

/** Where a dead letter goes and what it looks like there, if it goes at all. */
export type Judgement =
  | {readonly fate: 'send'; readonly destination: Destination & {readonly kind: 'known'}; readonly outgoing: Outgoing}
  | {readonly fate: Exclude<Fate, 'send'>; readonly outgoing: Outgoing}

/** Works out destination, outgoing form and fate of dead letters. */
export class Judge {
  readonly tally: CheckTally
  readonly #rules: JudgeRules
  readonly #factory: OutgoingFactory

  constructor(rules: JudgeRules) {
    this.#rules = rules
    this.tally = new CheckTally(rules.decisions)
    this.#factory = new OutgoingFactory(rules)
  }

  /** What goes out; the stage TRANSFORMATION of a run. */
  prepare(letter: DeadLetter, {attempts}: LedgerVerdict): Outgoing {
    const {record, failure} = letter
    return this.#factory.prepare(record, failure, attempts, pristineRecord(letter))
  }

  /**
   * @param facts of the topic that the rule names for this dead letter; null = not known
   * @param verdict what the ledger says about it
   * @param unreadable why it cannot be decoded as asked; null = it can, or nobody asked
   */
  judge(
    letter: DeadLetter,
    outgoing: Outgoing,
    facts: TargetFacts | null,
    {fact}: LedgerVerdict,
    unreadable: string | null = null,
  ): Judgement {
    const {record, failure} = letter
    const {target, readTopics, nowMs, parking} = this.#rules
    const destination = resolveDestination(target, {...record, key: outgoing.key}, failure, facts)
    const subject = {
      record,
      failure,
      origin: originOf(letter),
      sentValue: outgoing.value,
      destination,
      facts: destination.kind === 'known' ? facts : null,
      readTopics,
      timestamp: outgoing.timestamp ?? nowMs,
      timestampKept: outgoing.timestamp !== null,
      timestampLost: outgoing.timestampLost,
      sentHeaders: () => outgoing.headers(),
      outgoingBytes: outgoing.bytes,
      deadLetterBytes: () => singleBatchBytes(record),
      nowMs,
      parking,
      stale: fact?.stale === true ? fact : null,
      unreadable,
    }
    const fate = this.tally.judge(subject, letter.address)
    if (fate !== 'send') return {fate, outgoing}
    // No decision can send what has no place to go.
    return destination.kind === 'known' ? {fate, destination, outgoing} : {fate: 'refuse', outgoing}
  }
}

/** Topics that a replay into the same cluster must not write to. */
export function readTopics(
  {source, target}: {readonly source: Cluster; readonly target: Cluster},
  ranges: readonly {readonly topic: string}[],
): ReadonlySet<string> {
  const same = source === target || source.description.clusterId === target.description.clusterId
  return new Set(same ? ranges.map(({topic}) => topic) : [])
}
