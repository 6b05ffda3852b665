import {isDeepStrictEqual} from 'node:util'
import {decodeFailure} from '../../src/lib/dialects/decode.ts'
import type {Dialect} from '../../src/lib/dialects/dialect.ts'
import type {Failure} from '../../src/lib/dialects/model.ts'
import {DIALECTS} from '../../src/lib/dialects/registry.ts'
import {headerStripper, originalPayload, originalTimestamp, replayBlocks} from '../../src/lib/dialects/restore.ts'
import type {KafkaRecord, TimestampType} from '../../src/lib/kafka/record.ts'

/** Bytes in a vector: `s:TEXT`, `x:HEX`, a repeated byte, or null. */
type Bytes = string | null | {readonly rep: string; readonly n: number}

/** One line of a dialect vector file. */
export interface DialectVector {
  readonly id: string
  readonly note?: string
  readonly rec?: {
    readonly topic?: string
    readonly ts?: number | string
    readonly tsType?: TimestampType
    readonly key?: Bytes
    readonly value?: Bytes
  }
  readonly headers: readonly (readonly [Bytes, Bytes])[]
  readonly expect: unknown
  readonly keep: readonly string[]
  readonly replay?: {readonly blocked: readonly string[]} | Readonly<Record<string, unknown>>
}

/** What a decoder made of a vector, in the vector's own words. */
export interface VectorOutcome {
  readonly expect: Failure
  readonly keep: readonly string[]
  readonly replay: DialectVector['replay']
}

/** One vector per non-empty line. */
export function parseVectors(text: string): DialectVector[] {
  return text
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => JSON.parse(line) as DialectVector)
}

/** The record that a vector describes. */
export function vectorRecord({rec = {}, headers}: DialectVector): KafkaRecord {
  return {
    topic: rec.topic ?? 'vector-dlq',
    partition: 0,
    offset: 0n,
    timestamp: rec.ts === undefined || BigInt(rec.ts) === -1n ? null : BigInt(rec.ts),
    timestampType: rec.tsType ?? 'CreateTime',
    key: toBytes(rec.key ?? null),
    value: toBytes(rec.value ?? null),
    headers: headers.map(([name, value]) => ({
      name: typeof name === 'string' && !/^[sx]:/.test(name) ? Buffer.from(name) : (toBytes(name) ?? Buffer.alloc(0)),
      value: toBytes(value),
    })),
  }
}

/** Runs decoder, header policy and replay plan over a vector's record. */
export function runVector(vector: DialectVector, dialects: readonly Dialect[] = DIALECTS): VectorOutcome {
  const record = vectorRecord(vector)
  const failure = decodeFailure(record, dialects)
  // The vectors know the rules by name only; what serializers added is not theirs.
  const strips = headerStripper(record, failure, {keepSideHeaders: true, dialects})
  const keep =
    failure.rawHeaders?.map(([name]) => name) ??
    record.headers.filter(({name}, index) => !strips(name, index)).map(({name}) => name.toString('utf8'))
  return {expect: failure, keep, replay: planVector(record, failure, dialects)}
}

/** Differences between what a vector wants and what came out; empty when it passes. */
export function vectorDifferences(vector: DialectVector, outcome: VectorOutcome): string[] {
  const differences: string[] = []
  compare('expect', expand(vector.expect), outcome.expect, differences)
  compare('keep', vector.keep, outcome.keep, differences)
  if (vector.replay !== undefined) compare('replay', vector.replay, outcome.replay, differences)
  return differences
}

function planVector(record: KafkaRecord, failure: Failure, dialects: readonly Dialect[]): DialectVector['replay'] {
  const blocked = replayBlocks(failure)
  if (blocked.length > 0) return {blocked}
  const {key, value} = originalPayload(record, failure)
  const partition = failure.origin?.partition
  return {
    topic: failure.origin?.topic,
    partition: partition === undefined || partition < 0 ? null : partition,
    timestamp: originalTimestamp(record, failure, dialects)?.toString() ?? null,
    key: key?.toString('hex') ?? null,
    value: value?.toString('hex') ?? null,
  }
}

function toBytes(bytes: Bytes): Buffer | null {
  if (bytes === null) return null
  if (typeof bytes === 'object') return Buffer.alloc(bytes.n, Buffer.from(bytes.rep, 'hex'))
  if (bytes.startsWith('s:')) return Buffer.from(bytes.slice(2), 'utf8')
  if (bytes.startsWith('x:')) return Buffer.from(bytes.slice(2), 'hex')
  throw new Error(`bytes begin with s: or x:, not ${JSON.stringify(bytes.slice(0, 20))}`)
}

function expand(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expand)
  if (typeof value !== 'object' || value === null) return value
  const {rep, n} = value as {rep?: unknown; n?: unknown}
  if (typeof rep === 'string' && typeof n === 'number') return Buffer.from(rep, 'hex').toString('utf8').repeat(n)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, expand(member)]))
}

function compare(path: string, wanted: unknown, got: unknown, differences: string[]): void {
  if (isDeepStrictEqual(wanted, got)) return
  if (isPlainObject(wanted) && isPlainObject(got)) {
    for (const key of new Set([...Object.keys(wanted), ...Object.keys(got)])) {
      compare(`${path}.${key}`, wanted[key], got[key], differences)
    }
    return
  }
  differences.push(`${path}: want ${brief(wanted)}, got ${brief(got)}`)
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function brief(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > 300 ? `${text.slice(0, 300)}...` : text
}
