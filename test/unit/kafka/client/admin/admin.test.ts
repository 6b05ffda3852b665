import {describe, expect, test} from 'vitest'
import {kafkaRelease} from '../../../../../src/lib/kafka/client/broker-version.ts'
import {createTopicsApi} from '../../../../../src/lib/kafka/protocol/generated/create-topics.ts'
import {describeConfigsApi} from '../../../../../src/lib/kafka/protocol/generated/describe-configs.ts'
import {listGroupsApi} from '../../../../../src/lib/kafka/protocol/generated/list-groups.ts'
import {offsetFetchApi} from '../../../../../src/lib/kafka/protocol/generated/offset-fetch.ts'
import type {OffsetFetchResponse} from '../../../../../src/lib/kafka/protocol/generated/offset-fetch.ts'
import {connectionLost, fakeCluster, topic} from '../fake-transport.ts'

function groupAnswer(
  offsets: readonly (readonly [partition: number, offset: bigint])[],
  errorCode = 0,
): OffsetFetchResponse {
  const partitions = offsets.map(([partitionIndex, committedOffset]) => ({
    partitionIndex,
    committedOffset,
    committedLeaderEpoch: -1,
    metadata: null,
    errorCode: 0,
  }))
  const topics = offsets.length === 0 ? [] : [{name: 't', partitions}]
  return {throttleTimeMs: 0, topics, errorCode, groups: [{groupId: 'g', topics, errorCode}]}
}

function groups(...ids: readonly string[]) {
  return {
    throttleTimeMs: 0,
    errorCode: 0,
    groups: ids.map(groupId => ({groupId, protocolType: 'consumer', groupState: 'Empty', groupType: 'classic'})),
  }
}

const NEW_TOPIC = {name: 't', partitions: 2, replicationFactor: -1, configs: {'retention.ms': '-1'}}

function created(errorCode: number, errorMessage: string | null = null) {
  const rest = {
    topicId: 'AAAAAAAAAAAAAAAAAAAAAQ',
    topicConfigErrorCode: 0,
    numPartitions: 2,
    replicationFactor: 1,
    configs: null,
  }
  return {throttleTimeMs: 0, topics: [{name: 't', errorCode, errorMessage, ...rest}]}
}

describe('topicConfigs', () => {
  test('values with whether somebody set them; errors stay with their topic', async () => {
    const {transport, cluster} = fakeCluster()
    const entry = {readOnly: false, isSensitive: false, synonyms: [], configType: 0, documentation: null}
    transport.on(describeConfigsApi, ({resources}) => ({
      throttleTimeMs: 0,
      results: resources.map(({resourceName, resourceType}) => ({
        errorCode: resourceName === 'secret' ? 29 : 0,
        errorMessage: '',
        resourceType,
        resourceName,
        configs: [
          {name: 'retention.ms', value: '1000', configSource: 1, ...entry},
          {name: 'cleanup.policy', value: 'delete', configSource: 5, ...entry},
        ],
      })),
    }))
    const [own, secret] = await cluster.admin.topicConfigs(['t', 'secret'])
    expect(own?.error).toBeNull()
    expect(own?.configs.get('retention.ms')).toEqual({value: '1000', isDefault: false})
    expect(own?.configs.get('cleanup.policy')).toEqual({value: 'delete', isDefault: true})
    expect(secret?.error).toMatchObject({code: 'E_TOPIC_AUTHORIZATION_FAILED', exitCode: 4})
    expect(secret?.error?.message).not.toMatch(/: $/)
    expect(await cluster.admin.topicConfigs([])).toEqual([])
  })
})

describe('createTopic', () => {
  test('asks the controller and waits until every partition has a leader', async () => {
    const {transport, cluster, clock} = fakeCluster()
    transport.on(createTopicsApi, () => created(0))
    transport.onMetadata = call => {
      transport.topics = [topic('t', call < 3 ? 1 : 2)]
    }
    await cluster.admin.createTopic(NEW_TOPIC)
    expect(transport.sent).toMatchObject([
      {
        to: 'controller',
        body: {
          topics: [
            {name: 't', numPartitions: 2, replicationFactor: -1, configs: [{name: 'retention.ms', value: '-1'}]},
          ],
        },
      },
    ])
    expect(clock.sleeps).toEqual([50, 100])
  })

  test('an existing topic and a refusal are told in the words of the broker', async () => {
    const {transport, cluster} = fakeCluster()
    transport.on(createTopicsApi, () => created(36, "Topic 't' already exists."))
    await expect(cluster.admin.createTopic(NEW_TOPIC)).rejects.toMatchObject({
      code: 'E_TOPIC_ALREADY_EXISTS',
      exitCode: 1,
    })
    transport.on(createTopicsApi, () => created(40, 'Unknown topic config name: x'))
    await expect(cluster.admin.createTopic(NEW_TOPIC)).rejects.toThrow('Unknown topic config name: x')
  })

  test('a lost answer is repeated, and the topic of the first attempt counts as made', async () => {
    const {transport, cluster} = fakeCluster()
    transport.topics = [topic('t', 2)]
    let lost = true
    transport.on(createTopicsApi, () => {
      if (!lost) return created(36)
      lost = false
      throw connectionLost()
    })
    await expect(cluster.admin.createTopic(NEW_TOPIC)).resolves.toBeUndefined()
  })
})

describe('committedOffsets', () => {
  test('all partitions with an offset, by one request for the group', async () => {
    const {transport, cluster} = fakeCluster()
    transport.on(offsetFetchApi, () => groupAnswer([[0, 9_007_199_254_740_993n], [1, -1n]])) // prettier-ignore
    expect(await cluster.admin.committedOffsets('g')).toEqual([
      {topic: 't', partition: 0, offset: 9_007_199_254_740_993n},
    ])
    expect(transport.sent).toMatchObject([{to: 1, body: {groups: [{groupId: 'g', topics: null}]}, maxVersion: 8}])
  })

  test('a broker before version 8 is asked in its own form', async () => {
    const {transport, cluster} = fakeCluster()
    transport.range = {min: 0, max: 7}
    transport.on(offsetFetchApi, () => ({...groupAnswer([[0, 3n]]), groups: []}))
    expect(await cluster.admin.committedOffsets('g')).toEqual([{topic: 't', partition: 0, offset: 3n}])
    expect(transport.sent).toMatchObject([{body: {groupId: 'g', topics: null}}])
  })

  test('a group without offsets is empty, one that nobody knows is an error', async () => {
    const {transport, cluster} = fakeCluster()
    transport.on(offsetFetchApi, () => groupAnswer([]))
    transport.on(listGroupsApi, () => groups('other', 'g'))
    expect(await cluster.admin.committedOffsets('g')).toEqual([])
    transport.on(listGroupsApi, () => groups('other'))
    await expect(cluster.admin.committedOffsets('g')).rejects.toMatchObject({
      code: 'E_UNKNOWN_GROUP',
      context: {group: 'g'},
    })
    transport.on(offsetFetchApi, () => groupAnswer([], 69))
    await expect(cluster.admin.committedOffsets('g')).rejects.toMatchObject({code: 'E_UNKNOWN_GROUP'})
  })

  test('a coordinator that moves or loads is asked again, missing rights are not', async () => {
    const {transport, cluster, clock} = fakeCluster()
    const codes = [16, 14, 0]
    transport.on(offsetFetchApi, () => groupAnswer([[0, 3n]], codes.shift()))
    expect(await cluster.admin.committedOffsets('g')).toHaveLength(1)
    expect(clock.sleeps).toEqual([50, 100])
    transport.on(offsetFetchApi, () => groupAnswer([], 30))
    await expect(cluster.admin.committedOffsets('g')).rejects.toMatchObject({
      code: 'E_GROUP_AUTHORIZATION_FAILED',
      exitCode: 4,
    })
  })
})

test('the Kafka release by the finalized level of metadata.version', () => {
  const release = (level: number): string | null => kafkaRelease(new Map([['metadata.version', level]]))
  expect([7, 11, 19, 21, 25, 27, 29, 30, 31, 33].map(release)).toEqual([
    '3.3',
    '3.5',
    '3.7',
    '3.9',
    '4.0',
    '4.1',
    '4.2',
    '4.3',
    '4.4',
    '4.4',
  ])
  expect([0, 3, 34].map(release)).toEqual([null, null, null])
  expect(kafkaRelease(new Map())).toBeNull()
})
