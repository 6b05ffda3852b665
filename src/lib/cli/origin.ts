import type {Clock} from '../clock.ts'
import {freezeSelection} from '../dead-letter/freeze.ts'
import type {DeadLetter} from '../dead-letter/model.ts'
import {scanDeadLetters} from '../dead-letter/scan.ts'
import {isKdlqError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import type {OriginComparison} from '../render/record-detail.ts'
import {compileFilters} from '../select/compile.ts'
import {NO_FILTERS} from '../select/filter-spec.ts'
import {selectAll} from '../select/selection.ts'

/**
 * Reads the record at the origin of a dead letter and compares key and value byte by byte. What cannot be read is data,
 * not an error.
 */
export async function compareWithOrigin(
  cluster: Cluster,
  {failure: {origin}, record}: DeadLetter,
  {clock, signal}: {readonly clock: Clock; readonly signal: AbortSignal},
): Promise<OriginComparison> {
  const {topic, partition, offset} = origin ?? {}
  if (
    topic === undefined ||
    partition === undefined ||
    partition < 0 ||
    offset === undefined ||
    !/^[0-9]{1,19}$/.test(offset)
  ) {
    return {state: 'unknown', reason: 'the headers name no origin offset'}
  }
  try {
    const selection = {
      ...selectAll([{kind: 'address', address: {topic, partition, offset: BigInt(offset)}}]),
      isolationLevel: 'read_uncommitted' as const,
    }
    const frozen = await freezeSelection(cluster, selection, {clock, readBaseline: async () => []}, {signal})
    const scan = scanDeadLetters(cluster, frozen, await compileFilters(NO_FILTERS), {signal})
    for await (const found of scan) return compareRecords(record, found.record)
    return {state: 'gone', reason: `there is no record at ${topic}:${partition}:${offset} any more`}
  } catch (error) {
    signal.throwIfAborted()
    if (!isKdlqError(error)) throw error
    return {state: 'unknown', reason: error.message}
  }
}

function compareRecords(dead: KafkaRecord, origin: KafkaRecord): OriginComparison {
  const differences = (['key', 'value'] as const).filter(part => !isSame(dead[part], origin[part]))
  return differences.length === 0 ? {state: 'same'} : {state: 'differs', differences}
}

function isSame(left: Buffer | null, right: Buffer | null): boolean {
  if (left === null || right === null) return left === right
  return left.equals(right)
}
