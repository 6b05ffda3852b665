import type {DeadLetter} from '../dead-letter/model.ts'
import type {Fate} from './check-tally.ts'
import {HeaderPreviews} from './header-preview.ts'
import type {Outgoing} from './outgoing.ts'
import type {ReplayPlan} from './plan.ts'

const MAX_FINGERPRINTS = 1000

/** What a plan does with one dead letter; `hold` and `park`: it was replayed too often. */
export type PlanFate = Fate | 'hold' | 'park'

interface Place {
  readonly topic: string
  readonly partition: number
}

/** Sums of a plan in the making. */
export class PlanTotals {
  selected = 0
  readonly #fates: Record<PlanFate, number> = {send: 0, skip: 0, hold: 0, park: 0, refuse: 0}
  readonly #targets = new Map<string, Place & {count: number; bytes: number}>()
  readonly #fingerprints = new Map<string | null, number>()
  readonly #previews = new HeaderPreviews()

  /** Count a selected dead letter; more kinds than the plan names are not told apart from "none". */
  select(fingerprint: string | null): void {
    this.selected++
    const known = this.#fingerprints.has(fingerprint) || this.#fingerprints.size < MAX_FINGERPRINTS
    if (known) this.#fingerprints.set(fingerprint, (this.#fingerprints.get(fingerprint) ?? 0) + 1)
  }

  /** Count its fate; what is sent also counts for the target. */
  add(fate: PlanFate, target?: Place, bytes = 0): void {
    this.#fates[fate]++
    if (fate === 'send' && target !== undefined) this.#count(target, 1, bytes)
  }

  /** A copy that was counted as sent stays behind after all. @param address of that copy */
  replace(target: Place, bytes: number, address: string): void {
    this.#previews.withdraw(address)
    this.#fates.send--
    this.#fates.skip++
    this.#count(target, -1, -bytes)
  }

  /** Remember what happens to the headers of the first record of each kind that is sent. */
  sample(letter: DeadLetter, target: Place, outgoing: Outgoing): void {
    this.#previews.offer(letter, target, outgoing)
  }

  /** True when something is sent to a topic. */
  sendsTo(topic: string): boolean {
    return [...this.#targets.values()].some(target => target.topic === topic && target.count > 0)
  }

  toPlan(): Pick<ReplayPlan, 'counts' | 'targets' | 'fingerprints' | 'samples'> {
    const {send, skip, hold, park, refuse} = this.#fates
    return {
      counts: {selected: this.selected, toReplay: send, skipped: skip, held: hold, parked: park, refused: refuse},
      targets: [...this.#targets.values()].filter(({count}) => count > 0).toSorted(comparePlaces),
      fingerprints: [...this.#fingerprints]
        .map(([fingerprint, count]) => ({fingerprint, count}))
        .toSorted((a, b) => b.count - a.count || ((a.fingerprint ?? '') < (b.fingerprint ?? '') ? -1 : 1)),
      samples: this.#previews.toList(),
    }
  }

  #count({topic, partition}: Place, records: number, bytes: number): void {
    const key = `${partition} ${topic}`
    const target = this.#targets.get(key) ?? {topic, partition, count: 0, bytes: 0}
    target.count += records
    target.bytes += bytes
    this.#targets.set(key, target)
  }
}

function comparePlaces(a: Place, b: Place): number {
  return a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1
}
