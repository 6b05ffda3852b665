import {decodeFailure} from '../dialects/decode.ts'
import type {Dialect} from '../dialects/dialect.ts'
import type {Failure} from '../dialects/model.ts'
import {DIALECTS} from '../dialects/registry.ts'
import {formatAddress} from '../kafka/record.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {fingerprint} from './fingerprint.ts'
import type {DeadLetter} from './model.ts'

/** Bytes of a record by part; header bytes are those of all names and values. JSON as it is. */
export interface RecordBytes {
  readonly key: number
  readonly value: number
  readonly headers: number
}

/** A dead letter over a record: failure and fingerprint are computed when first asked for, once. */
export function createDeadLetter(record: KafkaRecord, dialects: readonly Dialect[] = DIALECTS): DeadLetter {
  return new LazyDeadLetter(record, dialects)
}

/** Sizes of key, value and headers in bytes; null counts as 0. */
export function recordBytes(record: KafkaRecord): RecordBytes {
  let headers = 0
  for (const {name, value} of record.headers) headers += name.length + (value?.length ?? 0)
  return {key: record.key?.length ?? 0, value: record.value?.length ?? 0, headers}
}

class LazyDeadLetter implements DeadLetter {
  readonly record: KafkaRecord
  readonly #dialects: readonly Dialect[]
  #failure: Failure | undefined
  #fingerprint: string | null | undefined

  constructor(record: KafkaRecord, dialects: readonly Dialect[]) {
    this.record = record
    this.#dialects = dialects
  }

  get address(): string {
    return formatAddress(this.record)
  }

  get failure(): Failure {
    this.#failure ??= decodeFailure(this.record, this.#dialects)
    return this.#failure
  }

  get fingerprint(): string | null {
    if (this.#fingerprint === undefined) this.#fingerprint = fingerprint(this.failure, this.record)
    return this.#fingerprint
  }
}
