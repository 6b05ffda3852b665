import type {DeadLetter} from '../dead-letter/model.ts'
import type {Dialect} from '../dialects/dialect.ts'
import {originalPayload, payloadState} from '../dialects/restore.ts'
import {isKdlqError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {bytesToJson} from '../render/bytes.ts'
import type {OriginComparison, OriginRecordJson, PartDifference} from '../render/origin-lines.ts'
import {compareWithOrigin} from '../replay/from-origin-compare.ts'
import {OriginReader} from '../replay/from-origin.ts'

/**
 * Read the record at the origin of a dead letter and compare key, value and headers byte by byte. What cannot be read is
 * data, not an error.
 * @param options.shown the origin record as it may be shown
 */
export async function lookAtOrigin(
  cluster: Cluster,
  letter: DeadLetter,
  {
    signal,
    dialects,
    shown,
  }: {
    readonly signal: AbortSignal
    readonly dialects: readonly Dialect[]
    readonly shown: (record: KafkaRecord) => KafkaRecord
  },
): Promise<OriginComparison> {
  const {topic, partition, offset} = letter.failure.origin ?? {}
  if (topic === undefined || partition === undefined || offset === undefined || !/^\d{1,19}$/.test(offset)) {
    return {state: 'unknown', reason: 'the headers name no origin offset'}
  }
  try {
    const reader = new OriginReader({source: cluster, target: cluster})
    const [answer] = await reader.fetch([{topic, partition, offset: BigInt(offset)}], {signal})
    if (answer === undefined) return {state: 'unknown', reason: 'nobody could say'}
    const finding = compareWithOrigin(letter, answer, dialects)
    if (!('record' in finding)) return finding
    const record = {record: toJson(shown(finding.record))}
    if (finding.state === 'other') return {state: 'other', reason: finding.reason, ...record}
    const {differences} = finding
    if (payloadState(letter.record, letter.failure, dialects) === 'absent') return {state: 'there', ...record}
    if (differences.length === 0) return {state: 'same', ...record}
    const copy = originalPayload(letter.record, letter.failure)
    const parts = differences.flatMap(part =>
      part === 'headers' ? [] : [differenceOf(part, copy[part], finding.record[part])],
    )
    return {state: 'differs', differences, parts, ...record}
  } catch (error) {
    signal.throwIfAborted()
    if (!isKdlqError(error)) throw error
    return {state: 'unknown', reason: error.message}
  }
}

function differenceOf(part: PartDifference['part'], copy: Buffer | null, origin: Buffer | null): PartDifference {
  const shorter = Math.min(copy?.length ?? 0, origin?.length ?? 0)
  let at = 0
  while (at < shorter && copy?.[at] === origin?.[at]) at++
  return {part, at, deadLetterBytes: copy?.length ?? null, originBytes: origin?.length ?? null}
}

function toJson({timestamp, key, value, headers}: KafkaRecord): OriginRecordJson {
  return {
    timestamp: timestamp === null ? null : `${timestamp}`,
    key: bytesToJson(key),
    value: bytesToJson(value),
    headers: headers.map(header => [header.name.toString('utf8'), bytesToJson(header.value)]),
  }
}
