import type {DeadLetter} from '../dead-letter/model.ts'
import type {Failure} from '../dialects/model.ts'
import {carriedHeaders, isHarmfulHeader} from '../dialects/restore.ts'
import type {RecordHeader} from '../kafka/record.ts'
import type {Outgoing} from './outgoing.ts'
import {isProvenanceName} from './provenance.ts'

/** What one record looks like before and after a replay; names are text as it is on the wire (hostile). */
export interface HeaderPreview {
  /** The families on the record, outermost first, joined by `+`; `none` without one. */
  readonly kind: string
  readonly address: string
  /** `topic:partition`, partition -1 when the key decides. */
  readonly target: string
  /** Names in order, as the dead letter has them. */
  readonly before: readonly string[]
  /** Names in order, as they go out. */
  readonly after: readonly string[]
  readonly removed: readonly string[]
  readonly added: readonly string[]
  /** Headers that stay though they break the second life of the record; empty unless they were asked for. */
  readonly harmful: readonly string[]
  /** Key or value are not the dead letter's own: they were cut out of a header or an envelope. */
  readonly payloadRestored: boolean
  /** Epoch ms as decimal string; null = the time of sending. */
  readonly timestamp: string | null
}

/** Kinds that one plan shows; more tell nobody anything. */
const MAX_KINDS = 20

/** The kind of a failure, as a plan tells kinds apart. */
export function previewKind({chain, dialect}: Failure): string {
  return (chain ?? [dialect]).join('+')
}

/** Before and after of one dead letter. */
export function previewHeaders(
  {address, record, failure}: Pick<DeadLetter, 'address' | 'record' | 'failure'>,
  target: {readonly topic: string; readonly partition: number},
  outgoing: Outgoing,
): HeaderPreview {
  const carried = carriedHeaders(record, failure)
  const isEnvelope = carried !== record.headers
  const kept = carried.filter(({name}, index) => !outgoing.drops(name, index))
  const gone = isEnvelope ? record.headers : record.headers.filter(({name}, index) => outgoing.drops(name, index))
  return {
    kind: previewKind(failure),
    address,
    target: `${target.topic}:${target.partition}`,
    before: namesOf(record.headers),
    after: namesOf(outgoing.headers()),
    removed: namesOf(gone.filter(({name}) => !isProvenanceName(name))),
    added: namesOf(isEnvelope ? outgoing.headers() : outgoing.addHeaders),
    harmful: namesOf(kept.filter(({name}) => isHarmfulHeader(name, failure))),
    payloadRestored: outgoing.key !== record.key || outgoing.value !== record.value,
    timestamp: outgoing.timestamp === null ? null : String(outgoing.timestamp),
  }
}

/** One preview for each kind of failure, the first record of it that is sent. */
export class HeaderPreviews {
  readonly #byKind = new Map<string, HeaderPreview>()

  /** Remember this record unless its kind has one, or there are enough kinds. */
  offer(
    letter: Pick<DeadLetter, 'address' | 'record' | 'failure'>,
    target: {readonly topic: string; readonly partition: number},
    outgoing: Outgoing,
  ): void {
    const kind = previewKind(letter.failure)
    if (this.#byKind.has(kind) || this.#byKind.size >= MAX_KINDS) return
    this.#byKind.set(kind, previewHeaders(letter, target, outgoing))
  }

  /** The record at this address is not sent after all: the next one of its kind is shown. */
  withdraw(address: string): void {
    for (const [kind, preview] of this.#byKind) if (preview.address === address) this.#byKind.delete(kind)
  }

  /** In the order in which the kinds were met. */
  toList(): HeaderPreview[] {
    return [...this.#byKind.values()]
  }
}

function namesOf(headers: readonly RecordHeader[]): string[] {
  return headers.map(({name}) => name.toString('utf8'))
}
