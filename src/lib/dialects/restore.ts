import {isLegalTopicName} from '../kafka/record.ts'
import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'
import type {Dialect, DialectReading, HeaderTest} from './dialect.ts'
import {HeaderTable} from './header-table.ts'
import type {Failure} from './model.ts'
import {headerName} from './primitives.ts'
import {DIALECTS} from './registry.ts'

/** Name of the one header that a replay adds; stripped and replaced at the next replay. */
const PROVENANCE_HEADER = headerName('kdlq.replay')

/** Why the dead letter alone does not give the original record back. */
export type ReplayBlock = 'no_topic' | 'illegal_topic' | 'payload_absent' | 'value_lost' | 'multi_record'

/** What `headerStripper` may be told; nothing is needed. */
export interface StripOptions {
  /** Removed besides what the families strip. */
  readonly extra?: HeaderTest
  /** Keep what the serializers of the families' producers added (Spring's type headers behind its set). */
  readonly keepSideHeaders?: boolean
  readonly dialects?: readonly Dialect[]
}

/**
 * Which headers of a dead letter a replay removes: those of every family on it, our own provenance header, and what
 * `extra` names. All others stay, in order, with repeats and nulls.
 */
export function headerStripper(record: KafkaRecord, failure: Failure, options: StripOptions = {}): HeaderTest {
  const {extra, keepSideHeaders = false, dialects = DIALECTS} = options
  const tests: HeaderTest[] = extra === undefined ? [] : [extra]
  let headers: HeaderTable | undefined
  for (const dialect of dialectsOf(failure, dialects)) {
    if (dialect.stripsOf === undefined) tests.push(name => dialect.strips(name))
    else tests.push(dialect.stripsOf(record, (headers ??= new HeaderTable(record.headers))))
    if (dialect.sideHeaders !== undefined && !keepSideHeaders) {
      tests.push(dialect.sideHeaders(record, (headers ??= new HeaderTable(record.headers))))
    }
  }
  return (name, index) => name.equals(PROVENANCE_HEADER) || tests.some(strips => strips(name, index))
}

/** True for a header that breaks the second life of the record when a replay keeps it: keeping it needs a second yes. */
export function isHarmfulHeader(name: Buffer, failure: Failure, dialects: readonly Dialect[] = DIALECTS): boolean {
  return dialectsOf(failure, dialects).some(dialect => dialect.harmful?.(name) === true)
}

/** Timestamp that a replay sends when nothing else was asked for: `now` where an old time would end the second life. */
export function defaultTimestampRule(failure: Failure, dialects: readonly Dialect[] = DIALECTS): 'original' | 'now' {
  return dialectsOf(failure, dialects).some(dialect => dialect.replaysNow === true) ? 'now' : 'original'
}

/** Headers that a replay starts from: those inside the envelope where a family wrapped the record, else the record's. */
export function carriedHeaders(record: KafkaRecord, failure: Failure): readonly RecordHeader[] {
  if (failure.payload !== 'envelope') return record.headers
  return (failure.rawHeaders ?? []).map(([name, value]) => ({
    name: Buffer.from(name, 'utf8'),
    value: value === null ? null : Buffer.from(value, 'hex'),
  }))
}

/**
 * Time of the record that failed first, epoch ms; null when it is lost (then the producer's clock decides).
 *
 * From the innermost family outwards: a recorded source time is the answer; a family that keeps the record's time passes
 * the question on; one that does neither has lost it. If all keep it, it is the record's own, unless the broker
 * overwrote that on append.
 */
export function originalTimestamp(
  record: KafkaRecord,
  failure: Failure,
  dialects: readonly Dialect[] = DIALECTS,
): bigint | null {
  // A family that is alone has said all it knows.
  const headers = failure.chain === undefined ? null : new HeaderTable(record.headers)
  for (const dialect of dialectsOf(failure, dialects).toReversed()) {
    const {origin} = headers === null ? failure : (dialect.read(record, headers)?.failure ?? {})
    const recorded = origin?.timestamp
    if (recorded !== undefined) return usable(BigInt(recorded))
    if (!dialect.keepsTimestamp) return null
  }
  return record.timestampType === 'LogAppendTime' || record.timestamp === null ? null : usable(record.timestamp)
}

/** Key and value as they were before the failure: decoded ones where a family wrapped them, else the record's own. */
export function originalPayload(record: KafkaRecord, failure: Failure): Pick<KafkaRecord, 'key' | 'value'> {
  const wrapped = failure.payload === 'envelope'
  const restore = (raw: string | undefined, own: Buffer | null): Buffer | null => {
    if (raw === undefined) return wrapped ? null : own
    const bytes = Buffer.from(raw, 'hex')
    // The same bytes stay the record's own: they can be copied as they lie in the batch.
    return own?.equals(bytes) === true ? own : bytes
  }
  return {key: restore(failure.rawKey, record.key), value: restore(failure.rawValue, record.value)}
}

/**
 * Whether the dead letter alone gives key and value of the record that failed back. `absent`: it only points at that
 * record. `lost`: its value is not the original's, and the original's is not in it; a null here is no tombstone.
 */
export function payloadState(
  record: KafkaRecord,
  failure: Failure,
  dialects: readonly Dialect[] = DIALECTS,
): 'whole' | 'absent' | 'lost' {
  if (failure.payload === 'absent') return 'absent'
  const {warnings = []} = failure
  if (failure.rawValue !== undefined) return 'whole'
  if (warnings.includes('value_lost')) return 'lost'
  if (record.value !== null || failure.payload === 'envelope') return 'whole'
  if (warnings.includes('opaque_java_header')) return 'lost'
  // An inner family may know what the outermost one, which speaks for the record, does not.
  const inner = failure.chain === undefined ? [failure] : readings(record, failure, dialects)
  if (record.key === null && inner.some(({payload}) => payload === 'absent')) return 'absent'
  return inner.some(({stage}) => stage === 'deserialize-value') ? 'lost' : 'whole'
}

/** Everything that keeps a dead letter from being sent back as it is; empty when nothing does. */
export function replayBlocks(failure: Failure): ReplayBlock[] {
  const blocks: ReplayBlock[] = []
  const topic = failure.origin?.topic
  if (topic === undefined || topic === '') blocks.push('no_topic')
  else if (!isLegalTopicName(topic)) blocks.push('illegal_topic')
  if (failure.payload === 'absent') blocks.push('payload_absent')
  if (failure.warnings?.includes('value_lost') === true) blocks.push('value_lost')
  if (failure.warnings?.includes('multi_record_envelope') === true) blocks.push('multi_record')
  return blocks
}

/**
 * False when topic, partition and offset of the origin may come from different failures: their headers occur different
 * numbers of times. Sending such a record back would be a guess.
 */
export function hasConsistentOrigin(failure: Failure): boolean {
  return failure.origin !== undefined && failure.warnings?.includes('ragged_hops') !== true
}

/** What each family on a record says by itself, outermost first. */
function readings(record: KafkaRecord, failure: Failure, dialects: readonly Dialect[]): DialectReading['failure'][] {
  const headers = new HeaderTable(record.headers)
  return dialectsOf(failure, dialects).flatMap(dialect => dialect.read(record, headers)?.failure ?? [])
}

/** The families on a record, outermost first. */
function dialectsOf(failure: Failure, dialects: readonly Dialect[]): Dialect[] {
  const ids = failure.chain ?? [failure.dialect]
  return ids.flatMap(id => dialects.filter(dialect => dialect.id === id))
}

function usable(timestamp: bigint): bigint | null {
  return timestamp < 0n ? null : timestamp
}
