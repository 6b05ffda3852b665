import type {KafkaRecord} from '../kafka/record.ts'
import {readHops} from './decode.ts'
import type {Hop} from './decode.ts'
import {HeaderTable} from './header-table.ts'
import type {DialectId, Failure, RecordCoordinates} from './model.ts'
import {DIALECTS} from './registry.ts'
import type {Dialect} from './dialect.ts'

/** One time that a record failed and was parked, as far as its headers still tell. JSON as it is. */
export interface FailureHop {
  readonly dialect: DialectId
  /** Where it failed this time. */
  readonly at?: RecordCoordinates
  readonly stage?: string
  readonly exception?: {readonly class?: string; readonly message?: string; readonly cause?: string}
  readonly connector?: string
  readonly group?: string
  readonly app?: string
  readonly attempts?: number
  /** Not to be tried again before, epoch ms, decimal. */
  readonly dueAt?: string
  /** Epoch ms, decimal. */
  readonly failedAt?: string
}

/** Sets of one family that are read one by one; of more, those in the middle are left out. */
const MOST_HOPS = 20

/**
 * All failures of a record, oldest first: family by family, and within a family set by set. A family that replaces its
 * headers tells of its newest failure only.
 */
export function failureTimeline(
  record: KafkaRecord,
  dialects: readonly Dialect[] = DIALECTS,
): {readonly hops: readonly FailureHop[]; readonly omitted: number} {
  const {hops} = readHops(record, dialects)
  const headers = new HeaderTable(record.headers)
  const timelines = hops.toReversed().map(hop => countedOf(headers, hop) ?? setsOf(record, hop))
  return {
    hops: timelines.flatMap(({hops: own}) => own),
    omitted: timelines.reduce((sum, {omitted}) => sum + omitted, 0),
  }
}

/** The failures of a family that counts them, oldest first; null when it does not, or there is only one. */
function countedOf(
  headers: HeaderTable,
  {dialect, reading}: Hop,
): {readonly hops: readonly FailureHop[]; readonly omitted: number} | null {
  const all = dialect.history?.(headers, reading.failure) ?? []
  if (all.length < 2) return null
  const shown = all.length > MOST_HOPS ? [...all.slice(0, 1), ...all.slice(1 - MOST_HOPS)] : all
  return {hops: shown.map(failure => toHop(dialect.id, failure)), omitted: all.length - shown.length}
}

/** The failures of one family, oldest first: what it would have told after the first set, after the second, and so on. */
function setsOf(
  record: KafkaRecord,
  {dialect, reading}: Hop,
): {readonly hops: readonly FailureHop[]; readonly omitted: number} {
  const count = reading.failure.hops ?? 1
  const wanted = Array.from({length: count}, (_, index) => index + 1).filter(
    set => set === 1 || set > count - MOST_HOPS + 1,
  )
  const hops = wanted.map(set => {
    if (set === count) return toHop(dialect.id, reading.failure)
    const hop = toHop(dialect.id, readSets(record, dialect, set) ?? {})
    if (dialect.prepends !== true) return hop
    // Sets stand in front, but counts and times that are written again stand behind them, and tell of the newest one.
    const {attempts: _attempts, dueAt: _dueAt, failedAt: _failedAt, ...own} = hop
    return own
  })
  return {hops, omitted: count - wanted.length}
}

/** The failure as it was when the family had written so many sets: from the headers that were there then. */
function readSets(record: KafkaRecord, dialect: Dialect, sets: number): Omit<Failure, 'dialect' | 'chain'> | null {
  const {headers} = record
  const read = (length: number) => {
    const part = dialect.prepends === true ? headers.slice(headers.length - length) : headers.slice(0, length)
    const reading = dialect.read({...record, headers: part}, new HeaderTable(part))
    return reading === null ? null : reading.failure
  }
  // More headers never make fewer sets: the longest part with so many is found by halving.
  let [low, high] = [0, headers.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const failure = read(middle)
    if (failure === null || (failure.hops ?? 1) <= sets) low = middle
    else high = middle - 1
  }
  return read(low)
}

function toHop(dialect: DialectId, failure: Omit<Failure, 'dialect' | 'chain'>): FailureHop {
  const {stage, exception, connector, group, app, attempts, dueAt, failedAt} = failure
  const at = failure.last ?? failure.origin
  const {class: className, message, cause} = exception ?? {}
  const told = {
    ...(className === undefined ? {} : {class: className}),
    ...(message === undefined ? {} : {message}),
    ...(cause === undefined ? {} : {cause}),
  }
  return {
    dialect,
    ...(at === undefined ? {} : {at}),
    ...(stage === undefined ? {} : {stage}),
    ...(Object.keys(told).length === 0 ? {} : {exception: told}),
    ...(connector === undefined ? {} : {connector}),
    ...(group === undefined ? {} : {group}),
    ...(app === undefined ? {} : {app}),
    ...(attempts === undefined ? {} : {attempts}),
    ...(dueAt === undefined ? {} : {dueAt}),
    ...(failedAt === undefined ? {} : {failedAt}),
  }
}
