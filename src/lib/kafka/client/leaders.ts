import type {RequestOptions, TopicMetadata, Transport} from '../transport.ts'
import type {NodeId} from '../protocol/types.ts'
import {CODE} from './retry.ts'

/** What metadata says about one partition now. `missing`: the topic or the partition does not exist. */
export type LeaderState =
  | {readonly state: 'known'; readonly node: NodeId; readonly epoch: number; readonly topicId: string | null}
  | {readonly state: 'leaderless' | 'missing' | 'refused'; readonly code: number; readonly topicId: string | null}

/** Leaders of the partitions of some topics, as the last metadata answer told; one for each read, writer or query. */
export class Leaders {
  readonly #transport: Transport
  readonly #topics = new Map<string, TopicMetadata>()
  readonly #names = new Set<string>()
  #refreshing: {readonly names: ReadonlySet<string>; readonly done: Promise<void>} | null = null

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Follow these topics too; the next refresh asks for them. @returns true when one is not known yet */
  add(topics: Iterable<string>): boolean {
    let news = false
    for (const topic of topics) {
      this.#names.add(topic)
      if (!this.#topics.has(topic)) news = true
    }
    return news
  }

  /**
   * Ask for all followed topics. Calls at the same time share one request, with the options of the first.
   * @throws TransportError when no broker answers
   */
  async refresh(options: RequestOptions = {}): Promise<void> {
    while (this.#refreshing !== null) {
      const {names, done} = this.#refreshing
      await done
      if ([...this.#names].every(name => names.has(name))) return
    }
    const names = new Set(this.#names)
    if (names.size === 0) return
    const done = this.#ask(names, options).finally(() => {
      this.#refreshing = null
    })
    this.#refreshing = {names, done}
    await done
  }

  async #ask(names: ReadonlySet<string>, options: RequestOptions): Promise<void> {
    const {topics} = await this.#transport.metadata([...names], options)
    const told = new Map(topics.map(topic => [topic.name, topic]))
    for (const name of names) {
      const now = told.get(name)
      if (now === undefined) this.#topics.delete(name)
      else this.#topics.set(name, newest(this.#topics.get(name), now))
    }
  }

  /** The leader by the last metadata answer; `missing` before the first one. */
  of(topic: string, partition: number): LeaderState {
    const found = this.#topics.get(topic)
    const topicId = found?.id ?? null
    if (found === undefined || found.error === CODE.UNKNOWN_TOPIC_OR_PARTITION || found.error === CODE.UNKNOWN_TOPIC_ID)
      return {state: 'missing', code: CODE.UNKNOWN_TOPIC_OR_PARTITION, topicId}
    if (found.error === CODE.LEADER_NOT_AVAILABLE) return {state: 'leaderless', code: found.error, topicId}
    if (found.error !== CODE.NONE) return {state: 'refused', code: found.error, topicId}
    const known = found.partitions.find(({index}) => index === partition)
    if (known === undefined) return {state: 'missing', code: CODE.UNKNOWN_TOPIC_OR_PARTITION, topicId}
    if (known.leader < 0) return {state: 'leaderless', code: CODE.LEADER_NOT_AVAILABLE, topicId}
    return {state: 'known', node: known.leader, epoch: known.leaderEpoch, topicId}
  }
}

/**
 * A broker that is behind may still name an earlier leader; the higher leader epoch of one and the same topic wins
 * (KIP-320), else a read would go back and forth between two brokers.
 */
function newest(before: TopicMetadata | undefined, now: TopicMetadata): TopicMetadata {
  if (before === undefined || before.id !== now.id) return now
  const epochs = new Map(before.partitions.map(partition => [partition.index, partition]))
  const partitions = now.partitions.map(partition => {
    const old = epochs.get(partition.index)
    return old !== undefined && old.leaderEpoch > partition.leaderEpoch ? old : partition
  })
  return {...now, partitions}
}
