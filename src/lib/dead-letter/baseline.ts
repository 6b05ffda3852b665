import {UsageError} from '../errors.ts'
import type {CommittedOffset} from '../kafka/ports.ts'
import {FINGERPRINT_RULES} from './fingerprint.ts'
import type {FailureGroup, FailureSample} from './group.ts'
import type {GroupKey, GroupValue} from './group-keys.ts'
import {isGroupKey} from './group-keys.ts'
import type {PartitionScan} from './model.ts'

/** What tells the file from other JSON. */
const FORMAT = 'kdlq-baseline'
const VERSION = 2

/** A group as it was when the baseline was saved. */
export interface BaselineGroup {
  readonly by: FailureGroup['by']
  readonly count: number
  /** Epoch ms as decimal string; null when no record has a time. */
  readonly lastSeen: string | null
  readonly sample: FailureSample
}

/** What `stats --save-baseline` keeps: where each partition ended, and which groups there were. */
export interface Baseline {
  readonly format: typeof FORMAT
  readonly version: number
  /** Version of the rules that fingerprints are made by. */
  readonly rules: string
  /** Epoch ms as decimal string. */
  readonly savedAt: string
  /** Null for archives. */
  readonly clusterId: string | null
  /** Words of `--by`. */
  readonly by: readonly GroupKey[]
  /** Flags that chose the records, such as `--stage=TASK_PUT`; absent when all were read. */
  readonly filters?: readonly string[]
  readonly ends: readonly BaselineEnd[]
  readonly groups: readonly BaselineGroup[]
}

/** Where a partition ended when the baseline was saved. */
export interface BaselineEnd {
  readonly topic: string
  /** Null for archives and brokers without topic ids. */
  readonly topicId: string | null
  readonly partition: number
  /** Exclusive, decimal. */
  readonly offset: string
}

/** Where a baseline is used: what it must have been saved from. */
export interface BaselinePlace {
  readonly clusterId: string | null
  readonly topics: Iterable<{readonly topic: string; readonly topicId: string | null}>
}

/** Text of a baseline file. */
export function formatBaseline(
  {
    scanned,
    groups,
    by,
    filters = [],
  }: {
    readonly scanned: readonly PartitionScan[]
    readonly groups: readonly FailureGroup[]
    readonly by: readonly GroupKey[]
    readonly filters?: readonly string[]
  },
  place: BaselinePlace,
  nowMs: number,
): string {
  const ids = new Map([...place.topics].map(({topic, topicId}) => [topic, topicId]))
  const baseline: Baseline = {
    format: FORMAT,
    version: VERSION,
    rules: FINGERPRINT_RULES,
    savedAt: `${nowMs}`,
    clusterId: place.clusterId,
    by: [...new Set(by)],
    ...(filters.length === 0 ? {} : {filters}),
    ends: scanned.map(({topic, partition, to}) => ({topic, topicId: ids.get(topic) ?? null, partition, offset: to})),
    groups: groups.map(({by: values, count, lastSeen, sample}) => ({by: values, count, lastSeen, sample})),
  }
  return `${JSON.stringify(baseline, null, 2)}\n`
}

/** @throws UsageError for a text that is no baseline, is broken, or is of another version */
export function parseBaseline(text: string, file: string): Baseline {
  const wrong = (reason: string, hint = 'stats --save-baseline FILE writes one'): UsageError =>
    new UsageError(`${file} is no baseline: ${reason}`, {hints: [hint], context: {file}})
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw wrong(text.trimStart().startsWith('{') ? 'broken JSON' : 'not JSON')
  }
  if (!isObject(json)) throw wrong('a JSON object is expected')
  const {version} = json
  if (json['format'] !== FORMAT && version !== 1) throw wrong('the file was not written by stats --save-baseline')
  if (typeof version !== 'number' || version < VERSION) {
    throw wrong(`it was written by an older kdlq (version ${String(version)})`, 'save it again')
  }
  if (version > VERSION) throw wrong(`it was written by a newer kdlq (version ${version})`, 'use that kdlq')
  const {rules, savedAt, clusterId, by, filters = [], ends, groups} = json
  if (typeof rules !== 'string') throw wrong('rules is missing')
  if (typeof savedAt !== 'string' || !/^[0-9]{1,16}$/.test(savedAt)) throw wrong('savedAt is missing')
  if (clusterId !== null && typeof clusterId !== 'string') throw wrong('clusterId is missing')
  if (!Array.isArray(by) || !by.every(isWord)) throw wrong('by is not a list of words')
  if (!Array.isArray(filters) || !filters.every(isFilter)) throw wrong('filters is not a list of flags')
  if (!Array.isArray(ends) || !ends.every(isEnd)) throw wrong('ends is not a list of topic, partition, offset')
  if (!Array.isArray(groups) || !groups.every(isGroup)) throw wrong('groups is not a list of groups')
  const chosen = filters.length === 0 ? {} : {filters}
  return {format: FORMAT, version, rules, savedAt, clusterId, by, ...chosen, ends, groups}
}

/** End offsets of a baseline. */
export function baselineEnds({ends}: Baseline): readonly CommittedOffset[] {
  return ends.map(({topic, partition, offset}) => ({topic, partition, offset: BigInt(offset)}))
}

/**
 * Why the offsets of a baseline mean nothing here: another cluster, or a topic that was created again. Null when they count.
 */
export function strangeness({clusterId, ends}: Baseline, place: BaselinePlace): string | null {
  if (clusterId !== place.clusterId && clusterId !== null && place.clusterId !== null) {
    return `it was saved from another cluster (${clusterId}, here ${place.clusterId})`
  }
  const ids = new Map(ends.map(({topic, topicId}) => [topic, topicId]))
  for (const {topic, topicId} of place.topics) {
    const before = ids.get(topic) ?? null
    if (before !== null && topicId !== null && before !== topicId) {
      return `topic ${topic} was created again since it was saved`
    }
  }
  return null
}

/**
 * Why groups may be called new, grown or gone although nothing happened: the baseline was saved with other filters. Null
 * when they are the same.
 */
export function otherFilters({filters: before = []}: Baseline, filters: readonly string[]): string | null {
  const words = (flags: readonly string[]): string => (flags.length === 0 ? 'none' : flags.toSorted().join(' '))
  return words(before) === words(filters)
    ? null
    : `it was saved with other filters (${words(before)}; here ${words(filters)})`
}

/** How a group compares with the baseline: not there before, more records, as many or fewer, none any more. */
export type Change = 'new' | 'grown' | 'same' | 'gone'

/** A group, compared. */
export type Compared<G extends FailureGroup> = G & {
  readonly change: Change
  /** Records at the baseline; absent when the group is new. */
  readonly before?: number
}

/**
 * Compares groups with a baseline of the same words.
 * @param options.onlyLater the groups hold only records behind the baseline's ends: each of them is growth, and nothing is gone
 * @throws UsageError when the baseline has groups by other words, or fingerprints by other rules
 */
export function compareWithBaseline(
  groups: readonly FailureGroup[],
  baseline: Baseline,
  {by, file, onlyLater}: {readonly by: readonly GroupKey[]; readonly file: string; readonly onlyLater: boolean},
): readonly Compared<FailureGroup>[] {
  assertComparable(baseline, by, file)
  const idOf = (values: FailureGroup['by']): string => JSON.stringify(baseline.by.map(word => values[word] ?? null))
  const before = new Map(baseline.groups.map(group => [idOf(group.by), group]))
  const compared = groups.map((group): Compared<FailureGroup> => {
    const old = before.get(idOf(group.by))
    before.delete(idOf(group.by))
    if (old === undefined) return {...group, change: 'new'}
    return {...group, change: onlyLater || group.count > old.count ? 'grown' : 'same', before: old.count}
  })
  return onlyLater ? compared : [...compared, ...[...before.values()].map(goneGroup)]
}

function assertComparable(baseline: Baseline, by: readonly GroupKey[], file: string): void {
  const words = new Set(by)
  if (words.size !== baseline.by.length || !baseline.by.every(word => words.has(word))) {
    throw new UsageError(`${file} has groups by ${baseline.by.join(',')}, not by ${[...words].join(',')}`, {
      hints: [`compare with --by ${baseline.by.join(',')}, or save it again`],
      context: {file},
    })
  }
  const hasIds = words.has('fingerprint') || words.has('kind')
  if (hasIds && baseline.rules !== FINGERPRINT_RULES) {
    throw new UsageError(`${file} has fingerprints by other rules (${baseline.rules}, here ${FINGERPRINT_RULES})`, {
      hints: ['save it again; its offsets still serve --from baseline:FILE'],
      context: {file},
    })
  }
}

/** A group of the baseline without records now. */
function goneGroup({by, count, lastSeen, sample}: BaselineGroup): Compared<FailureGroup> {
  return {
    ...(typeof by.fingerprint === 'string' ? {fingerprint: by.fingerprint} : {}),
    by,
    count: 0,
    share: 0,
    firstSeen: null,
    lastSeen,
    example: '',
    bytes: {key: 0, value: 0, headers: 0},
    sample,
    change: 'gone',
    before: count,
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isWord(value: unknown): value is GroupKey {
  return typeof value === 'string' && isGroupKey(value)
}

function isFilter(value: unknown): value is string {
  return typeof value === 'string'
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isEnd(value: unknown): value is BaselineEnd {
  return (
    isObject(value) &&
    typeof value['topic'] === 'string' &&
    (value['topicId'] === null || typeof value['topicId'] === 'string') &&
    isCount(value['partition']) &&
    typeof value['offset'] === 'string' &&
    /^[0-9]{1,19}$/.test(value['offset'])
  )
}

function isGroup(value: unknown): value is BaselineGroup {
  return (
    isObject(value) &&
    isObject(value['by']) &&
    Object.entries(value['by']).every(([word, part]) => isGroupKey(word) && isGroupValue(part)) &&
    isCount(value['count']) &&
    isText(value['lastSeen']) &&
    isObject(value['sample']) &&
    SAMPLE_MEMBERS.every(name => isText(isObject(value['sample']) ? value['sample'][name] : undefined))
  )
}

const SAMPLE_MEMBERS = [
  'stage',
  'exception',
  'message',
  'cause',
  'causeMessage',
] as const satisfies readonly (keyof FailureSample)[]

function isGroupValue(value: unknown): value is GroupValue {
  return value === null || typeof value === 'string' || typeof value === 'number'
}

function isText(value: unknown): boolean {
  return value === null || typeof value === 'string'
}
