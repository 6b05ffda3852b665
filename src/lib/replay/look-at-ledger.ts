import type {Clock} from '../clock.ts'
import {isKdlqError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {LedgerView} from './ledger-judge.ts'
import {foreignClaims} from './ledger/claims.ts'
import {ensureLedger} from './ledger/ensure-ledger.ts'
import {sourceRef} from './ledger/names.ts'
import {readLedger} from './ledger/read-ledger.ts'
import type {LedgerReadOptions} from './ledger/read-ledger.ts'
import type {LedgerTopic, LiveClaim} from './ledger/types.ts'
import type {LedgerFinding} from './plan-replay.ts'

/** What is read before a plan; nothing is written. */
export interface LedgerLookDeps {
  readonly source: Cluster
  /** Holds the ledger. */
  readonly target: Cluster
  readonly clock: Clock
}

export interface LedgerLookInput extends LedgerReadOptions {
  readonly name: string
  readonly ranges: readonly {readonly topic: string; readonly topicId: string | null; readonly partition: number}[]
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
  const {name, ranges, takeOver, signal} = input
  const ledger = await existing({cluster: target, clock}, name, signal)
  if (ledger === null) {
    const detail = `there is no ledger ${name} yet: nothing is known about earlier replays`
    return {ledger, view: null, claims: [], findings: [{check: 'handled', address: name, detail, unknown: true}]}
  }
  const topics = [...new Set(ranges.map(({topic}) => topic))]
  const {index, claims} = await readLedger({cluster: target, clock}, ledger, topics, input)
  const ids = new Map(ranges.map(({topic, topicId}) => [topic, topicId]))
  const refOf: LedgerView['refOf'] = topic =>
    sourceRef(source.description.clusterId, ledger.clusterId, ids.get(topic) ?? null)
  const partitions = ranges.map(({topic, partition}) => ({...refOf(topic), topic, partition}))
  const foreign = foreignClaims(claims, partitions, takeOver ?? '')
  return {
    ledger,
    view: {index, refOf},
    claims: foreign,
    findings: [...foreign.map(claimFinding), ...(await retentionFindings({source, target}, name, topics, signal))],
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

/** A ledger that forgets sooner than the dead letter topic lets what was handled be sent again. */
async function retentionFindings(
  {source, target}: Pick<LedgerLookDeps, 'source' | 'target'>,
  name: string,
  topics: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly LedgerFinding[]> {
  const [own] = await target.admin.topicConfigs([name], {signal})
  if (own?.configs.get('cleanup.policy')?.value?.includes('delete') !== true) return []
  const keeps = retentionOf(own.configs)
  if (keeps === null || keeps < 0n) return []
  const findings: LedgerFinding[] = []
  for (const {topic, configs, error} of await source.admin.topicConfigs(topics, {signal})) {
    if (error !== null) {
      const detail = `the retention of ${topic} cannot be read: ${error.message}`
      findings.push({check: 'ledger-retention', address: topic, detail, unknown: true})
      continue
    }
    const isKept = configs.get('cleanup.policy')?.value?.includes('delete') === false
    const other = retentionOf(configs)
    if (!isKept && other !== null && other >= 0n && other <= keeps) continue
    const detail = `${name} forgets after retention.ms ${keeps}, ${topic} ${isKept || other === null || other < 0n ? 'keeps for ever' : `keeps for ${other}`}`
    findings.push({check: 'ledger-retention', address: topic, detail})
  }
  return findings
}

function retentionOf(configs: ReadonlyMap<string, {readonly value: string | null}>): bigint | null {
  const value = configs.get('retention.ms')?.value ?? null
  return value !== null && /^-?[0-9]{1,18}$/.test(value) ? BigInt(value) : null
}
