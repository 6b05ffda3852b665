import type {DeadLetter, Handled} from '../dead-letter/model.ts'
import type {Failure} from '../dialects/model.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import type {OriginFinding} from './from-origin-compare.ts'

/** A dead letter together with what stands at its origin. */
class LetterWithOrigin implements DeadLetter {
  readonly #letter: DeadLetter
  readonly origin: OriginFinding
  readonly handled?: Handled | null

  constructor(letter: DeadLetter, origin: OriginFinding) {
    this.#letter = letter
    this.origin = origin
    if (letter.handled !== undefined) this.handled = letter.handled
  }

  get record(): KafkaRecord {
    return this.#letter.record
  }

  get address(): string {
    return this.#letter.address
  }

  get failure(): Failure {
    return this.#letter.failure
  }

  get fingerprint(): string | null {
    return this.#letter.fingerprint
  }
}

/** The same dead letter, with its origin beside it. */
export function withOrigin(letter: DeadLetter, origin: OriginFinding): DeadLetter {
  return new LetterWithOrigin(letter, origin)
}

/** What was found at the origin of a dead letter; null when nobody looked. */
export function originOf(letter: DeadLetter): OriginFinding | null {
  return letter instanceof LetterWithOrigin ? letter.origin : null
}

/**
 * The record that is sent in place of the dead letter's copy; null = the copy is. Another record than the one that failed
 * is sent only after a decision of a person, which the checks ask for.
 */
export function pristineRecord(letter: DeadLetter): KafkaRecord | null {
  const origin = originOf(letter)
  return origin !== null && 'record' in origin ? origin.record : null
}
