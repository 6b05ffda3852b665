import type {CallOptions, Cluster, ConfigEntry} from '../../kafka/ports.ts'
import type {DeadLetter} from '../model.ts'
import {hasPolicy, headroom, limitOf, originExpiry} from './expiry.ts'
import type {Configs, Expiry} from './expiry.ts'
import {isTold} from './model.ts'
import type {Candidate, DiscoveredTopic, DiscoverySource, TopicWarning} from './model.ts'
import {firstOf, newestOf, peek} from './peek.ts'
import type {PartitionBounds, PeekOptions} from './peek.ts'

const HOUR_MS = 3_600_000n

/** What is asked only about topics that were found. */
export async function describeTopics(
  {cluster, nowMs}: {readonly cluster: Cluster; readonly nowMs: number},
  found: readonly Candidate[],
  input: Pick<PeekOptions, 'readRate' | 'dialects'> & {readonly peek: boolean},
  options: CallOptions,
): Promise<readonly DiscoveredTopic[]> {
  const bounds = found.flatMap(candidate => candidate.bounds)
  const {readRate, dialects} = input
  const reads = {...options, readRate, dialects}
  const firsts = input.peek ? await peek(cluster.reader, bounds.flatMap(firstOf), reads) : []
  const lasts = input.peek
    ? await peek(
        cluster.reader,
        bounds.flatMap(own => newestOf(own, 1n)),
        reads,
      )
    : []
  const letters = Map.groupBy([...firsts, ...lasts, ...found.flatMap(own => own.letters)], ({record}) => record.topic)
  const origins = new Map(found.map(own => [own.topic, originsOf(own, letters.get(own.topic) ?? [])]))
  const configs = await configsOf(cluster, [...origins.keys(), ...[...origins.values()].flat()], options)
  const growth = await growthOf(cluster, bounds, nowMs, options)
  const told = [...letters.values()].flat().filter(isTold)
  const originExpiries = await originExpiry(cluster.reader, told, configs, {...options, nowMs})
  return found.map(own => {
    const looked = letters.get(own.topic) ?? []
    const times = looked.flatMap(({record}) => record.timestamp ?? [])
    const oldest = times.length === 0 ? null : times.reduce((a, b) => (a < b ? a : b))
    const newest = times.length === 0 ? null : times.reduce((a, b) => (a > b ? a : b))
    const config = own.description === null ? null : (configs.get(own.topic) ?? null)
    const expiry = config === null ? null : expiryOf(config, oldest, nowMs, originExpiries.get(own.topic) ?? [])
    return {
      topic: own.topic,
      ...kindOf(own, looked),
      origins: origins.get(own.topic) ?? [],
      partitions: own.description?.partitions.length ?? 0,
      depth: own.bounds.reduce((sum, {earliest, end}) => sum + Number(end - earliest), 0),
      oldest: oldest === null ? null : `${oldest}`,
      newest: newest === null ? null : `${newest}`,
      ...(own.description === null ? {} : {growth: growth.get(own.topic) ?? {lastHour: 0, lastDay: 0}}),
      ...(expiry === null ? {} : {expiry}),
      warnings: warningsOf(own, looked, {config, expiry, peeked: input.peek}),
    }
  })
}

function expiryOf(config: Configs, oldest: bigint | null, nowMs: number, origins: Expiry['origins']): Expiry {
  const retentionMs = limitOf(config, 'retention.ms')
  return {
    retentionMs,
    retentionBytes: limitOf(config, 'retention.bytes'),
    headroomMs: headroom(oldest, retentionMs, nowMs),
    origins,
  }
}

function kindOf(
  {name, owners, letters}: Candidate,
  looked: readonly DeadLetter[],
): Pick<DiscoveredTopic, 'kind' | 'sources' | 'owners' | 'dialects'> {
  const told = [...letters, ...looked].filter(isTold)
  const dialects = [...new Set(told.map(({failure}) => failure.dialect))].sort()
  const isRetry =
    name === null ? dialects.length > 0 && dialects.every(id => id.endsWith('-retry')) : name.kind === 'retry'
  const sources = new Set<DiscoverySource>(owners.map(({source}) => source))
  if (told.length > 0) sources.add('headers')
  if (name !== null) sources.add('name')
  const tellers = told.flatMap(({failure: {connector, group, app}}) => [
    ...(connector === undefined ? [] : [`connector ${connector}`]),
    ...(group === undefined || connector !== undefined ? [] : [`group ${group}`]),
    ...(app === undefined ? [] : [`app ${app}`]),
  ])
  const shared = new Set(owners.filter(({source}) => source === 'share-group').map(owner => owner.name))
  const names = [...owners.map(owner => owner.name), ...tellers.filter(teller => !shared.has(`share ${teller}`))]
  return {
    kind: isRetry && owners.length === 0 ? 'retry' : 'dead-letter',
    sources: [...sources].sort(),
    owners: [...new Set(names)].sort(),
    dialects,
  }
}

function originsOf({name, owners}: Candidate, looked: readonly DeadLetter[]): readonly string[] {
  const told = looked.filter(isTold).flatMap(({failure}) => failure.origin?.topic ?? [])
  const configured = owners.flatMap(({origins}) => origins)
  const guessed = told.length + configured.length === 0 && name !== null && name.origin !== null ? [name.origin] : []
  return [...new Set([...told, ...configured, ...guessed])].sort()
}

async function configsOf(
  cluster: Cluster,
  topics: readonly string[],
  options: CallOptions,
): Promise<ReadonlyMap<string, ReadonlyMap<string, ConfigEntry>>> {
  const answers = await cluster.admin.topicConfigs([...new Set(topics)], options)
  return new Map(answers.flatMap(({topic, configs, error}) => (error === null ? [[topic, configs] as const] : [])))
}

async function growthOf(
  cluster: Cluster,
  bounds: readonly PartitionBounds[],
  nowMs: number,
  options: CallOptions,
): Promise<ReadonlyMap<string, {lastHour: number; lastDay: number}>> {
  const now = BigInt(nowMs)
  const queries = bounds.flatMap(({topic, partition}) =>
    [now - HOUR_MS, now - 24n * HOUR_MS].map(timestampMs => ({topic, partition, at: {timestampMs}})),
  )
  const answers = await cluster.reader.offsets(queries, options)
  const growth = new Map<string, {lastHour: number; lastDay: number}>()
  for (const [index, {topic, end}] of bounds.entries()) {
    const [lastHour = 0, lastDay = 0] = answers
      .slice(2 * index, 2 * index + 2)
      .map(({offset}) => (offset === null || offset < 0n ? 0 : Number(end - offset)))
    const sum = growth.get(topic) ?? {lastHour: 0, lastDay: 0}
    growth.set(topic, {lastHour: sum.lastHour + lastHour, lastDay: sum.lastDay + lastDay})
  }
  return growth
}

function warningsOf(
  {description, name, owners}: Candidate,
  looked: readonly DeadLetter[],
  facts: {
    readonly config: Configs | null
    readonly expiry: Expiry | null
    readonly peeked: boolean
  },
): readonly TopicWarning[] {
  const {config, expiry, peeked} = facts
  const warnings = new Set<TopicWarning>(owners.flatMap(owner => owner.warnings))
  if (description === null) warnings.add('missing')
  else if (config === null) warnings.add('configuration-unknown')
  if (config !== null && hasPolicy(config, 'compact')) warnings.add('compacted')
  if (expiry !== null && isNegative(expiry.headroomMs)) warnings.add('expiring')
  if (expiry?.origins.some(({gone, headroomMs}) => gone > 0 || isNegative(headroomMs)) === true) {
    warnings.add('origins-expiring')
  }
  if (peeked && name !== null && looked.length > 0 && !looked.some(isTold)) warnings.add('no-error-headers')
  const isShared = owners.some(({source}) => source === 'share-group')
  if (isShared && config !== null && config.get('errors.deadletterqueue.group.enable')?.value !== 'true') {
    warnings.add('share-group-switch-off')
  }
  return [...warnings].sort()
}

function isNegative(value: number | null): boolean {
  return value !== null && value < 0
}
