import type {Dialect} from '../dialects/dialect.ts'
import type {Failure} from '../dialects/model.ts'
import {
  carriedHeaders,
  defaultTimestampRule,
  headerStripper,
  originalPayload,
  originalTimestamp,
} from '../dialects/restore.ts'
import {formatAddress} from '../kafka/record.ts'
import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'
import {compileHeaderPolicy, dialectsUnder, setHeaders} from './header-policy.ts'
import type {DropByName, HeaderPolicy} from './header-policy.ts'
import {nextAttempt, provenanceHeader} from './provenance.ts'
import {singleBatchBytes} from './record-size.ts'

/**
 * Which time a replayed record carries. `default`: the original one, but the time of sending for families whose second
 * life an old time would end early (Spring's retry topics).
 */
export type TimestampRule = 'original' | 'now' | 'default'

/** What a replay makes of one dead letter. */
export interface Outgoing {
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** Key and value are the dead letter's own bytes, so that the record can be spliced. */
  readonly spliceable: boolean
  readonly drops: DropByName
  readonly addHeaders: readonly RecordHeader[]
  /** Null = the time of sending. */
  readonly timestamp: bigint | null
  /** The original time was asked for, but is not known. */
  readonly timestampLost: boolean
  /** Replays of this record so far, this one included. */
  readonly attempt: number
  /** All headers as they go out. */
  headers(): readonly RecordHeader[]
  /** Bytes of a batch with only this record. */
  readonly bytes: number
}

/** Prepares dead letters by one plan's header and timestamp rules; the same code plans and sends. */
export class OutgoingFactory {
  readonly #policy: HeaderPolicy
  readonly #compiled: ReturnType<typeof compileHeaderPolicy>
  readonly #own: readonly RecordHeader[]
  readonly #dialects: readonly Dialect[]
  readonly #timestamp: TimestampRule
  readonly #run: string

  /** @param rules.run id for the provenance header; while planning any id of the right length */
  constructor(rules: {readonly headers: HeaderPolicy; readonly timestamp: TimestampRule; readonly run: string}) {
    this.#policy = rules.headers
    this.#compiled = compileHeaderPolicy(rules.headers)
    this.#own = setHeaders(rules.headers)
    this.#dialects = dialectsUnder(rules.headers)
    this.#timestamp = rules.timestamp
    this.#run = rules.run
  }

  /**
   * @param attempts replays that the record has behind it, where more is known than its headers say
   * @param pristine the record at the origin, which goes out in place of the dead letter's copy; null = the copy does
   */
  prepare(record: KafkaRecord, failure: Failure, attempts = 0, pristine: KafkaRecord | null = null): Outgoing {
    const {key, value} = pristine ?? originalPayload(record, failure)
    const drops = this.#compiled(headerStripper(pristine ?? record, failure, {dialects: this.#dialects}))
    const replays = pristine === null ? attempts : Math.max(attempts, nextAttempt(pristine.headers) - 1)
    const attempt = Math.max(nextAttempt(record.headers), replays + 1)
    const provenance = {run: this.#run, attempt, deadLetter: formatAddress(record)}
    const addHeaders = this.#policy.provenance ? [...this.#own, provenanceHeader(provenance)] : this.#own
    const rule = this.#timestamp === 'default' ? defaultTimestampRule(failure, this.#dialects) : this.#timestamp
    const original = rule === 'original' ? this.#time(record, failure, pristine) : null
    const carried = pristine?.headers ?? carriedHeaders(record, failure)
    const headers = [...carried.filter(({name}, index) => !drops(name, index)), ...addHeaders]
    return {
      key,
      value,
      spliceable: key === record.key && value === record.value && carried === record.headers,
      drops,
      addHeaders,
      timestamp: original,
      timestampLost: rule === 'original' && original === null,
      attempt,
      headers: () => headers,
      bytes: singleBatchBytes({key, value, headers}),
    }
  }

  #time(record: KafkaRecord, failure: Failure, pristine: KafkaRecord | null): bigint | null {
    return pristine?.timestamp ?? originalTimestamp(record, failure, this.#dialects)
  }
}
