/** The JSON of Connect vectors: its types, and values to and from it. */
import {isUtf8} from 'node:buffer'
import {
  classNameOf,
  familyOfClass,
  JavaException,
  messageOf,
  suppressedOf,
} from '../../src/lib/connect-engine/errors.ts'
import type {ErrorFamily} from '../../src/lib/connect-engine/errors.ts'
import type {RecordHeader} from '../../src/lib/kafka/record.ts'

/** Integers beyond 2^53 are strings. */
export type VectorInt = number | string

export type VectorBytes = null | string | {readonly base64: string}

export interface VectorException {
  readonly class: string
  readonly message: string | null
  readonly frames?: readonly string[]
  readonly cause?: VectorException | null
  readonly suppressed?: readonly VectorException[] | null
}

export interface VectorRecord {
  readonly source?: boolean
  readonly sourcePartition?: Readonly<Record<string, unknown>>
  readonly sourceOffset?: Readonly<Record<string, unknown>>
  readonly topic: string
  readonly partition: number | null
  readonly offset?: VectorInt
  readonly timestamp: VectorInt | null
  readonly timestampType?: 'CreateTime' | 'LogAppendTime' | 'NoTimestampType'
  readonly key: VectorBytes
  readonly value: VectorBytes
  readonly headers: readonly (readonly [string, VectorBytes])[]
}

export type RecorderResult = 'done' | 'pending' | {readonly failed: VectorException} | {readonly throw: VectorException}
export type SendResult = 'ok' | 'pending' | {readonly fail: VectorException} | {readonly throw: VectorException}

export interface VectorReporter {
  readonly kind: string
  readonly results?: readonly RecorderResult[]
  readonly onClose?: {readonly throw: VectorException}
  readonly sends?: readonly SendResult[]
}

export type ScriptEntry = {readonly takesMs?: VectorInt} & (
  {readonly return: string | null} | {readonly throw: VectorException}
)

export interface VectorSinkRecord {
  readonly received?: string
  readonly made?: VectorRecord
  readonly newRecord?: Partial<VectorRecord>
}

export interface VectorStep {
  readonly do: string
  readonly record?: string
  readonly stage?: string
  readonly class?: string | null
  readonly script?: readonly ScriptEntry[]
  readonly repeatLast?: boolean
  readonly error?: VectorException | null
  readonly as?: string
  readonly name?: string
  readonly sinkRecord?: VectorSinkRecord | null
  readonly keyConverterThrows?: VectorException
  readonly valueConverterThrows?: VectorException
  readonly attempt?: number
  readonly deadline?: VectorInt
  readonly ms?: VectorInt
  readonly reporter?: number
  readonly call?: number
  readonly partitions?: readonly (readonly [string, number])[]
}

export interface VectorInput {
  readonly config?: Readonly<Record<string, string | null>>
  readonly connector?: string
  readonly task?: VectorInt
  readonly clock?: VectorInt
  readonly random?: {readonly bound: VectorInt; readonly draws: readonly VectorInt[]}
  readonly stopDuringWait?: {readonly wait: number; readonly afterMs: VectorInt}
  readonly source?: boolean
  readonly records?: Readonly<Record<string, VectorRecord | null>>
  readonly reporters?: readonly VectorReporter[]
  readonly steps?: readonly VectorStep[]
  /** Kind `config` only. */
  readonly definitions?: boolean
  readonly cross?: boolean
}

export interface ConnectVector {
  readonly id: string
  readonly kind: string
  readonly profile: string
  readonly title?: string
  readonly input: VectorInput
  readonly expected: Readonly<Record<string, unknown>>
}

export function toBigInt(value: VectorInt): bigint {
  return BigInt(value)
}

export function fromBigInt(value: bigint): VectorInt {
  const safe = value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
  return safe ? Number(value) : value.toString()
}

export function toBytes(value: VectorBytes): Buffer | null {
  if (value === null) return null
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : Buffer.from(value.base64, 'base64')
}

/** A string whenever the bytes are UTF-8; a byte order mark stays. */
export function fromBytes(value: Buffer | null): VectorBytes {
  if (value === null) return null
  return isUtf8(value) ? value.toString('utf8') : {base64: value.toString('base64')}
}

export function toHeaders(headers: VectorRecord['headers']): RecordHeader[] {
  return headers.map(([name, value]) => ({name: Buffer.from(name, 'utf8'), value: toBytes(value)}))
}

export function fromHeaders(headers: readonly RecordHeader[]): [string, VectorBytes][] {
  return headers.map(({name, value}) => [name.toString('utf8'), fromBytes(value)])
}

const RETRIABLE = new Set([
  'org.apache.kafka.connect.errors.RetriableException',
  'example.CustomRetriable',
  'example.CustomRetriable$Inner',
])

/** What the class means to the engine; other people's subclasses are known to the format only. */
function familyOf(className: string): ErrorFamily {
  return RETRIABLE.has(className) ? 'retriable' : familyOfClass(className)
}

export function toError(exception: VectorException): JavaException {
  const {class: className, message, frames, cause, suppressed} = exception
  return new JavaException({
    className,
    message,
    family: familyOf(className),
    frames: frames ?? [],
    ...(className === 'example.OddText' ? {localizedMessage: `localized(${message})`} : {}),
    ...(cause === undefined || cause === null ? {} : {cause: toError(cause)}),
    ...(suppressed === undefined || suppressed === null ? {} : {suppressed: suppressed.map(toError)}),
  })
}

export function fromError(error: unknown): unknown {
  const suppressed = suppressedOf(error)
  const cause = error instanceof Error ? error.cause : undefined
  return {
    class: classNameOf(error),
    message: messageOf(error),
    ...(cause === undefined || cause === null ? {} : {cause: fromError(cause)}),
    ...(suppressed.length === 0 ? {} : {suppressed: suppressed.map(fromError)}),
  }
}
