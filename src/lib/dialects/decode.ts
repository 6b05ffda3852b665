import type {KafkaRecord} from '../kafka/record.ts'
import type {Dialect, DialectReading} from './dialect.ts'
import {HeaderTable} from './header-table.ts'
import type {Failure, Warning} from './model.ts'
import {DIALECTS} from './registry.ts'
import {isDlqName} from './topic-name.ts'

/** One dialect that a record carries. */
export interface Hop {
  readonly dialect: Dialect
  readonly reading: DialectReading
}

/**
 * What the headers of a record say about its failure. Never throws, linear in the record's size; `dialect` is `none`
 * when no family matches.
 *
 * With several families on one record the outermost (who wrote the record last) gives everything but the origin, which
 * the innermost family that has one gives.
 */
export function decodeFailure(record: KafkaRecord, dialects: readonly Dialect[] = DIALECTS): Failure {
  const {hops, ambiguous} = readHops(record, dialects)
  const outermost = hops[0]
  if (outermost === undefined) return {dialect: 'none'}
  const failure: Failure = {dialect: outermost.dialect.id, ...outermost.reading.failure}
  const warnings = new Set<Warning>(hops.flatMap(({reading}) => reading.failure.warnings ?? []))
  if (hops.length > 1) merge(failure, hops, record)
  if (ambiguous) warnings.add('ambiguous_hop_order')
  if (failure.origin?.topic !== undefined && isDlqName(failure.origin.topic)) warnings.add('origin_is_dlq')
  if (warnings.size > 0) failure.warnings = [...warnings].sort()
  return failure
}

/** The families on a record, outermost first, and whether that order is a guess. */
export function readHops(
  record: KafkaRecord,
  dialects: readonly Dialect[] = DIALECTS,
): {readonly hops: readonly Hop[]; readonly ambiguous: boolean} {
  const headers = new HeaderTable(record.headers)
  const hops: Hop[] = []
  for (const dialect of dialects) {
    if (dialect.lastResort === true && hops.length > 0) continue
    const reading = dialect.read(record, headers)
    if (reading !== null) hops.push({dialect, reading})
  }
  // Sorting is stable: what neither rule separates stays in the order of the registry.
  hops.sort((a, b) => Number(isFromDlq(b)) - Number(isFromDlq(a)) || compareLastHeader(a, b))
  const [first, second] = hops
  const ambiguous =
    first !== undefined &&
    second !== undefined &&
    (first.dialect.prepends === true || second.dialect.prepends === true) &&
    isFromDlq(first) === isFromDlq(second)
  return {hops, ambiguous}
}

function merge(failure: Failure, hops: readonly Hop[], record: KafkaRecord): void {
  failure.chain = hops.map(({dialect}) => dialect.id)
  failure.hops = hops.reduce((sum, {reading}) => sum + (reading.failure.hops ?? 1), 0)
  const latest = failure.last ?? failure.origin
  const innermost = hops.findLast(({reading}) => reading.failure.origin !== undefined)?.reading.failure.origin
  delete failure.origin
  delete failure.last
  if (innermost !== undefined) failure.origin = innermost
  if (latest !== undefined) failure.last = latest
  for (const {reading} of hops.slice(1)) adoptPayload(failure, reading.failure, record)
}

/**
 * Bytes that an inner family saved, where the outer ones copied a record without them. What was saved beside a key or
 * value that is there may be older than that.
 */
function adoptPayload(failure: Failure, inner: DialectReading['failure'], record: KafkaRecord): void {
  const wrapped = inner.payload === 'base64-json' || inner.payload === 'embedded'
  if (wrapped && inner.payload !== undefined) failure.payload ??= inner.payload
  if (inner.rawKey !== undefined && record.key === null) failure.rawKey ??= inner.rawKey
  if (inner.rawValue !== undefined && (record.value === null || wrapped)) failure.rawValue ??= inner.rawValue
}

/** True when the newest failure of this family happened on a topic that is itself a dead letter or retry topic. */
function isFromDlq({reading: {failure}}: Hop): boolean {
  const topic = (failure.last ?? failure.origin)?.topic
  return topic !== undefined && isDlqName(topic)
}

function compareLastHeader(a: Hop, b: Hop): number {
  const left = a.reading.lastHeaderIndex
  const right = b.reading.lastHeaderIndex
  return left === right ? 0 : right > left ? 1 : -1
}
