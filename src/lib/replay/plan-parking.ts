import type {Cluster} from '../kafka/ports.ts'
import type {ReplayPlan} from './plan.ts'
import {describeTarget} from './target-topics.ts'
import type {TargetFacts} from './target.ts'

/** Topics in which brokers keep their own state; none of them takes a client's records. */
const KAFKAS_OWN = new Set(['__consumer_offsets', '__transaction_state', '__share_group_state', '__cluster_metadata'])

/** A parking topic, and what stands against it. */
export interface ParkingLook {
  readonly facts: TargetFacts
  /** Why nothing can be parked there; null = nothing is known against it. */
  readonly problem: string | null
  /** Something to know about it; null = nothing. */
  readonly warning: string | null
}

/**
 * Look a parking topic up in the target's cluster, before the dead letters are read. Writes nothing.
 * @param rules.readTopics topics that the run reads, on the same cluster
 */
export async function lookAtParking(
  cluster: Cluster,
  topic: string,
  rules: {readonly readTopics: ReadonlySet<string>; readonly ledger: ReplayPlan['ledger']},
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<ParkingLook> {
  const facts = await describeTarget(cluster, topic, options)
  const compacted = facts.cleanupPolicy?.includes('compact') === true
  const warning = compacted ? 'is compacted: of several parked records of one key only the last one stays' : null
  return {facts, problem: await problemOf(cluster, facts, rules, options), warning}
}

async function problemOf(
  cluster: Cluster,
  {topic, partitions}: TargetFacts,
  {readTopics, ledger}: Parameters<typeof lookAtParking>[2],
  options: {readonly signal?: AbortSignal | undefined},
): Promise<string | null> {
  if (readTopics.has(topic)) return 'is read by this run'
  if (ledger.kind === 'topic' && ledger.name === topic) return 'is the ledger of this run'
  if (KAFKAS_OWN.has(topic)) return 'is a topic of Kafka itself'
  if (partitions !== 0) return null
  const [described] = await cluster.reader.topics([topic], options)
  const error = described?.error ?? null
  return error?.code === 'E_UNKNOWN_TOPIC_OR_PARTITION' || error === null ? 'does not exist' : error.message
}
