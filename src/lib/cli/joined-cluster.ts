import {RefusedError, UsageError} from '../errors.ts'
import type {
  CallOptions,
  Cluster,
  ClusterReader,
  OffsetAnswer,
  ReadRequest,
  RecordBlock,
  TopicDescription,
} from '../kafka/ports.ts'

/**
 * Several archives as one cluster to read from; closes all of them.
 * @throws UsageError when two of them hold the same topic: an address would name two records
 */
export async function joinClusters(clusters: readonly Cluster[], options: CallOptions = {}): Promise<Cluster> {
  const owners = new Map<string, Cluster>()
  for (const cluster of clusters) {
    for (const {name} of await cluster.reader.topics(null, options)) {
      const other = owners.get(name)
      if (other !== undefined) {
        throw new UsageError(
          `topic ${name} is in two archives: ${other.description.name} and ${cluster.description.name}`,
          {
            hints: ['run the command once for each'],
            context: {topic: name},
          },
        )
      }
      owners.set(name, cluster)
    }
  }
  const readOnly = async (): Promise<never> => {
    throw new RefusedError('several archives cannot be written to at once', {code: 'E_ARCHIVE_READ_ONLY'})
  }
  const close = async (): Promise<void> => {
    for (const cluster of clusters.toReversed()) await cluster.close()
  }
  const names = clusters.map(({description}) => description.name)
  return {
    description: {kind: 'archive', clusterId: `archive:${names.join(',')}`, name: names.join(', ')},
    reader: new JoinedReader(clusters, owners),
    writer: {open: readOnly, openTransactional: readOnly},
    admin: {
      topicConfigs: async (topics, call) => {
        const answers = await Promise.all(
          [...clustersOf(topics, owners, clusters)].map(([cluster, own]) => cluster.admin.topicConfigs(own, call)),
        )
        return answers.flat()
      },
      createTopic: readOnly,
      committedOffsets: async (group, call) =>
        clusters[0] === undefined ? [] : clusters[0].admin.committedOffsets(group, call),
      activeProducers: async () => [],
      transactionsOf: async () => [],
      groups: async () => [],
      groupConfigs: async () => [],
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Names by the cluster that has them; unknown ones go to the first, which says so. */
function clustersOf(
  topics: readonly string[],
  owners: ReadonlyMap<string, Cluster>,
  clusters: readonly Cluster[],
): Map<Cluster, string[]> {
  const byCluster = new Map<Cluster, string[]>()
  for (const topic of topics) {
    const cluster = owners.get(topic) ?? clusters[0]
    if (cluster === undefined) continue
    byCluster.set(cluster, [...(byCluster.get(cluster) ?? []), topic])
  }
  return byCluster
}

class JoinedReader implements ClusterReader {
  readonly #clusters: readonly Cluster[]
  readonly #owners: ReadonlyMap<string, Cluster>

  constructor(clusters: readonly Cluster[], owners: ReadonlyMap<string, Cluster>) {
    this.#clusters = clusters
    this.#owners = owners
  }

  async topics(names: readonly string[] | null, options?: CallOptions): Promise<readonly TopicDescription[]> {
    if (names === null)
      return (await Promise.all(this.#clusters.map(({reader}) => reader.topics(null, options)))).flat()
    const parts = [...clustersOf(names, this.#owners, this.#clusters)]
    return (await Promise.all(parts.map(([{reader}, own]) => reader.topics(own, options)))).flat()
  }

  async offsets(
    queries: Parameters<ClusterReader['offsets']>[0],
    options?: CallOptions,
  ): Promise<readonly OffsetAnswer[]> {
    return Promise.all(
      queries.map(async query => {
        const reader = (this.#owners.get(query.topic) ?? this.#clusters[0])?.reader
        const [answer] = reader === undefined ? [] : await reader.offsets([query], options)
        return answer ?? {topic: query.topic, partition: query.partition, offset: null, error: null}
      }),
    )
  }

  async *read(request: ReadRequest, options?: CallOptions): AsyncGenerator<RecordBlock> {
    // One archive after the other, in the order of the ranges.
    for (const cluster of new Set(request.ranges.map(({topic}) => this.#owners.get(topic)))) {
      if (cluster === undefined) continue
      const ranges = request.ranges.filter(({topic}) => this.#owners.get(topic) === cluster)
      yield* cluster.reader.read({...request, ranges}, options)
    }
  }
}
