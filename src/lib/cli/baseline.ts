import {UsageError} from '../errors.ts'
import type {CommittedOffset} from '../kafka/ports.ts'
import type {PartitionScan} from '../dead-letter/model.ts'
import {isRecord} from './guards.ts'

/** Version of the file. */
const BASELINE_VERSION = 1

/** What `stats --save-baseline` keeps: where each partition ended, and how many records each group had. */
export interface Baseline {
  readonly version: number
  /** Epoch ms as decimal string. */
  readonly savedAt: string
  readonly ends: readonly {readonly topic: string; readonly partition: number; readonly offset: string}[]
  /** JSON of a group's `by` to its count. */
  readonly groups: Readonly<Record<string, number>>
}

/** Text of a baseline file. */
export function formatBaseline(
  scanned: readonly PartitionScan[],
  groups: ReadonlyMap<string, number>,
  nowMs: number,
): string {
  const ends = scanned.map(({topic, partition, to}) => ({topic, partition, offset: to}))
  const baseline: Baseline = {version: BASELINE_VERSION, savedAt: `${nowMs}`, ends, groups: Object.fromEntries(groups)}
  return `${JSON.stringify(baseline, null, 2)}\n`
}

/** @throws UsageError for a text that is no baseline */
export function parseBaseline(text: string, file: string): Baseline {
  const wrong = (reason: string): UsageError =>
    new UsageError(`${file} is no baseline: ${reason}`, {
      hints: ['stats --save-baseline FILE writes one'],
      context: {file},
    })
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw wrong('not JSON')
  }
  if (!isRecord(json) || json['version'] !== BASELINE_VERSION) throw wrong(`version ${BASELINE_VERSION} is expected`)
  const {ends, groups, savedAt} = json
  if (!Array.isArray(ends) || !ends.every(isEnd)) throw wrong('ends is not a list of topic, partition, offset')
  if (!isRecord(groups) || !isCounts(groups)) throw wrong('groups is not a map of counts')
  if (typeof savedAt !== 'string') throw wrong('savedAt is missing')
  return {version: BASELINE_VERSION, savedAt, ends, groups}
}

/** End offsets of a baseline. @throws UsageError */
export function readBaseline(text: string, file: string): readonly CommittedOffset[] {
  return parseBaseline(text, file).ends.map(({topic, partition, offset}) => ({
    topic,
    partition,
    offset: BigInt(offset),
  }))
}

function isEnd(value: unknown): value is Baseline['ends'][number] {
  return (
    isRecord(value) &&
    typeof value['topic'] === 'string' &&
    typeof value['partition'] === 'number' &&
    Number.isSafeInteger(value['partition']) &&
    typeof value['offset'] === 'string' &&
    /^[0-9]{1,19}$/.test(value['offset'])
  )
}

function isCounts(groups: Record<string, unknown>): groups is Record<string, number> {
  return Object.values(groups).every(count => typeof count === 'number')
}
