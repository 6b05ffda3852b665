import {decodeFailure} from '../dialects/decode.ts'
import type {Dialect} from '../dialects/dialect.ts'
import type {Failure} from '../dialects/model.ts'
import {DIALECTS} from '../dialects/registry.ts'
import {formatAddress} from '../kafka/record.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {fingerprint} from './fingerprint.ts'
import type {DeadLetter, Handled} from './model.ts'

/** Bytes of a record by part; header bytes are those of all names and values. JSON as it is. */
export interface RecordBytes {
  readonly key: number
  readonly value: number
  readonly headers: number
}

/**
 * A dead letter over a record: failure and fingerprint are computed when first asked for, once.
 * @param handled what a ledger says about it; null = nothing, left out = no ledger was read
 */
export function createDeadLetter(
  record: KafkaRecord,
  dialects: readonly Dialect[] = DIALECTS,
  handled?: Handled | null,
): DeadLetter {
  return new LazyDeadLetter(record, dialects, handled)
}

/** Sizes of key, value and headers in bytes; null counts as 0. */
export function recordBytes(record: KafkaRecord): RecordBytes {
  let headers = 0
  for (const {name, value} of record.headers) headers += name.length + (value?.length ?? 0)
  return {key: record.key?.length ?? 0, value: record.value?.length ?? 0, headers}
}

/** Sizes of the real record, also where some of it is hidden. */
export function letterBytes({record, unredacted}: DeadLetter): RecordBytes {
  return recordBytes(unredacted?.record ?? record)
}

class LazyDeadLetter implements DeadLetter {
  readonly record: KafkaRecord
  readonly handled?: Handled | null
  readonly dialects: readonly Dialect[]
  #failure: Failure | undefined
  #fingerprint: string | null | undefined

  constructor(record: KafkaRecord, dialects: readonly Dialect[], handled: Handled | null | undefined) {
    this.record = record
    if (handled !== undefined) this.handled = handled
    this.dialects = dialects
  }

  get address(): string {
    return formatAddress(this.record)
  }

  get failure(): Failure {
    this.#failure ??= decodeFailure(this.record, this.dialects)
    return this.#failure
  }

  get fingerprint(): string | null {
    if (this.#fingerprint === undefined) this.#fingerprint = fingerprint(this.failure, this.record)
    return this.#fingerprint
  }
}
