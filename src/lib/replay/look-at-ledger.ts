import type {Clock} from '../clock.ts'
import {isKdlqError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {LedgerView} from './ledger-judge.ts'
import {foreignClaims} from './ledger/claims.ts'
import {fileAsLedger} from './file-delivery.ts'
import type {LedgerContents} from './ledger/contents.ts'
import {ensureLedger} from './ledger/ensure-ledger.ts'
import {readFileLedger} from './ledger/file-ledger.ts'
import {ledgerRetention} from './ledger/retention.ts'
import {sourceRef} from './ledger/names.ts'
import {readLedger} from './ledger/read-ledger.ts'
import type {LedgerReadOptions} from './ledger/read-ledger.ts'
import type {LedgerTopic, LiveClaim} from './ledger/types.ts'
import type {LedgerFinding} from './plan-input.ts'

/** What is read before a plan; nothing is written. */
export interface LedgerLookDeps {
  readonly source: Cluster
  /** Holds the ledger. */
  readonly target: Cluster
  readonly clock: Clock
}

export interface LedgerLookInput extends LedgerReadOptions {
  /** A topic on the target's cluster, or a file. */
  readonly ledger: {readonly kind: 'topic'; readonly name: string} | {readonly kind: 'file'; readonly path: string}
  readonly ranges: readonly {readonly topic: string; readonly topicId: string | null; readonly partition: number}[]
  /** True: a ledger that is not there yet is nothing to tell. */
  readonly isNewNormal: boolean
  /** Its claims are about to be ended; null = nobody's. */
  readonly takeOver: string | null
  readonly signal?: AbortSignal | undefined
}

/** What a ledger says about a selection, before anything is written. */
export interface LedgerLook {
  /** Null: there is none yet. */
  readonly ledger: LedgerTopic | null
  readonly view: LedgerView | null
  readonly findings: readonly LedgerFinding[]
  /** Claims that stand in the way. */
  readonly claims: readonly LiveClaim[]
}

/**
 * Read a ledger topic for a plan.
 * @throws ConfigError for a topic that is no ledger; as `readLedger`
 */
export async function lookAtLedger(
  {source, target, clock}: LedgerLookDeps,
  input: LedgerLookInput,
): Promise<LedgerLook> {
  const {ranges, takeOver, signal} = input
  const name = input.ledger.kind === 'topic' ? input.ledger.name : input.ledger.path
  const topics = [...new Set(ranges.map(({topic}) => topic))]
  const found =
    input.ledger.kind === 'topic'
      ? await readTopic({cluster: target, clock}, name, topics, input)
      : await readFile(input.ledger.path)
  if (found === null) {
    const detail = `there is no ledger ${name} yet: nothing is known about earlier replays`
    const findings = input.isNewNormal ? [] : [{check: 'handled' as const, address: name, detail, unknown: true}]
    return {ledger: null, view: null, claims: [], findings}
  }
  const {ledger, contents} = found
  const ids = new Map(ranges.map(({topic, topicId}) => [topic, topicId]))
  const refOf: LedgerView['refOf'] = topic =>
    sourceRef(source.description.clusterId, ledger.clusterId, ids.get(topic) ?? null)
  const partitions = ranges.map(({topic, partition}) => ({...refOf(topic), topic, partition}))
  const claims = foreignClaims(contents.claims, partitions, takeOver ?? '')
  const retention =
    input.ledger.kind === 'topic'
      ? await ledgerRetention({ledger: target, dlq: source}, name, topics, {signal})
      : {refuse: null, unknown: null}
  const findings = claims.map(claimFinding)
  const check = 'ledger-retention'
  if (retention.refuse !== null) findings.push({check, address: name, detail: retention.refuse})
  if (retention.unknown !== null) findings.push({check, address: name, detail: retention.unknown, unknown: true})
  return {ledger, view: {index: contents.index, refOf}, claims, findings}
}

interface Found {
  readonly ledger: LedgerTopic
  readonly contents: LedgerContents
}

async function readTopic(
  deps: {readonly cluster: Cluster; readonly clock: Clock},
  name: string,
  topics: readonly string[],
  input: LedgerLookInput,
): Promise<Found | null> {
  const ledger = await existing(deps, name, input.signal)
  return ledger === null ? null : {ledger, contents: await readLedger(deps, ledger, topics, input)}
}

async function readFile(path: string): Promise<Found | null> {
  try {
    return {ledger: fileAsLedger(path), contents: (await readFileLedger(path)).contents}
  } catch (error) {
    if (isKdlqError(error) && error.code === 'E_NO_LEDGER') return null
    throw error
  }
}

/** @returns null when there is no ledger topic, or an empty one */
async function existing(
  deps: {readonly cluster: Cluster; readonly clock: Clock},
  name: string,
  signal: AbortSignal | undefined,
): Promise<LedgerTopic | null> {
  try {
    return await ensureLedger(deps, {name, create: false, deliveryTimeoutMs: 1}, {signal})
  } catch (error) {
    if (isKdlqError(error) && error.code === 'E_NO_LEDGER') return null
    throw error
  }
}

function claimFinding({source: {topic, partition}, run, by, at}: LiveClaim): LedgerFinding {
  const who = by === null ? '' : ` of ${by}`
  return {
    check: 'claimed',
    address: `${topic}:${partition}`,
    detail: `claimed by run ${run}${who} since ${new Date(Number(at)).toISOString()}`,
  }
}
