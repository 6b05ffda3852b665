import {createKafkaTransport} from '../../src/lib/kafka/client/kafkajs-transport.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import type {Api} from '../../src/lib/kafka/protocol/types.ts'
import {WireReader, WireWriter} from '../../src/lib/kafka/protocol/wire.ts'
import {plainConfig} from './kafka-client.ts'
import {eventually} from './sandbox.ts'

/** DeleteTopics v1. */
const deleteTopicsApi: Api<string, number> = {
  name: 'DeleteTopics',
  key: 20,
  versions: {min: 1, max: 1},
  flexibleFrom: 4,
  encode(topic) {
    const w = new WireWriter(false)
    w.array([topic], name => w.string(name))
    w.int32(30_000)
    return w.finish()
  },
  decode(payload) {
    const r = new WireReader(payload, false)
    r.int32()
    const [code] = r.array(() => {
      r.string()
      return r.int16()
    })
    return code ?? -1
  },
}

/** Delete a topic, and wait until its name is free. */
export async function deleteTopic(cluster: KafkaCluster, bootstrapServers: string, topic: string): Promise<void> {
  await using transport = createKafkaTransport(plainConfig(bootstrapServers))
  await transport.connect()
  const {body} = await transport.send('controller', deleteTopicsApi, topic)
  if (body !== 0) throw new Error(`the broker did not delete ${topic}: code ${body}`)
  await eventually(`${topic} is gone`, async () => {
    const [found] = await cluster.reader.topics([topic])
    return found?.error?.code === 'E_UNKNOWN_TOPIC_OR_PARTITION' ? true : null
  })
}

/** Topics with ids, partitions, end offsets and configurations of the whole cluster, internal topics included. */
export async function clusterState({reader, admin}: KafkaCluster): Promise<Readonly<Record<string, string>>> {
  const topics = await reader.topics(null)
  const places = topics.flatMap(({name, partitions}) => partitions.map(({partition}) => ({topic: name, partition})))
  const ends = await reader.offsets(places.map(place => ({...place, at: 'latest'})))
  const configs = await admin.topicConfigs(topics.map(({name}) => name))
  return Object.fromEntries([
    ...topics.map(({name, id, partitions}) => [name, `${id} ${partitions.length}`] as const),
    ...ends.map(({topic, partition, offset}) => [`${topic}:${partition}`, `${offset}`] as const),
    ...configs.map(
      ({topic, configs: entries}) =>
        [
          `${topic} configs`,
          [...entries]
            .map(([key, {value, isDefault}]) => `${key}=${value}${isDefault ? '' : ' (set)'}`)
            .toSorted()
            .join(),
        ] as const,
    ),
  ])
}
