import {originalTimestamp} from '../../dialects/restore.ts'
import type {CallOptions, ClusterReader, ConfigEntry} from '../../kafka/ports.ts'
import type {DeadLetter} from '../model.ts'

/** How long records of an origin topic are still there. JSON as it is. */
export interface OriginExpiry {
  readonly topic: string
  /** Of the dead letters looked at, those that point to it. */
  readonly checked: number
  /** Of these, those whose origin record is no longer there. */
  readonly gone: number
  /** ms until retention may delete the oldest of the others; negative = it may at any time; null = never, or not known. */
  readonly headroomMs: number | null
}

/** JSON as it is. */
export interface Expiry {
  /** `retention.ms`; null = no limit by time. */
  readonly retentionMs: number | null
  /** `retention.bytes` of a partition; null = no limit by size. */
  readonly retentionBytes: number | null
  /** ms until retention may delete the oldest dead letter; negative = it may at any time; null = never, or not known. */
  readonly headroomMs: number | null
  readonly origins: readonly OriginExpiry[]
}

/** Configuration of one topic. */
export type Configs = ReadonlyMap<string, ConfigEntry>

/** A limit of a topic configuration; null for -1, for compacted topics, and when it is not known. */
export function limitOf(configs: Configs, key: 'retention.ms' | 'retention.bytes'): number | null {
  const value = configs.get(key)?.value ?? ''
  if (!hasPolicy(configs, 'delete') || !/^\d{1,15}$/.test(value)) return null
  return Number(value)
}

/** True when `cleanup.policy` (a list) holds the word. */
export function hasPolicy(configs: Configs, policy: 'delete' | 'compact'): boolean {
  const policies = configs.get('cleanup.policy')?.value ?? 'delete'
  return policies.split(',').some(word => word.trim() === policy)
}

/** Time until retention may delete a record of this time. @param timestampMs null = not known */
export function headroom(timestampMs: bigint | null, retentionMs: number | null, nowMs: number): number | null {
  return timestampMs === null || retentionMs === null ? null : Number(timestampMs) + retentionMs - nowMs
}

/**
 * What became of the records that dead letters point to, by dead letter topic.
 * @param configs of the origin topics, by name
 */
export async function originExpiry(
  reader: ClusterReader,
  letters: readonly DeadLetter[],
  configs: ReadonlyMap<string, Configs>,
  {nowMs, ...options}: CallOptions & {readonly nowMs: number},
): Promise<ReadonlyMap<string, readonly OriginExpiry[]>> {
  const pointers = letters.flatMap(letter => {
    const {topic, partition, offset} = letter.failure.origin ?? {}
    if (topic === undefined || partition === undefined || offset === undefined || !configs.has(topic)) return []
    // Through several hops the innermost family decides whether the time survived.
    const timestampMs = originalTimestamp(letter.record, letter.failure, letter.dialects)
    const origin = {topic, partition, offset: BigInt(offset), timestampMs}
    return [{from: letter.record.topic, ...origin}]
  })
  const places = [...new Map(pointers.map(pointer => [placeOf(pointer), pointer])).values()]
  const queries = places.map(({topic, partition}) => ({topic, partition, at: 'earliest' as const}))
  const starts = new Map((await reader.offsets(queries, options)).map(answer => [placeOf(answer), answer.offset]))
  const isGone = (pointer: Pointer): boolean => {
    const start = starts.get(placeOf(pointer)) ?? null
    return start !== null && pointer.offset < start
  }
  const tell = (topic: string, own: readonly Pointer[]): OriginExpiry => {
    const retentionMs = limitOf(configs.get(topic) ?? new Map(), 'retention.ms')
    const left = own.filter(pointer => !isGone(pointer))
    const rooms = left.flatMap(({timestampMs}) => headroom(timestampMs, retentionMs, nowMs) ?? [])
    const headroomMs = rooms.length === 0 ? null : Math.min(...rooms)
    return {topic, checked: own.length, gone: own.length - left.length, headroomMs}
  }
  const byTopic = Map.groupBy(pointers, ({from}) => from)
  return new Map(
    [...byTopic].map(([from, own]) => [from, [...Map.groupBy(own, ({topic}) => topic)].map(group => tell(...group))]),
  )
}

interface Pointer {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly timestampMs: bigint | null
}

function placeOf({topic, partition}: {readonly topic: string; readonly partition: number}): string {
  return `${topic}:${partition}`
}
