import {RefusedError} from '../errors.ts'
import type {Cluster, ConfigEntry} from '../kafka/ports.ts'
import type {TargetFacts} from './target.ts'

/** Most target topics of one plan; more are almost surely broken origin headers. */
const MAX_TOPICS = 1000

/** Looks target topics up, each once. */
export class TargetTopics {
  readonly #cluster: Cluster
  readonly #known = new Map<string, TargetFacts>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** What is known already, without asking. */
  peek(topic: string): TargetFacts | undefined {
    return this.#known.get(topic)
  }

  /** Facts by topic name, sorted. */
  all(): readonly TargetFacts[] {
    return [...this.#known.values()].toSorted((a, b) => (a.topic < b.topic ? -1 : 1))
  }

  /**
   * @param topic a legal topic name
   * @throws RefusedError when a plan names more than 1000 topics
   */
  async load(topic: string, options: {readonly signal?: AbortSignal | undefined} = {}): Promise<TargetFacts> {
    const known = this.#known.get(topic)
    if (known !== undefined) return known
    if (this.#known.size >= MAX_TOPICS) {
      throw new RefusedError(`the selection names more than ${MAX_TOPICS} target topics`, {
        code: 'E_TOO_MANY_TARGETS',
        hints: ['narrow the selection with --origin, or name one target with --target-topic'],
      })
    }
    const facts = await describeTarget(this.#cluster, topic, options)
    this.#known.set(topic, facts)
    return facts
  }
}

/** What an archive takes: everything. */
const ARCHIVE_FACTS: Omit<TargetFacts, 'topic'> = {
  topicId: null,
  partitions: null,
  maxMessageBytes: null,
  retentionMs: null,
  cleanupPolicy: null,
  timestampType: null,
  timestampBeforeMaxMs: null,
  timestampAfterMaxMs: null,
  configError: null,
}

/** Ask the cluster what a target topic is and allows. A topic that is not there has 0 partitions. */
export async function describeTarget(
  cluster: Cluster,
  topic: string,
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<TargetFacts> {
  if (cluster.description.kind === 'archive') return {topic, ...ARCHIVE_FACTS}
  const [description] = await cluster.reader.topics([topic], options)
  const exists = description !== undefined && description.error === null
  const [answer] = exists ? await cluster.admin.topicConfigs([topic], options) : []
  const configs = answer?.configs ?? new Map<string, ConfigEntry>()
  const text = (name: string): string | null => configs.get(name)?.value ?? null
  const int = (name: string): string | null => {
    const value = text(name)
    return value !== null && /^-?[0-9]{1,19}$/.test(value) ? value : null
  }
  const maxMessageBytes = int('max.message.bytes')
  const type = text('message.timestamp.type')
  return {
    topic,
    topicId: description?.id ?? null,
    partitions: exists ? description.partitions.length : 0,
    maxMessageBytes: maxMessageBytes === null ? null : Number(maxMessageBytes),
    retentionMs: int('retention.ms'),
    cleanupPolicy: text('cleanup.policy'),
    timestampType: type === 'CreateTime' || type === 'LogAppendTime' ? type : null,
    timestampBeforeMaxMs: int('message.timestamp.before.max.ms'),
    timestampAfterMaxMs: int('message.timestamp.after.max.ms'),
    configError: exists ? (answer?.error?.message ?? null) : null,
  }
}
