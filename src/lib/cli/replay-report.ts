import {plural} from '../render/numbers.ts'
import type {FileDeliveryInput} from '../replay/file-delivery.ts'
import {DEFAULT_LEDGER} from '../replay/ledger/types.ts'
import type {LedgerTopic} from '../replay/ledger/types.ts'
import type {ReplayPlan} from '../replay/plan.ts'
import type {RecordFailure, ReplayResult} from '../replay/result.ts'

/** Failures that are told one by one on stderr. */
const TOLD_FAILURES = 20
const FAILURE_WORDS: Readonly<Record<RecordFailure['state'], string>> = {
  failed: 'failed',
  unknown: 'may have been written',
  parked: 'was parked',
  gone: 'is unrecoverable',
}

/** The ledger of a run that is about to begin. */
export type OpenLedger =
  {readonly kind: 'topic'; readonly topic: LedgerTopic} | FileDeliveryInput['ledger'] | {readonly kind: 'none'}

/** What went wrong, for a person, in lines; of many failures the first 20. */
export function* failureLines(
  {failures, failuresOmitted, stopped, plan}: ReplayResult,
  ledger: OpenLedger,
): Generator<string> {
  for (const {address, state, message} of failures.slice(0, TOLD_FAILURES)) {
    yield `${address} ${FAILURE_WORDS[state]}: ${message}`
  }
  const more = failures.length + failuresOmitted - Math.min(failures.length, TOLD_FAILURES)
  if (more > 0) yield `and ${plural(more, 'more record')}; --json lists up to 1,000`
  if (stopped?.settled === false) yield unsettledText(plan, ledger)
}

/** True when the run came to its end, or was stopped, with something left to do for a person: exit 3. */
export function isBadAnswer({counts, parking, stopped, scanned}: ReplayResult): boolean {
  const bad = counts.failed + counts.unknown + counts.gone + (parking?.failed ?? 0)
  return bad > 0 || stopped !== null || scanned.some(({complete}) => !complete)
}

/** The likely next command; null = there is none. */
export function nextCommand(result: ReplayResult, ledger: OpenLedger): string | null {
  const {stopped, failures, targets, plan, run, parking} = result
  const [first] = failures
  const [target] = targets
  if (stopped !== null && ledger.kind !== 'none') return resumeCommand(run ?? '', ledger)
  if (parking !== null && parking.failed > 0) {
    return `kdlq inspect ${nextSource(plan, parking.topic)} --connector ${run ?? ''}`
  }
  if (first !== undefined) return `kdlq show ${first.address}`
  return target === undefined ? null : `kdlq inspect ${nextSource(plan, target.topic)} --tail 10`
}

/** How a run goes on. */
export function resumeCommand(run: string, ledger: OpenLedger): string {
  return `kdlq resume ${run}${ledgerOption(ledger)}`
}

function ledgerOption(ledger: OpenLedger): string {
  if (ledger.kind === 'topic') return ledger.topic.name === DEFAULT_LEDGER ? '' : ` --ledger topic:${ledger.topic.name}`
  if (ledger.kind === 'file') return ` --ledger file:${ledger.path}`
  return ledger.kind === 'archive' ? ` --to-archive ${ledger.path}` : ''
}

function unsettledText({delivery}: ReplayPlan, ledger: OpenLedger): string {
  if (delivery === 'exactly-once' && ledger.kind !== 'none') {
    return 'the target did not answer in time: whether the last transaction was committed, resume decides'
  }
  return 'the target did not answer in time: the records above may have been written'
}

/** Where the replayed records can be looked at. */
function nextSource({target}: ReplayPlan, topic: string): string {
  return target.kind === 'archive' ? `${target.name.replace(/\/$/, '')}/` : topic
}
