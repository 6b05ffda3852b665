import type {Cluster, TopicConfigs} from '../../kafka/ports.ts'

/** What stands against a ledger topic's retention; both null = nothing. */
export interface RetentionFact {
  /** One line: dead letters outlive what the ledger says about them. */
  readonly refuse: string | null
  /** Why it could not be told. */
  readonly unknown: string | null
}

/**
 * Whether the ledger outlives the dead letters: with a delete policy it must not be kept shorter than they are, or a record
 * that was handled looks as if it was not.
 * @param dlq topics of the dead letters on `dlqCluster`
 */
export async function ledgerRetention(
  clusters: {readonly ledger: Pick<Cluster, 'admin'>; readonly dlq: Pick<Cluster, 'admin'>},
  ledger: string,
  dlq: readonly string[],
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<RetentionFact> {
  const [own] = await clusters.ledger.admin.topicConfigs([ledger], options)
  if (own === undefined || own.error !== null) return unknown(ledger, own)
  if (!deletes(own)) return {refuse: null, unknown: null}
  if ((textOf(own, 'retention.bytes') ?? '-1') !== '-1') {
    return {refuse: `${ledger} is cut by size (retention.bytes): what was handled can be forgotten`, unknown: null}
  }
  const kept = int64(own, 'retention.ms')
  if (kept === null) return unknown(ledger, undefined)
  if (kept < 0n) return {refuse: null, unknown: null}
  let reason: string | null = null
  for (const topic of await clusters.dlq.admin.topicConfigs(dlq, options)) {
    if (topic.error !== null) {
      reason ??= unknown(topic.topic, topic).unknown
      continue
    }
    const letters = deletes(topic) ? (int64(topic, 'retention.ms') ?? -1n) : -1n
    if (letters < 0n || letters > kept) {
      const forHow = letters < 0n ? 'for ever' : `for ${letters} ms`
      return {refuse: `${ledger} keeps entries for ${kept} ms, ${topic.topic} keeps records ${forHow}`, unknown: null}
    }
  }
  return {refuse: null, unknown: reason}
}

function deletes(configs: TopicConfigs): boolean {
  return (textOf(configs, 'cleanup.policy') ?? 'delete').split(',').some(policy => policy.trim() === 'delete')
}

function unknown(topic: string, configs: TopicConfigs | undefined): RetentionFact {
  const why = configs?.error?.message ?? 'the cluster does not tell'
  return {refuse: null, unknown: `retention of ${topic} is not known: ${why}`}
}

function textOf({configs}: TopicConfigs, name: string): string | null {
  return configs.get(name)?.value ?? null
}

function int64(configs: TopicConfigs, name: string): bigint | null {
  const value = textOf(configs, name)
  return value !== null && /^-?[0-9]{1,19}$/.test(value) ? BigInt(value) : null
}
