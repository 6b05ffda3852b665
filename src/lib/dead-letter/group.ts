import type {FailureException} from '../dialects/model.ts'
import {causeMessageOf, headlineOf} from '../dialects/root-cause.ts'
import {letterBytes} from './dead-letter.ts'
import type {RecordBytes} from './dead-letter.ts'
import {GROUP_KEYS} from './group-keys.ts'
import type {GroupKey, GroupValue} from './group-keys.ts'
import type {DeadLetter} from './model.ts'
import {createJudge} from './verdict.ts'
import type {Judge, Judgement} from './verdict.ts'
import type {Verdict} from './verdict-rules.ts'

/** Dead letters that have the same values under the `by` words. JSON as it is. */
export interface FailureGroup {
  /** Only when every record of the group has this one and `by` names it. */
  readonly fingerprint?: string
  /** One member per word, null where unknown. */
  readonly by: Readonly<Partial<Record<GroupKey, GroupValue>>>
  readonly count: number
  /** Of all records added, 0 to 1. */
  readonly share: number
  /** Earliest and latest record timestamp, epoch ms as decimal strings; null when no record has one. */
  readonly firstSeen: string | null
  readonly lastSeen: string | null
  /** Address of the first record that was added. */
  readonly example: string
  readonly bytes: RecordBytes
  /** What the example says about its failure, for people; null where it does not. */
  readonly sample: FailureSample
  /** What a replay can do about it; `mixed` when its records differ; absent when no rule fits. */
  readonly verdict?: Verdict | 'mixed'
  /** Why, one line; of the first record. */
  readonly verdictReason?: string
}

/** Longer texts are cut. */
export interface FailureSample {
  readonly stage: string | null
  readonly exception: string | null
  readonly message: string | null
  /** Root cause, and what it says itself. */
  readonly cause: string | null
  readonly causeMessage: string | null
}

export interface GroupReport {
  /** By count, largest first; equal counts by their values. */
  readonly groups: readonly FailureGroup[]
  /** Records added. */
  readonly total: number
  /** Records that began a group beyond the bound: counted here and in no group. */
  readonly ungrouped: number
}

export interface Grouper {
  add(deadLetter: DeadLetter): void
  report(): GroupReport
}

export interface GrouperOptions {
  /** Bound of groups held, at least 1; default 10,000. */
  readonly maxGroups?: number
  /** Default: by the built-in rules. */
  readonly judge?: Judge
}

const DEFAULT_MAX_GROUPS = 10_000
/** A group holds no more of a hostile text than this, in characters. */
const MAX_SAMPLE_CHARS = 1000
/** Longer values are compared by their beginning. */
const MAX_VALUE_CHARS = 1000

interface OpenGroup {
  readonly by: Record<string, GroupValue>
  readonly example: string
  readonly sample: FailureGroup['sample']
  readonly judgement: Judgement | null
  isMixed: boolean
  count: number
  first: bigint | null
  last: bigint | null
  key: number
  value: number
  headers: number
}

/**
 * Groups a stream of dead letters by one or more words, holding one entry per group and no records. Records of new groups
 * beyond the bound are counted as `ungrouped`.
 * @throws RangeError without a word, or with a bound below 1
 */
export function createGrouper(by: readonly GroupKey[], options: GrouperOptions = {}): Grouper {
  return new BoundedGrouper(by, options.maxGroups ?? DEFAULT_MAX_GROUPS, options.judge ?? createJudge())
}

class BoundedGrouper implements Grouper {
  readonly #by: readonly GroupKey[]
  readonly #maxGroups: number
  readonly #judge: Judge
  /** All records of a group are of one kind: the verdict on the first is the verdict on all. */
  readonly #isOneKind: boolean
  readonly #groups = new Map<string, OpenGroup>()
  #total = 0
  #ungrouped = 0

  constructor(by: readonly GroupKey[], maxGroups: number, judge: Judge) {
    if (by.length === 0) throw new RangeError('groups need at least one word')
    if (!Number.isInteger(maxGroups) || maxGroups < 1) throw new RangeError('at least one group is held')
    this.#by = [...new Set(by)]
    this.#maxGroups = maxGroups
    this.#judge = judge
    this.#isOneKind = by.includes('fingerprint') || by.includes('kind')
  }

  add(deadLetter: DeadLetter): void {
    this.#total++
    const values = this.#by.map(word => bounded(GROUP_KEYS[word](deadLetter, {judge: this.#judge})))
    const id = values.length === 1 ? idOf(values[0] ?? null) : JSON.stringify(values)
    let group = this.#groups.get(id)
    if (group === undefined) {
      if (this.#groups.size >= this.#maxGroups) {
        this.#ungrouped++
        return
      }
      group = this.#open(values, deadLetter)
      this.#groups.set(id, group)
    } else if (!this.#isOneKind && !group.isMixed) {
      group.isMixed = this.#judge(deadLetter)?.verdict !== group.judgement?.verdict
    }
    const {record} = deadLetter
    const {timestamp} = record
    const bytes = letterBytes(deadLetter)
    group.count++
    group.key += bytes.key
    group.value += bytes.value
    group.headers += bytes.headers
    if (timestamp === null) return
    if (group.first === null || timestamp < group.first) group.first = timestamp
    if (group.last === null || timestamp > group.last) group.last = timestamp
  }

  report(): GroupReport {
    const sorted = [...this.#groups].sort(([left, a], [right, b]) => b.count - a.count || (left < right ? -1 : 1))
    const groups = sorted.map(([, group]) => this.#close(group))
    return {groups, total: this.#total, ungrouped: this.#ungrouped}
  }

  #open(values: readonly GroupValue[], deadLetter: DeadLetter): OpenGroup {
    const {address, failure} = deadLetter
    const {stage, exception} = failure
    const headline = headlineOf(exception)
    return {
      by: Object.fromEntries(this.#by.map((word, index) => [word, values[index] ?? null])),
      example: address,
      sample: {
        stage: cut(stage),
        exception: cut(exception?.class),
        message: cut(exception?.message),
        cause: cut(exception?.cause === undefined ? undefined : (headline.class ?? undefined)),
        causeMessage: cut(causeMessage(exception, headline)),
      },
      judgement: this.#judge(deadLetter),
      isMixed: false,
      count: 0,
      first: null,
      last: null,
      key: 0,
      value: 0,
      headers: 0,
    }
  }

  #close(group: OpenGroup): FailureGroup {
    const {by, count, first, last, example, sample, key, value, headers, judgement, isMixed} = group
    const id = by['fingerprint']
    return {
      ...(typeof id === 'string' ? {fingerprint: id} : {}),
      by,
      count,
      share: count / this.#total,
      firstSeen: first?.toString() ?? null,
      lastSeen: last?.toString() ?? null,
      example,
      bytes: {key, value, headers},
      sample,
      ...(isMixed
        ? {verdict: 'mixed' as const, verdictReason: 'the records of this group differ'}
        : judgement === null
          ? {}
          : {verdict: judgement.verdict, verdictReason: judgement.reason}),
    }
  }
}

/** What the root cause says, also where that is not the cause that a header names. */
function causeMessage(
  exception: FailureException | undefined,
  headline: {readonly class: string | null; readonly message: string | null},
): string | undefined {
  if (exception?.cause === undefined) return undefined
  return headline.class === exception.cause ? causeMessageOf(exception) : (headline.message ?? undefined)
}

function idOf(value: GroupValue): string {
  return typeof value === 'string' ? `s${value}` : `n${String(value)}`
}

function bounded(value: GroupValue): GroupValue {
  return typeof value === 'string' && value.length > MAX_VALUE_CHARS ? `${value.slice(0, MAX_VALUE_CHARS)}…` : value
}

function cut(text: string | undefined): string | null {
  if (text === undefined) return null
  return text.length > MAX_SAMPLE_CHARS ? `${text.slice(0, MAX_SAMPLE_CHARS)}…` : text
}
