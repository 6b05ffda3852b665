import type {Clock} from '../../clock.ts'
import {KafkaError} from '../../errors.ts'
import type {KdlqError} from '../../errors.ts'
import type {
  ActiveProducer,
  CallOptions,
  ClusterAdmin,
  CommittedOffset,
  ConfigEntry,
  GroupConfigs,
  GroupListing,
  NewTopic,
  TopicConfigs,
  TransactionDescription,
} from '../ports.ts'
import {protocolError} from '../protocol/errors.ts'
import type {ErrorSubject} from '../protocol/errors.ts'
import {createTopicsApi} from '../protocol/generated/create-topics.ts'
import {describeConfigsApi} from '../protocol/generated/describe-configs.ts'
import {listGroupsApi} from '../protocol/generated/list-groups.ts'
import {offsetFetchApi} from '../protocol/generated/offset-fetch.ts'
import type {OffsetFetchResponse, OffsetFetchResponseGroup} from '../protocol/generated/offset-fetch.ts'
import type {NodeId} from '../protocol/types.ts'
import type {Transport} from '../transport.ts'
import {CODE} from './retry.ts'
import {untilSettled} from './settle.ts'
import {activeProducers, transactionsOf} from './transactions.ts'

const TOPIC_RESOURCE = 2
const GROUP_RESOURCE = 32
/** Where a value comes from when nobody set it: Kafka's ConfigSource DEFAULT_CONFIG. */
const DEFAULT_CONFIG = 5
/** Many groups in one request, and all topics of a group. */
const OFFSET_FETCH_VERSION = 8

interface AdminDeps {
  readonly transport: Transport
  readonly clock: Clock
}

interface ResourceConfigs {
  readonly code: number
  readonly message: string | null
  readonly configs: ReadonlyMap<string, ConfigEntry>
}

/** Looks up and creates; every call is our own request, none goes through kafkajs' admin client. */
export class KafkaAdmin implements ClusterAdmin {
  readonly #deps: AdminDeps

  constructor(deps: AdminDeps) {
    this.#deps = deps
  }

  activeProducers(topic: string, partition: number, options?: CallOptions): Promise<readonly ActiveProducer[]> {
    return activeProducers(this.#deps, topic, partition, options)
  }

  transactionsOf(producerId: bigint, options?: CallOptions): Promise<readonly TransactionDescription[]> {
    return transactionsOf(this.#deps, producerId, options)
  }

  async groups(options: CallOptions = {}): Promise<readonly GroupListing[]> {
    const {transport, clock} = this.#deps
    await transport.metadata([], options)
    const lists = await Promise.all(
      transport.nodes().map(async ({id}) => {
        let listed: readonly GroupListing[] = []
        await untilSettled(clock, options, async () => {
          const {body} = await transport.send(id, listGroupsApi, {statesFilter: [], typesFilter: []}, options)
          listed = body.groups.map(({groupId, groupType}) => ({
            group: groupId,
            type: groupType === '' ? null : groupType.toLowerCase(),
          }))
          return failed(body.errorCode, listGroupsApi.name, {broker: id})
        })
        return listed
      }),
    )
    return lists.flat()
  }

  async groupConfigs(groups: readonly string[], options: CallOptions = {}): Promise<readonly GroupConfigs[]> {
    const answers = await this.#configsOf(GROUP_RESOURCE, groups, options)
    return groups.map((group, index) => {
      const {code = CODE.GROUP_ID_NOT_FOUND, message = null, configs = new Map()} = answers[index] ?? {}
      return {
        group,
        configs,
        error: code === CODE.NONE ? null : protocolError(code, describeConfigsApi.name, {group, message}),
      }
    })
  }

  async topicConfigs(topics: readonly string[], options: CallOptions = {}): Promise<readonly TopicConfigs[]> {
    const answers = await this.#configsOf(TOPIC_RESOURCE, topics, options)
    return topics.map((topic, index) => {
      const {code = CODE.UNKNOWN_TOPIC_OR_PARTITION, message = null, configs = new Map()} = answers[index] ?? {}
      return {
        topic,
        configs,
        error: code === CODE.NONE ? null : protocolError(code, describeConfigsApi.name, {topic, message}),
      }
    })
  }

  async #configsOf(
    resourceType: number,
    names: readonly string[],
    options: CallOptions,
  ): Promise<readonly (ResourceConfigs | undefined)[]> {
    if (names.length === 0) return []
    const resources = names.map(resourceName => ({resourceType, resourceName, configurationKeys: null}))
    const {body} = await this.#deps.transport.send('any', describeConfigsApi, {resources}, options)
    const told = new Map(body.results.map(result => [result.resourceName, result]))
    return names.map(name => {
      const result = told.get(name)
      if (result === undefined) return undefined
      const entries = result.configs.map(
        ({name: key, value, configSource}) => [key, {value, isDefault: configSource === DEFAULT_CONFIG}] as const,
      )
      const message = result.errorMessage === '' ? null : result.errorMessage
      return {code: result.errorCode, message, configs: new Map(entries)}
    })
  }

  /** See the port; resolves when every partition of the new topic has a leader. */
  async createTopic(
    {name, partitions, replicationFactor, configs}: NewTopic,
    options: CallOptions = {},
  ): Promise<void> {
    const topic = {
      name,
      numPartitions: partitions,
      replicationFactor,
      assignments: [],
      configs: Object.entries(configs).map(([key, value]) => ({name: key, value})),
    }
    let attempts = 0
    await untilSettled(this.#deps.clock, options, async () => {
      attempts++
      const {body} = await this.#deps.transport.send('controller', createTopicsApi, {topics: [topic]}, options)
      const result = body.topics.find(({name: created}) => created === name)
      const code = result?.errorCode ?? CODE.UNKNOWN_SERVER_ERROR
      // The answer to the attempt before was lost, or came too early: the topic is that attempt's.
      if (code === CODE.TOPIC_ALREADY_EXISTS && attempts > 1) return null
      return failed(code, createTopicsApi.name, {topic: name, message: result?.errorMessage})
    })
    await untilSettled(this.#deps.clock, options, async () => {
      const {topics} = await this.#deps.transport.metadata([name], options)
      const created = topics.find(({name: told}) => told === name)
      const ready = created?.partitions.filter(({leader}) => leader >= 0).length === partitions
      return ready ? null : protocolError(CODE.LEADER_NOT_AVAILABLE, 'Metadata', {topic: name})
    })
  }

  async committedOffsets(groupId: string, options: CallOptions = {}): Promise<readonly CommittedOffset[]> {
    let offsets: readonly CommittedOffset[] = []
    await untilSettled(this.#deps.clock, options, async () => {
      const coordinator = await this.#deps.transport.coordinator('group', groupId, options)
      const group = await this.#fetchOffsets(coordinator, groupId, options)
      const error = failed(group.errorCode, offsetFetchApi.name, {group: groupId, broker: coordinator})
      if (group.errorCode === CODE.GROUP_ID_NOT_FOUND) throw unknownGroup(groupId)
      if (error !== null) return error
      offsets = committed(group, groupId)
      return offsets.length > 0 ? null : this.#known(coordinator, groupId, options)
    })
    return offsets
  }

  async #fetchOffsets(coordinator: NodeId, groupId: string, options: CallOptions): Promise<OffsetFetchResponseGroup> {
    const {transport} = this.#deps
    const newest = transport.supports(coordinator, offsetFetchApi.key)?.max ?? OFFSET_FETCH_VERSION
    const body = newest >= OFFSET_FETCH_VERSION ? {groups: [{groupId, topics: null}]} : {groupId, topics: null}
    const answer = await transport.send(coordinator, offsetFetchApi, body, {
      ...options,
      maxVersion: OFFSET_FETCH_VERSION,
    })
    return groupIn(answer.body, groupId, answer.version)
  }

  /** A group without offsets is known to its coordinator if it has members, or had some a while ago. */
  async #known(coordinator: NodeId, groupId: string, options: CallOptions): Promise<KdlqError | null> {
    const {body} = await this.#deps.transport.send(coordinator, listGroupsApi, {}, options)
    const error = failed(body.errorCode, listGroupsApi.name, {group: groupId, broker: coordinator})
    if (error === null && !body.groups.some(group => group.groupId === groupId)) throw unknownGroup(groupId)
    return error
  }
}

function failed(code: number, api: string, subject: ErrorSubject): KdlqError | null {
  return code === CODE.NONE ? null : protocolError(code, api, subject)
}

/** Versions before 8 have one group, at the top of the answer. */
function groupIn(body: OffsetFetchResponse, groupId: string, version: number): OffsetFetchResponseGroup {
  if (version < OFFSET_FETCH_VERSION) return {groupId, topics: body.topics, errorCode: body.errorCode}
  const group = body.groups.find(({groupId: told}) => told === groupId)
  return group ?? {groupId, topics: [], errorCode: CODE.GROUP_ID_NOT_FOUND}
}

function committed(group: OffsetFetchResponseGroup, groupId: string): CommittedOffset[] {
  const offsets: CommittedOffset[] = []
  for (const {name: topic, partitions} of group.topics) {
    for (const {partitionIndex: partition, committedOffset: offset, errorCode} of partitions) {
      if (errorCode !== CODE.NONE)
        throw protocolError(errorCode, offsetFetchApi.name, {topic, partition, group: groupId})
      if (offset >= 0n) offsets.push({topic, partition, offset})
    }
  }
  return offsets
}

function unknownGroup(groupId: string): KafkaError {
  return new KafkaError(`no group ${groupId} is known to its coordinator`, {
    code: 'E_UNKNOWN_GROUP',
    hints: ['group names are case-sensitive; a sink connector NAME has the group connect-NAME'],
    context: {group: groupId},
  })
}
