import type {Failure} from '../dialects/model.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {isLegalTopicName} from '../kafka/record.ts'
import {partitionForKey} from './murmur2.ts'

/** Where records go, as data (part of the plan). */
export interface TargetRule {
  /** `{origin.topic}`, a topic name, or a name with that placeholder in it. */
  readonly topic: string
  /** `origin` = the partition of the origin; `key` = murmur2 of the key, as Kafka's Java producer. */
  readonly partitionRule: 'origin' | 'key'
  /** What to do when the origin's partition is not there: null = refuse. */
  readonly partitionFallback: 'key' | null
}

/** Every record back to where it came from. */
export const ORIGIN_TARGET: TargetRule = {
  topic: '{origin.topic}',
  partitionRule: 'origin',
  partitionFallback: null,
}

const PLACEHOLDER = '{origin.topic}'

/** What a target topic allowed when the plan was made. Null = not known, and for archives: no such bound. */
export interface TargetFacts {
  readonly topic: string
  readonly topicId: string | null
  /** 0 = the topic is not there; null = any partition can be written (archives). */
  readonly partitions: number | null
  readonly maxMessageBytes: number | null
  /** -1 = for ever. */
  readonly retentionMs: string | null
  readonly cleanupPolicy: string | null
  readonly timestampType: 'CreateTime' | 'LogAppendTime' | null
  /** `message.timestamp.before.max.ms` */
  readonly timestampBeforeMaxMs: string | null
  /** `message.timestamp.after.max.ms` */
  readonly timestampAfterMaxMs: string | null
  /** Why the configuration could not be read; null when it was. */
  readonly configError: string | null
}

/** Where one record goes. */
export type Destination =
  | {
      readonly kind: 'known'
      readonly topic: string
      readonly partition: number
      readonly fallback: 'key' | 'spread' | null
    }
  | {readonly kind: 'no-origin'}
  | {readonly kind: 'illegal-topic'; readonly topic: string}
  | {readonly kind: 'target-missing'; readonly topic: string}
  | {
      readonly kind: 'target-partition'
      readonly topic: string
      readonly partition: number | null
      readonly partitions: number | null
    }

/** The topic that a rule names for a failure; null when the rule wants an origin topic and there is none. */
export function targetTopic(rule: TargetRule, failure: Failure): string | null {
  if (!rule.topic.includes(PLACEHOLDER)) return rule.topic
  const origin = failure.origin?.topic
  return origin === undefined ? null : rule.topic.replaceAll(PLACEHOLDER, () => origin)
}

/**
 * Where a record goes.
 * @param facts of the rule's topic for this failure; null when it is not known to the cluster
 */
export function resolveDestination(
  rule: TargetRule,
  record: Pick<KafkaRecord, 'topic' | 'partition' | 'offset' | 'key'>,
  failure: Failure,
  facts: Pick<TargetFacts, 'partitions'> | null,
): Destination {
  const topic = targetTopic(rule, failure)
  if (topic === null) return {kind: 'no-origin'}
  if (!isLegalTopicName(topic)) return {kind: 'illegal-topic', topic}
  if (facts === null || facts.partitions === 0) return {kind: 'target-missing', topic}
  const {partitions} = facts
  const origin = failure.origin?.partition
  const has = origin !== undefined && origin >= 0 && (partitions === null || origin < partitions)
  if (rule.partitionRule === 'origin' && has) {
    return {kind: 'known', topic, partition: origin, fallback: null}
  }
  // Without a number of partitions no hash can choose one.
  if (partitions === null || (rule.partitionRule === 'origin' && rule.partitionFallback === null)) {
    return {kind: 'target-partition', topic, partition: origin ?? null, partitions}
  }
  if (record.key !== null) {
    const fallback = rule.partitionRule === 'origin' ? 'key' : null
    return {kind: 'known', topic, partition: partitionForKey(record.key, partitions), fallback}
  }
  // Without a key any partition is right; the address spreads them, and plan and run agree on it.
  const address = Buffer.from(`${record.topic}:${record.partition}:${record.offset}`)
  return {kind: 'known', topic, partition: partitionForKey(address, partitions), fallback: 'spread'}
}

/** True when Kafka would delete a record of this time again soon: `retention.ms` of a topic that deletes by record time. */
export function isExpired(facts: TargetFacts, timestamp: bigint, nowMs: bigint): boolean {
  const {retentionMs, cleanupPolicy, timestampType} = facts
  if (retentionMs === null || timestampType === 'LogAppendTime' || cleanupPolicy?.includes('delete') === false)
    return false
  const retention = BigInt(retentionMs)
  return retention >= 0n && timestamp < nowMs - retention
}

/** Where a time lies outside `message.timestamp.before.max.ms` and `message.timestamp.after.max.ms`; null = inside. */
export function outOfRange(facts: TargetFacts, timestamp: bigint, nowMs: bigint): 'future' | 'past' | null {
  const {timestampType, timestampBeforeMaxMs: before, timestampAfterMaxMs: after} = facts
  if (timestampType === 'LogAppendTime') return null
  if (after !== null && timestamp - nowMs > BigInt(after)) return 'future'
  return before !== null && nowMs - timestamp > BigInt(before) ? 'past' : null
}
