import {randomUUID} from 'node:crypto'
import {afterAll, beforeAll, describe, expect, inject, test, vi} from 'vitest'
import {createKafkaTransport} from '../../src/lib/kafka/client/kafkajs-transport.ts'
import {createConnectionConfig, parseBootstrapServers, PLAINTEXT} from '../../src/lib/kafka/client/security.ts'
import {apiVersionsApi} from '../../src/lib/kafka/protocol/generated/api-versions.ts'
import {createTopicsApi} from '../../src/lib/kafka/protocol/generated/create-topics.ts'
import {deleteTopicsApi} from '../../src/lib/kafka/protocol/generated/delete-topics.ts'
import {describeClusterApi} from '../../src/lib/kafka/protocol/generated/describe-cluster.ts'
import {describeConfigsApi} from '../../src/lib/kafka/protocol/generated/describe-configs.ts'
import {describeProducersApi} from '../../src/lib/kafka/protocol/generated/describe-producers.ts'
import {fetchApi} from '../../src/lib/kafka/protocol/generated/fetch.ts'
import {initProducerIdApi} from '../../src/lib/kafka/protocol/generated/init-producer-id.ts'
import {listGroupsApi} from '../../src/lib/kafka/protocol/generated/list-groups.ts'
import {listOffsetsApi} from '../../src/lib/kafka/protocol/generated/list-offsets.ts'
import {listTransactionsApi} from '../../src/lib/kafka/protocol/generated/list-transactions.ts'
import {metadataApi} from '../../src/lib/kafka/protocol/generated/metadata.ts'
import {offsetFetchApi} from '../../src/lib/kafka/protocol/generated/offset-fetch.ts'
import {offsetForLeaderEpochApi} from '../../src/lib/kafka/protocol/generated/offset-for-leader-epoch.ts'
import type {Api} from '../../src/lib/kafka/protocol/types.ts'
import type {Transport} from '../../src/lib/kafka/transport.ts'

const topic = `transport-${randomUUID()}`
const group = `group-${randomUUID()}`
let transport: Transport

beforeAll(async () => {
  const bootstrapServers = parseBootstrapServers(inject('bootstrapServers'))
  transport = createKafkaTransport(
    createConnectionConfig(PLAINTEXT, {bootstrapServers, clientId: 'kdlq-transport-test'}),
  )
  await transport.connect()
  const topics = [{name: topic, numPartitions: 2, replicationFactor: 1, assignments: [], configs: []}]
  await transport.send('controller', createTopicsApi, {topics, timeoutMs: 10_000})
  // The first use of groups and producer ids makes their topics; until these are loaded the answers are errors.
  await transport.coordinator('group', group)
  const loaded = async (): Promise<void> => {
    const groups = await transport.send(1, offsetFetchApi, {groups: [{groupId: group, topics: null}]})
    const producer = await transport.send(1, initProducerIdApi, {transactionalId: null, transactionTimeoutMs: 1000})
    if (groups.body.groups[0]?.errorCode !== 0 || producer.body.errorCode !== 0) throw new Error('not loaded yet')
  }
  await vi.waitFor(loaded, {timeout: 30_000, interval: 100})
})

afterAll(async () => {
  await transport.close()
})

const isolated = {replicaId: -1, isolationLevel: 0}

/** Every version that both sides speak, sent and read. */
async function everyVersion<Req, Res>(api: Api<Req, Res>, body: (version: number) => Req): Promise<[number, Res][]> {
  const theirs = transport.supports(1, api.key)
  const answers: [number, Res][] = []
  const max = Math.min(api.versions.max, theirs?.max ?? -1)
  for (let version = Math.max(api.versions.min, theirs?.min ?? 0); version <= max; version++) {
    const answer = await transport.send(1, api, body(version), {maxVersion: version})
    expect(answer.version).toBe(version)
    answers.push([version, answer.body])
  }
  return answers
}

describe('a real broker understands every version of', () => {
  test('ApiVersions', async () => {
    const answers = await everyVersion(apiVersionsApi, version =>
      version >= 3 ? {clientSoftwareName: 'kdlq', clientSoftwareVersion: '0'} : {},
    )
    expect(answers.map(([, {errorCode}]) => errorCode)).toEqual([0, 0, 0, 0, 0])
  })

  test('Metadata', async () => {
    for (const [version, {topics, brokers}] of await everyVersion(metadataApi, version => ({
      topics: [{name: topic}],
      ...(version >= 4 ? {allowAutoTopicCreation: false} : {}),
    }))) {
      expect(
        topics.map(({name, partitions}) => [name, partitions.length]),
        `v${version}`,
      ).toEqual([[topic, 2]])
      expect(brokers.map(({nodeId}) => nodeId)).toEqual([1])
    }
  })

  test('ListOffsets', async () => {
    const partitions = [{partitionIndex: 1, timestamp: -1n}]
    for (const [version, body] of await everyVersion(listOffsetsApi, () => ({
      ...isolated,
      topics: [{name: topic, partitions}],
    }))) {
      expect(body.topics[0]?.partitions[0], `v${version}`).toMatchObject({partitionIndex: 1, errorCode: 0, offset: 0n})
    }
  })

  test('Fetch, by name and by id', async () => {
    const {topics} = await transport.metadata([topic])
    const topicId = topics[0]?.id ?? ''
    const partitions = [{partition: 0, fetchOffset: 0n, partitionMaxBytes: 1000}]
    for (const [version, body] of await everyVersion(fetchApi, version => ({
      maxWaitMs: 1,
      minBytes: 1,
      topics: [{...(version >= 13 ? {topicId} : {topic}), partitions}],
    }))) {
      expect(body.responses[0]?.partitions[0], `v${version}`).toMatchObject({errorCode: 0, highWatermark: 0n})
    }
  })

  test('OffsetFetch', async () => {
    for (const [version, body] of await everyVersion(offsetFetchApi, version =>
      version >= 8
        ? {groups: [{groupId: group, topics: null}]}
        : {groupId: group, topics: [{name: topic, partitionIndexes: [0]}]},
    )) {
      expect(version >= 8 ? body.groups[0]?.errorCode : body.errorCode, `v${version}`).toBe(0)
    }
  })

  test('OffsetForLeaderEpoch', async () => {
    const partitions = [{partition: 0, currentLeaderEpoch: -1, leaderEpoch: 0}]
    for (const [version, body] of await everyVersion(offsetForLeaderEpochApi, version => ({
      topics: [{topic, partitions}],
      ...(version >= 3 ? {replicaId: -1} : {}),
    }))) {
      expect(body.topics[0]?.partitions[0], `v${version}`).toMatchObject({errorCode: 0})
    }
  })

  test('DescribeConfigs', async () => {
    const resources = [{resourceType: 2, resourceName: topic, configurationKeys: ['retention.ms']}]
    for (const [version, {results}] of await everyVersion(describeConfigsApi, () => ({resources}))) {
      expect(
        results[0]?.configs.map(({name}) => name),
        `v${version}`,
      ).toEqual(['retention.ms'])
    }
  })

  test('ListGroups, DescribeCluster, ListTransactions, DescribeProducers and InitProducerId', async () => {
    for (const [version, {errorCode}] of await everyVersion(listGroupsApi, () => ({})))
      expect(errorCode, `v${version}`).toBe(0)
    for (const [version, {clusterId}] of await everyVersion(describeClusterApi, () => ({
      includeClusterAuthorizedOperations: false,
    }))) {
      expect(clusterId, `v${version}`).toMatch(/^[\w-]{22}$/)
    }
    for (const [version, {errorCode}] of await everyVersion(listTransactionsApi, () => ({
      stateFilters: [],
      producerIdFilters: [],
    }))) {
      expect(errorCode, `v${version}`).toBe(0)
    }
    for (const [version, {topics}] of await everyVersion(describeProducersApi, () => ({
      topics: [{name: topic, partitionIndexes: [0]}],
    }))) {
      expect(topics[0]?.partitions[0]?.errorCode, `v${version}`).toBe(0)
    }
    for (const [version, {producerId}] of await everyVersion(initProducerIdApi, () => ({
      transactionalId: null,
      transactionTimeoutMs: 1000,
    }))) {
      expect(producerId, `v${version}`).toBeGreaterThanOrEqual(0n)
    }
  })
})

test('finds coordinators of groups and transactions', async () => {
  expect(await transport.coordinator('group', group)).toBe(1)
  expect(await transport.coordinator('transaction', `tx-${group}`)).toBe(1)
})

test('unknown topics come back as data beside known ones', async () => {
  const {topics} = await transport.metadata([`no-${topic}`, topic])
  expect(new Map(topics.map(({name, error, partitions}) => [name, [error, partitions.length]]))).toEqual(
    new Map([
      [`no-${topic}`, [3, 0]],
      [topic, [0, 2]],
    ]),
  )
})

test('goes on after its connection was given up, many requests at once', async () => {
  transport.invalidate(1)
  const answers = await Promise.all(Array.from({length: 100}, () => transport.metadata([topic])))
  expect(answers.every(({topics}) => topics[0]?.partitions.length === 2)).toBe(true)
})

test('deletes what it made', async () => {
  const {body} = await transport.send('controller', deleteTopicsApi, {topics: [{name: topic}], timeoutMs: 10_000})
  expect(body.responses[0]?.errorCode).toBe(0)
})
