import type {Clock} from '../clock.ts'
import {KafkaError} from '../errors.ts'
import type {CallOptions, Cluster, CommittedOffset, OffsetAnswer, OffsetQuery} from '../kafka/ports.ts'
import type {Offset} from '../kafka/record.ts'
import type {Position} from '../select/position.ts'
import type {FrozenRange, FrozenSelection, Selection} from '../select/selection.ts'
import {chooseTopics, type ChosenPartition} from './freeze-topics.ts'
import {splitAddresses} from './freeze-addresses.ts'
import {hasOldTransaction} from './freeze-transaction.ts'

export interface FreezeDeps {
  readonly clock: Clock
  /**
   * End offsets of a baseline file, for `baseline:FILE`.
   * @throws IoError or UsageError when it cannot be read or is no baseline
   */
  readonly readBaseline: (file: string) => Promise<readonly CommittedOffset[]>
}

/** First and last offset of one partition; null when nobody could say. */
interface Bounds {
  readonly earliest: Offset
  /** Where this isolation level ends. */
  readonly end: Offset
  readonly highWatermark: Offset
}

/**
 * Resolve a selection: sources to partitions, positions to offsets, the end to where it is now. Each position applies to
 * each partition; an address names its one record whatever the positions say.
 * @throws KafkaError for unknown topics and groups without offsets, UsageError for partitions that do not exist
 */
export async function freezeSelection(
  cluster: Cluster,
  selection: Selection,
  deps: FreezeDeps,
  options: CallOptions = {},
): Promise<FrozenSelection> {
  const {partitions, addresses} = await chooseTopics(cluster, selection.sources, selection.partitions, options)
  const asked = uniquePartitions([...partitions, ...addresses])
  const bounds = await findBounds(cluster, asked, selection, options)
  const reachable = partitions.filter(chosen => bounds.has(keyOf(chosen)))
  const from = await resolver(cluster, selection.from, reachable, deps, options)
  const to = await resolver(cluster, selection.to, reachable, deps, options)
  const ranges: FrozenRange[] = []
  for (const chosen of partitions) {
    const found = bounds.get(keyOf(chosen)) ?? null
    if (found === null) {
      ranges.push(rangeOf(chosen, selection, {from: 0n, to: 0n, incomplete: 'unavailable'}))
      continue
    }
    const first = clamp(from(chosen, found, 'from'), found)
    const asksForEnd = selection.to.kind === 'end' || selection.to.kind === 'time'
    const last = selection.follow && asksForEnd ? null : clamp(to(chosen, found, 'to'), found)
    const stopsEarly = last === found.end && asksForEnd && found.end < found.highWatermark
    const isOld = stopsEarly && (await hasOldTransaction(cluster, chosen, found, deps.clock, options))
    ranges.push(
      rangeOf(chosen, selection, {
        from: first,
        to: last === null || last > first ? last : first,
        incomplete: isOld ? 'open-transaction' : null,
      }),
    )
  }
  const {limit, tail, isolationLevel, filters, follow} = selection
  return {
    ranges: splitAddresses(
      ranges,
      addresses.map(address => {
        const found = bounds.get(keyOf(address)) ?? null
        const exists = found !== null && found.earliest <= address.offset && address.offset < found.end
        const {topic, topicId, partition, offset} = address
        return {
          topic,
          topicId,
          partition,
          from: offset,
          to: exists ? offset + 1n : offset,
          fromTimeMs: null,
          toTimeMs: null,
          incomplete: found === null ? 'unavailable' : null,
        }
      }),
    ),
    limit,
    tail,
    isolationLevel,
    filters,
    follow,
  }
}

function rangeOf(
  {topic, topicId, partition}: ChosenPartition,
  {from, to}: Selection,
  offsets: Pick<FrozenRange, 'from' | 'to' | 'incomplete'>,
): FrozenRange {
  return {
    topic,
    topicId,
    partition,
    ...offsets,
    fromTimeMs: from.kind === 'time' ? from.ms : null,
    toTimeMs: to.kind === 'time' ? to.ms : null,
  }
}

function clamp(offset: Offset, {earliest, end}: Bounds): Offset {
  return offset < earliest ? earliest : offset > end ? end : offset
}

function keyOf({topic, partition}: {readonly topic: string; readonly partition: number}): string {
  return `${topic}:${partition}`
}

function uniquePartitions(partitions: readonly ChosenPartition[]): ChosenPartition[] {
  return [...new Map(partitions.map(chosen => [keyOf(chosen), chosen])).values()]
}

/**
 * Ask for the bounds of all partitions at once. One that does not answer is left out, unless none does.
 * @throws the first partition's error when no partition answers
 */
async function findBounds(
  cluster: Cluster,
  asked: readonly ChosenPartition[],
  {isolationLevel}: Selection,
  options: CallOptions,
): Promise<ReadonlyMap<string, Bounds>> {
  const points = [
    'earliest',
    'latest',
    ...(isolationLevel === 'read_committed' ? (['last-stable'] as const) : []),
  ] as const
  const queries = asked.flatMap(({topic, partition}) => points.map((at): OffsetQuery => ({topic, partition, at})))
  const answers = await cluster.reader.offsets(queries, options)
  const bounds = new Map<string, Bounds>()
  for (const [index, chosen] of asked.entries()) {
    const [earliest, latest, stable = latest] = answers
      .slice(index * points.length, (index + 1) * points.length)
      .map(({offset}) => offset)
    if (isKnown(earliest) && isKnown(latest) && isKnown(stable)) {
      bounds.set(keyOf(chosen), {earliest, end: stable, highWatermark: latest})
    }
  }
  const error = answers.find(answer => answer.error !== null)?.error ?? null
  if (error !== null && bounds.size === 0) throw error
  return bounds
}

function isKnown(offset: Offset | null | undefined): offset is Offset {
  return offset !== null && offset !== undefined
}

type Resolve = (chosen: ChosenPartition, bounds: Bounds, side: 'from' | 'to') => Offset

/** What a position means in each partition; asks the cluster once for all of them. */
async function resolver(
  cluster: Cluster,
  position: Position,
  partitions: readonly ChosenPartition[],
  deps: FreezeDeps,
  options: CallOptions,
): Promise<Resolve> {
  switch (position.kind) {
    case 'start':
      return (_, {earliest}) => earliest
    case 'end':
      return (_, {end}) => end
    case 'before-end':
      return (_, {end}) => end - position.offsets
    case 'offset':
      return () => position.offset
    case 'time': {
      const queries = partitions.map(({topic, partition}): OffsetQuery => ({
        topic,
        partition,
        at: {timestampMs: position.ms},
      }))
      const found = byPartition(await cluster.reader.offsets(queries, options))
      // Timestamps go up and down: below the offset found every record is earlier, behind it some may be. So a time is
      // a place to start from and never one to stop at.
      return (chosen, {end}, side) => (side === 'to' ? end : (found.get(keyOf(chosen)) ?? end))
    }
    case 'group': {
      const committed = byPartition(await cluster.admin.committedOffsets(position.group, options))
      if (partitions.length > 0 && !partitions.some(chosen => committed.has(keyOf(chosen)))) {
        throw new KafkaError(`group ${position.group} has committed no offset on these topics`, {
          code: 'E_NO_COMMITTED_OFFSET',
          context: {group: position.group},
        })
      }
      return (chosen, {earliest}) => committed.get(keyOf(chosen)) ?? earliest
    }
    case 'baseline':
    default: {
      const ends = byPartition(await deps.readBaseline(position.file))
      return (chosen, {earliest}) => ends.get(keyOf(chosen)) ?? earliest
    }
  }
}

/** @throws the first error among the answers: a bound that was not found would silently change what is read */
function byPartition(answers: readonly (CommittedOffset | OffsetAnswer)[]): ReadonlyMap<string, Offset> {
  const offsets = new Map<string, Offset>()
  for (const answer of answers) {
    if ('error' in answer && answer.error !== null) throw answer.error
    if (answer.offset !== null) offsets.set(keyOf(answer), answer.offset)
  }
  return offsets
}
