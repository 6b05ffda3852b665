import {RefusedError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {ReplayPlan} from '../replay/plan.ts'
import {createGlob} from '../select/glob.ts'
import type {ArchiveSource} from '../select/source.ts'

/**
 * Hold a plan's targets against the patterns of a profile: `topic` or `clusterId/topic`.
 * @param patterns empty = every target is allowed
 * @throws RefusedError naming the first target that none of them allows
 */
export function assertAllowedTargets(
  {targets, target, parking}: Pick<ReplayPlan, 'targets' | 'target' | 'parking'>,
  patterns: readonly string[],
  profile: string | null,
): void {
  if (patterns.length === 0 || target.kind === 'archive') return
  const globs = patterns.map(pattern => {
    const slash = pattern.indexOf('/')
    return slash < 0
      ? {cluster: null, topic: createGlob(pattern)}
      : {cluster: createGlob(pattern.slice(0, slash)), topic: createGlob(pattern.slice(slash + 1))}
  })
  const isAllowed = (topic: string): boolean =>
    globs.some(glob => glob.topic.matches(topic) && glob.cluster?.matches(target.clusterId ?? '') !== false)
  const forbidden = [...targets, ...(parking === null ? [] : [parking])].find(({topic}) => !isAllowed(topic))
  if (forbidden === undefined) return
  throw new RefusedError(
    `${forbidden === parking ? 'parking' : 'target'} topic ${forbidden.topic} is not among allowedTargets of ${profile === null ? 'the configuration' : `profile ${profile}`}`,
    {
      code: 'E_TARGET_NOT_ALLOWED',
      hints: [`allowed: ${patterns.join(', ')}`],
      context: {topic: forbidden.topic},
    },
  )
}

/** Archives that a plan was made from; empty when it was a cluster. */
export function archivesOf({source}: ReplayPlan): readonly ArchiveSource[] {
  if (source.kind !== 'archive') return []
  return source.name.split(', ').map((name): ArchiveSource => {
    if (name === '-') return {kind: 'stdin'}
    return name.startsWith('example:')
      ? {kind: 'example', name: name.slice('example:'.length)}
      : {kind: 'archive', path: name}
  })
}

/**
 * An archive that is written to, opened (and its folder made) only when something is: what was only planned leaves no
 * trace.
 */
export function archiveTarget(path: string, open: () => Promise<Cluster>): Cluster {
  let opened: Promise<Cluster> | null = null
  const archive = (): Promise<Cluster> => (opened ??= open())
  const close = async (): Promise<void> => {
    const cluster = await opened?.catch(() => null)
    await cluster?.close()
  }
  return {
    description: {kind: 'archive', clusterId: `archive:${path}`, name: path},
    reader: {
      topics: async (names, options) => (await archive()).reader.topics(names, options),
      offsets: async (queries, options) => (await archive()).reader.offsets(queries, options),
      async *read(request, options) {
        yield* (await archive()).reader.read(request, options)
      },
    },
    writer: {
      open: async options => (await archive()).writer.open(options),
      openTransactional: async (options, call) => (await archive()).writer.openTransactional(options, call),
    },
    admin: {
      topicConfigs: async (topics, options) => (await archive()).admin.topicConfigs(topics, options),
      createTopic: async (topic, options) => (await archive()).admin.createTopic(topic, options),
      committedOffsets: async (group, options) => (await archive()).admin.committedOffsets(group, options),
      activeProducers: async (topic, partition, options) =>
        (await archive()).admin.activeProducers(topic, partition, options),
      groups: async options => (await archive()).admin.groups(options),
      groupConfigs: async (groups, options) => (await archive()).admin.groupConfigs(groups, options),
      transactionsOf: async (producerId, options) => (await archive()).admin.transactionsOf(producerId, options),
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
