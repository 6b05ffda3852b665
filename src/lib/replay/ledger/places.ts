import type {RecordCoordinates} from '../../dialects/model.ts'
import {isOffset, placeName, refText} from './names.ts'
import type {LedgerOrigin, SourcePartition, SourceRef} from './types.ts'

/** An address that names one record, with the name of its place. */
interface WholeAddress extends SourcePartition {
  readonly name: string
  readonly offset: bigint
}

/** A topic and partition of whatever incarnation: targets and origins. */
export function anyName(clusterId: string | null, topic: string, partition: number): string {
  return `${clusterId ?? ''}|${placeName(topic, partition)}`
}

/** A partition of one incarnation of a topic. */
export function sourceName(source: SourcePartition): string {
  return `${refText(source)}|${source.topic}:${source.partition}|`
}

/** What all incarnations of a topic share. */
export function incarnationName(
  {clusterId}: SourceRef,
  {topic, partition}: Pick<SourcePartition, 'topic' | 'partition'>,
): string {
  return anyName(clusterId, topic, partition)
}

/** Null unless topic, partition and a possible offset are there. */
export function wholeAddress(
  place: RecordCoordinates | LedgerOrigin | null | undefined,
  clusterId: string | null,
): WholeAddress | null {
  if (place === null || place === undefined) return null
  const {topic, partition} = place
  const offset =
    typeof place.offset === 'string' ? (isOffset(place.offset) ? BigInt(place.offset) : null) : place.offset
  if (topic === undefined || partition === undefined || partition === null) return null
  if (offset === undefined || offset === null || offset < 0n) return null
  return {name: anyName(clusterId, topic, partition), clusterId, topicId: null, topic, partition, offset}
}
