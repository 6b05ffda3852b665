import type {DeadLetter} from '../dead-letter/model.ts'
import type {Dialect} from '../dialects/dialect.ts'
import {compareWithOrigin} from './from-origin-compare.ts'
import type {OriginFinding} from './from-origin-compare.ts'
import {withOrigin} from './from-origin-letter.ts'
import type {OriginPlace, OriginReader} from './from-origin.ts'

/** Letters of the first window; later ones follow from how large the origins are. */
const FIRST_WINDOW = 64
const MAX_WINDOW = 2_000
/** About what the origins of one window may take, bytes. */
const WINDOW_BYTES = 16 * 1024 * 1024

/** Collects dead letters until it pays to fetch their origins together, then hands them on in order. */
export class OriginWindow<Context> {
  readonly #reader: OriginReader
  readonly #take: (letter: DeadLetter, context: Context) => Promise<void>
  #waiting: {readonly letter: DeadLetter; readonly context: Context}[] = []
  #waitingBytes = 0
  #size = FIRST_WINDOW
  readonly #dialects: readonly Dialect[] | undefined
  readonly #maxBytes: number

  /**
   * @param take gets each dead letter with its origin beside it (`originOf`), one after the other
   * @param options.dialects the families that told where the origins are; default: the built-in ones
   * @param options.maxBytes bound of what waits, and about of the origins that are fetched together
   */
  constructor(
    reader: OriginReader,
    take: (letter: DeadLetter, context: Context) => Promise<void>,
    {dialects, maxBytes = WINDOW_BYTES}: {readonly dialects?: readonly Dialect[]; readonly maxBytes?: number} = {},
  ) {
    this.#dialects = dialects
    this.#maxBytes = maxBytes
    this.#reader = reader
    this.#take = take
  }

  /** Add one more; fetches when the window is full. @throws what `OriginReader.fetch` and `take` throw */
  async add(
    letter: DeadLetter,
    context: Context,
    options: {readonly signal?: AbortSignal | undefined} = {},
  ): Promise<void> {
    this.#waiting.push({letter, context})
    this.#waitingBytes += sizeOf(letter.record)
    if (this.#waiting.length >= this.#size || this.#waitingBytes >= this.#maxBytes) await this.flush(options)
  }

  /** Fetch for all that wait, and hand them on. @throws as `add` */
  async flush(options: {readonly signal?: AbortSignal | undefined} = {}): Promise<void> {
    const letters = this.#waiting
    if (letters.length === 0) return
    this.#waiting = []
    this.#waitingBytes = 0
    const places = letters.map(({letter}) => placeOf(letter))
    const answers = await this.#reader.fetch(
      places.filter(place => place !== null),
      options,
    )
    const next = answers.values()
    let bytes = 0
    for (const [index, {letter, context}] of letters.entries()) {
      const answer = places[index] === null ? undefined : next.next().value
      const finding = answer === undefined ? NO_PLACE : compareWithOrigin(letter, answer, this.#dialects)
      if ('record' in finding) bytes += sizeOf(finding.record)
      await this.#take(withOrigin(letter, finding), context)
    }
    const fits = Math.floor((this.#maxBytes * letters.length) / Math.max(1, bytes))
    this.#size = Math.max(1, Math.min(MAX_WINDOW, this.#size * 2, fits))
  }
}

const NO_PLACE: OriginFinding = {state: 'unknown', reason: 'the headers name no whole origin'}

/** Where the record that failed first stands; null when the dead letter does not say it all. */
function placeOf({failure: {origin}}: DeadLetter): OriginPlace | null {
  const {topic, partition, offset} = origin ?? {}
  if (topic === undefined || partition === undefined || offset === undefined) return null
  return {topic, partition, offset: BigInt(offset)}
}

function sizeOf({key, value, headers}: DeadLetter['record']): number {
  let bytes = 100 + (key?.length ?? 0) + (value?.length ?? 0)
  for (const {name, value: text} of headers) bytes += name.length + (text?.length ?? 0)
  return bytes
}
