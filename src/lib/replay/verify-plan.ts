import {RefusedError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {PlanCluster, ReplayPlan} from './plan.ts'
import {describeTarget} from './target-topics.ts'

/**
 * Make sure that a plan still means what it meant: the same clusters, source topics that were not recreated, targets that
 * were neither recreated nor given another number of partitions where that number decides. Writes nothing.
 * @throws RefusedError `E_PLAN_CLUSTER`, `E_PLAN_RECREATED`, `E_PLAN_CHANGED`, or `E_CHECKS_REFUSED` for a plan whose own
 *   checks refuse it
 */
export async function verifyPlan(
  {source, target}: {readonly source: Cluster; readonly target: Cluster},
  plan: ReplayPlan,
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<void> {
  refuseFailedChecks(plan)
  verifyCluster('source', plan.source, source)
  verifyCluster('target', plan.target, target)
  refuseLoopingParking(plan)
  const sources = new Map(plan.source.ranges.map(({topic, topicId}) => [topic, topicId]))
  if (sources.size > 0) {
    for (const {name, id, error} of await source.reader.topics([...sources.keys()], options)) {
      if (error !== null) throw error
      verifyTopicId('source', name, sources.get(name) ?? null, id)
    }
  }
  if (plan.parking !== null) await verifyParking(target, plan.parking, options)
  const needed = new Set(plan.targets.map(({topic}) => topic))
  for (const planned of plan.target.topics.filter(({topic}) => needed.has(topic))) {
    const now = await describeTarget(target, planned.topic, options)
    verifyTopicId('target', planned.topic, planned.topicId, now.topicId)
    const decides = plan.target.partitionRule === 'key' || plan.target.partitionFallback === 'key'
    const [before, after] = [planned.partitions ?? 0, now.partitions ?? 0]
    if (after < before || (decides && after !== before)) {
      throw new RefusedError(
        `target topic ${planned.topic} had ${before} partitions when the plan was made, now ${after}`,
        {code: 'E_PLAN_CHANGED', hints: [NEW_PLAN], context: {topic: planned.topic}},
      )
    }
  }
}

/** Nothing must go where nobody looks: the parking topic is the one that was shown. */
async function verifyParking(
  target: Cluster,
  planned: NonNullable<ReplayPlan['parking']>,
  options: {readonly signal?: AbortSignal | undefined},
): Promise<void> {
  const now = await describeTarget(target, planned.topic, options)
  if (now.partitions === 0) {
    throw new RefusedError(`parking topic ${planned.topic} does not exist any more`, {
      code: 'E_PLAN_CHANGED',
      hints: [`create it, or ${NEW_PLAN}`],
      context: {topic: planned.topic},
    })
  }
  verifyTopicId('parking', planned.topic, planned.topicId, now.topicId)
}

const NEW_PLAN = 'make a new plan: kdlq replay ... --plan-out FILE'

/** @throws RefusedError `E_CHECKS_REFUSED` naming the checks, when the plan holds records that no decision covers */
export function refuseFailedChecks(plan: ReplayPlan): void {
  // Whether somebody holds a partition is asked again when the plan is executed.
  const refusing = plan.checks.filter(({id, level}) => level === 'refuse' && id !== 'claimed')
  if (plan.counts.refused === 0 && refusing.length === 0) return
  const named = refusing.map(({id, count}) => `${id} (${count})`).join(', ')
  throw new RefusedError(`refused by ${refusing.length === 1 ? 'check' : 'checks'} ${named}, nothing was written`, {
    code: 'E_CHECKS_REFUSED',
    hints: refusing.map(({id, hint}) => `${id}: ${hint ?? ''}`),
    context: {checks: refusing.map(({id}) => id), refused: plan.counts.refused},
  })
}

/** A plan that was made so is refused by its checks; this one was changed by hand. */
function refuseLoopingParking({parking, source, target, targets, ledger}: ReplayPlan): void {
  if (parking === null) return
  const {topic} = parking
  const isOneCluster =
    source.clusterId === target.clusterId && (source.clusterId !== null || source.name === target.name)
  const what = targets.some(entry => entry.topic === topic)
    ? 'a target'
    : isOneCluster && source.ranges.some(range => range.topic === topic)
      ? 'read'
      : ledger.kind === 'topic' && ledger.name === topic
        ? 'the ledger'
        : null
  if (what === null) return
  throw new RefusedError(`the parking topic ${topic} is ${what === 'read' ? 'read by' : `${what} of`} the same plan`, {
    code: 'E_PLAN_CHANGED',
    hints: [NEW_PLAN],
    context: {topic},
  })
}

function verifyCluster(which: 'source' | 'target', planned: PlanCluster, {description}: Cluster): void {
  if (planned.kind === description.kind && planned.clusterId === description.clusterId) return
  throw new RefusedError(
    `the plan is for ${which} ${planned.clusterId ?? planned.name}, this is ${description.clusterId ?? description.name}`,
    {
      code: 'E_PLAN_CLUSTER',
      hints: [`connect to the cluster of the plan (${planned.name}), or ${NEW_PLAN}`],
      context: {planned: planned.clusterId, connected: description.clusterId},
    },
  )
}

function verifyTopicId(
  which: 'source' | 'target' | 'parking',
  topic: string,
  planned: string | null,
  now: string | null,
): void {
  if (planned === now) return
  throw new RefusedError(`${which} topic ${topic} was recreated (or deleted) since the plan was made`, {
    code: 'E_PLAN_RECREATED',
    hints: [NEW_PLAN],
    context: {topic, planned, now},
  })
}
