import type {DeadLetter} from '../dead-letter/model.ts'
import type {Failure} from '../dialects/model.ts'
import {isHarmfulHeader} from '../dialects/restore.ts'
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
  /** Key or value are not the dead letter's own: they came out of a header, an envelope or the origin. */
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
  const {headers: before} = record
  const after = outgoing.headers()
  return {
    kind: previewKind(failure),
    address,
    target: `${target.topic}:${target.partition}`,
    before: namesOf(before),
    after: namesOf(after),
    removed: namesOf(without(before, after).filter(({name}) => !isProvenanceName(name))),
    added: namesOf(without(after, before)),
    harmful: namesOf(after.filter(({name}) => isHarmfulHeader(name, failure))),
    payloadRestored: outgoing.key !== record.key || outgoing.value !== record.value,
    timestamp: outgoing.timestamp === null ? null : String(outgoing.timestamp),
  }
}

/** Headers of the first list that the second one lacks, by name and value, each as often as it occurs. */
function without(headers: readonly RecordHeader[], others: readonly RecordHeader[]): RecordHeader[] {
  const left = new Map<string, number>()
  for (const other of others) left.set(identity(other), (left.get(identity(other)) ?? 0) + 1)
  return headers.filter(header => {
    const count = left.get(identity(header)) ?? 0
    left.set(identity(header), count - 1)
    return count <= 0
  })
}

function identity({name, value}: RecordHeader): string {
  return JSON.stringify([name.toString('latin1'), value?.toString('latin1') ?? null])
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
